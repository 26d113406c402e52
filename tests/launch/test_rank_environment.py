"""What a rank had, held against the plan: who has set what."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.common.errors import OutputError
from envcfg.job.plan.rank_environment import RankEnvironment, Row, parse_report, rows_of

KNOWN = {"NCCL_NET", "NCCL_PROTO", "FI_PROVIDER", "LOCAL_RANK", "SLURM_PROCID"}
SLURM = ("SLURM_",)

Pairs = dict[str, str]


def written(
    plan: list[tuple[str, str, str]],
    job: Pairs,
    start: Pairs,
    rank: Pairs,
    nodes: str = "2",
) -> bytes:
    words = [
        "envcfg:environment",
        "profile=p",
        "rank=3",
        f"nodes={nodes}",
        "envcfg:plan",
    ]
    words += [word for row in plan for word in row]
    for name, pairs in (
        ("job", job),
        ("start", start),
        ("rank", {"RANK": "3", **rank}),
    ):
        words += [f"envcfg:{name}", *(f"{key}={value}" for key, value in pairs.items())]
    words.append("envcfg:end")
    return "".join(f"{word}\0" for word in words).encode("utf-8", "surrogateescape")


def rows(*given: object, **more: str) -> list[Row]:
    return rows_of(parse_report(written(*given, **more), "f"), KNOWN, SLURM)  # type: ignore[arg-type]


NET = [("NCCL_NET", "=OFI", "")]


@pytest.mark.parametrize(
    ("plan", "job", "start", "rank", "expected"),
    [
        (NET, {}, {}, {"NCCL_NET": "OFI"}, Row("NCCL_NET", "as planned", "OFI", "OFI", "envcfg")),
        (NET, {"NCCL_NET": "IB"}, {"NCCL_NET": "IB"}, {"NCCL_NET": "IB"}, Row("NCCL_NET", "changed", "OFI", "IB", "job")),
        (NET, {}, {"NCCL_NET": "IB"}, {"NCCL_NET": "IB"}, Row("NCCL_NET", "changed", "OFI", "IB", "image or runtime")),
        (NET, {}, {}, {"NCCL_NET": "IB"}, Row("NCCL_NET", "changed", "OFI", "IB", "envcfg or setup")),
        (NET, {}, {}, {}, Row("NCCL_NET", "missing", "OFI", None)),
        ([("NCCL_NET", "-", "")], {}, {}, {}, Row("NCCL_NET", "as planned", None, None)),
        ([("NCCL_NET", "-", "")], {"NCCL_NET": "IB"}, {}, {"NCCL_NET": "IB"}, Row("NCCL_NET", "changed", None, "IB", "job")),
        ([("NCCL_NET", "=${ROOT}/a$$", "")], {"ROOT": "/r"}, {}, {"NCCL_NET": "/r/a$"}, Row("NCCL_NET", "as planned", "/r/a$", "/r/a$", "envcfg")),
        ([("NCCL_NET", "=${ROOT:-/d}", "")], {}, {}, {"NCCL_NET": "/d"}, Row("NCCL_NET", "as planned", "/d", "/d", "envcfg")),
        ([("NCCL_NET", "=a", "nodes==1"), ("NCCL_NET", "=b", "nodes>1")], {}, {}, {"NCCL_NET": "b"}, Row("NCCL_NET", "as planned", "b", "b", "envcfg")),
        # What cannot be judged is not hidden: a fact that the report lacks, or none at all.
        ([("NCCL_NET", "=a", "nodes>1,rocm>=6")], {}, {}, {"NCCL_NET": "a"}, Row("NCCL_NET", "as planned", "a", "a", "envcfg")),
        ([("NCCL_NET", "=a", "color==red")], {}, {}, {"NCCL_NET": "a"}, Row("NCCL_NET", "as planned", "a", "a", "envcfg")),
        ([], {}, {"NCCL_PROTO": "LL"}, {"NCCL_PROTO": "LL"}, Row("NCCL_PROTO", "unplanned", None, "LL", "image or runtime")),
        ([], {"FI_PROVIDER": "cxi"}, {"FI_PROVIDER": "cxi"}, {"FI_PROVIDER": "cxi"}, Row("FI_PROVIDER", "unplanned", None, "cxi", "job")),
        ([], {}, {"SLURM_PROCID": "3"}, {"SLURM_PROCID": "3"}, Row("SLURM_PROCID", "unplanned", None, "3", "starter")),
        ([], {}, {}, {"LOCAL_RANK": "3"}, Row("LOCAL_RANK", "unplanned", None, "3", "envcfg or setup")),
    ],
)  # fmt: skip
def test_a_variable_says_who_has_set_it(
    plan: object, job: Pairs, start: Pairs, rank: Pairs, expected: Row
) -> None:
    assert rows(plan, job, start, rank) == [expected]


def test_what_holds_on_no_node_count_of_this_job_is_no_plan() -> None:
    assert rows([("NCCL_NET", "=a", "nodes>1")], {}, {}, {}, nodes="1") == []


def test_what_nobody_knows_is_not_shown() -> None:
    assert rows([], {}, {}, {"MINE": "1"}) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a report"),
        (b"#!/bin/bash\nexit 0\n", "not a report"),
        (b"envcfg:environment\0profile=p\0envcfg:plan\0", "no part 'job'"),
        (b"envcfg:environment\0envcfg:plan\0envcfg:job\0A=1\0", "no part 'start'"),
        (
            b"envcfg:environment\0envcfg:plan\0envcfg:job\0envcfg:start\0envcfg:rank\0RANK=1\0",
            "no part 'end'",
        ),
        (
            b"envcfg:environment\0envcfg:plan\0envcfg:job\0envcfg:start\0envcfg:rank\0envcfg:end\0",
            "no part 'rank'",
        ),
    ],
)
def test_what_is_no_whole_report_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(OutputError, match=words):
        parse_report(data, "f")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_report_or_refused(data: bytes) -> None:
    with contextlib.suppress(OutputError):
        parse_report(b"envcfg:environment\0" + data, "f")


NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,6}", fullmatch=True)
VALUES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9
)
PAIRS = st.dictionaries(NAMES, VALUES, max_size=5)


@given(PAIRS, PAIRS, PAIRS)
def test_what_is_written_is_read(job: Pairs, start: Pairs, rank: Pairs) -> None:
    report = parse_report(written([], job, start, rank), "f")
    assert report == RankEnvironment(
        {"profile": "p", "rank": "3", "nodes": "2"},
        (),
        job,
        start,
        {"RANK": "3", **rank},
    )


def test_a_number_that_is_none_is_no_number() -> None:
    from envcfg.report.environment_report import environment_json

    for text in ("9" * 5000, "\u00b2", "-1"):
        assert '"nodes": null' in environment_json("f", {"nodes": text}, [])
        found = rows([("A", "=1", "nodes>1")], {}, {}, {"A": "1"}, nodes=text)
        assert [row.state for row in found] == ["as planned"] * (text != "-1")
