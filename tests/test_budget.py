"""A budget ends what would take for ever, wherever it is, and leaves nothing behind."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable

import pytest

from envcfg.common.budget import Budget, SpentError

ENDLESS = re.compile(
    r"(?:a|aa)+$"
)  # with a text of 60 letters: longer than anyone lives
TEXT = "a" * 60 + "b"


def search() -> None:
    ENDLESS.search(TEXT)


def count() -> None:
    while True:
        pass


def swallow() -> None:
    """Go on after every error, as code with a broad ``except`` does."""
    for _ in range(3):
        try:
            search()
        except SpentError:
            continue
    search()


def replace() -> None:
    ENDLESS.sub("", TEXT)


def pile_up() -> None:
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def is_counting() -> bool:
    return signal.getitimer(signal.ITIMER_PROF) != (0.0, 0.0)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (search, "x.sif: reading it takes more than 0.1 s of processor time"),
        (replace, "x.sif: reading it takes more than 0.1 s of processor time"),
        (count, "x.sif: reading it takes more than 0.1 s of processor time"),
        (swallow, "x.sif: reading it takes more than 0.1 s of processor time"),
        (pile_up, "x.sif: reading it takes more than 100 MB of memory"),
    ],
)
def test_work_without_an_end_is_ended(work: Callable[[], None], said: str) -> None:
    seconds = 60 if work is pile_up else 0.1
    with (
        pytest.raises(SpentError) as caught,
        Budget("x.sif", seconds=seconds, megabytes=100),
    ):
        work()
    assert caught.value.message == said
    assert (caught.value.exit_code, bool(caught.value.hint)) == (4, True)
    assert not is_counting()


def test_what_ends_in_time_is_not_disturbed() -> None:
    with Budget("x", seconds=60, megabytes=100):
        assert ENDLESS.search("aaaa")
        with Budget("y", seconds=60, megabytes=100):
            pass
        assert is_counting()  # for the outer one
    assert not is_counting()


def test_the_signal_of_a_program_that_imports_envcfg_is_given_back() -> None:
    def own(*_: object) -> None:
        pass

    before = signal.signal(signal.SIGPROF, own)
    signal.setitimer(signal.ITIMER_PROF, 3600, 60)
    try:
        with Budget("x", seconds=60, megabytes=100):
            assert signal.getsignal(signal.SIGPROF) is not own
        assert signal.getsignal(signal.SIGPROF) is own
        assert signal.getitimer(signal.ITIMER_PROF)[1] == 60  # it counts on
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before or signal.SIG_DFL)


def test_a_budget_is_for_all_files_together() -> None:
    budget = Budget("x", seconds=0.2, megabytes=100)
    with pytest.raises(SpentError), budget:
        count()
    with pytest.raises(SpentError), budget:
        count()
    budget.more(60)
    with budget:
        budget.check()


@pytest.mark.parametrize(("outer", "inner"), [(0.1, 60), (60, 0.1)])
def test_each_of_two_budgets_holds(outer: float, inner: float) -> None:
    with (
        pytest.raises(SpentError),
        Budget("outer", seconds=outer, megabytes=100),
        Budget("inner", seconds=inner, megabytes=100),
    ):
        search()


def test_another_thread_reads_without_a_timer() -> None:
    found: list[object] = []

    def read() -> None:
        with Budget("x", seconds=60, megabytes=100):
            found.append(ENDLESS.search("aaaa"))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert [bool(each) for each in found] == [True]
