"""Times, sizes and arrays, as Slurm reads them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.common.budget import Budget
from envcfg.job.request.amounts import (
    array_tasks,
    mebibytes,
    seconds,
    size_text,
    time_text,
)

TIMES = {
    "30": 1800, "90:30": 5430, "1:30:00": 5400, "2-12": 216000, "1-2:03": 93780,
    "2-00:00:00": 172800, "00:15:00": 900,
}  # fmt: skip
SIZES = {
    "60G": 61440,
    "29440M": 29440,
    "512": 512,
    "2t": 2 << 20,
    "2048K": 2,
    "1GB": 1024,
}
ARRAYS = {"0-9": 10, "1,3,5-7": 5, "0-15:4%2": 4, "3": 1, "0-9,5-12": 13, "1-3%10": 3}


@pytest.mark.parametrize("text", TIMES)
def test_a_time_is_slurms(text: str) -> None:
    assert seconds(text) == TIMES[text]


@given(st.integers(1, 10**8))
def test_a_written_time_reads_the_same(total: int) -> None:
    assert seconds(time_text(total)) == total


@pytest.mark.parametrize("text", SIZES)
def test_a_size_is_slurms(text: str) -> None:
    assert mebibytes(text) == SIZES[text]


@given(st.integers(1, 10**7))
def test_a_written_size_reads_the_same(size: int) -> None:
    assert mebibytes(size_text(size)) == size


@pytest.mark.parametrize("text", ARRAYS)
def test_an_array_is_counted(text: str) -> None:
    assert array_tasks(text) == ARRAYS[text]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (seconds, "soon", "'soon' is not a time, as in 30 (minutes), 24:00:00 or 2-00:00:00"),
        (seconds, "0", "'0' is not a time at all"),
        (mebibytes, "much", "'much' is not a size, as in 60G or 29440M"),
        (array_tasks, "9-0", "'9-0' is not an array, as in 0-9, 1,3,7 or 0-99%10"),
    ],
)  # fmt: skip
def test_what_it_should_look_like_is_said(
    read: Callable[[str], int], text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("read", [seconds, mebibytes, array_tasks])
@pytest.mark.parametrize(
    "text",
    ["", "x", "-1", "1-", "0:00", "9-1-1", "1,,2", "0K", "1:2:3:4", "\u0663", "1%"],
)
def test_what_is_none_of_them_is_refused(read: Callable[[str], int], text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        read(text)


def test_the_largest_array_is_counted_without_much_memory() -> None:
    with Budget("an array", seconds=60, megabytes=100):
        assert array_tasks("0-9999999") == 10_000_000
