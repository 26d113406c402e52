"""Answers of RAS become records: text of all kinds, JSON, what is cut, what is spoilt."""

from __future__ import annotations

import json
from contextlib import suppress

import answers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.log.collective.ras import is_ras, laggards, read_ras
from envcfg.log.collective.ras_records import RasProcess, RasReport
from envcfg.log.collective.trace_fields import TraceError

TEXTS = {
    name: getattr(answers, name)
    for name in ("OK", "BEHIND", "DEAD", "FAILED", "UNEVEN", "NONE")
}
JSONS = {
    name: getattr(answers, name) for name in dir(answers) if name.startswith("JSON_")
}
ALL = {**TEXTS, **JSONS}


def test_the_head_of_a_text() -> None:
    report = read_ras(answers.OK)
    assert report.is_complete
    assert report.groups == ((1, 8),)
    assert (report.comms, report.silent, report.missing, report.dead) == ((), (), 0, 0)


def test_nodes_with_different_numbers_of_processes() -> None:
    report = read_ras(answers.UNEVEN)
    assert len(report.groups) == 1


def test_who_is_behind() -> None:
    for text, size in ((answers.BEHIND, 7), (answers.JSON_BEHIND, 7)):
        report = read_ras(text)
        (found,) = laggards(report)
        assert (found.operation, found.share.value, found.most) == (
            "AllReduce",
            119,
            120,
        )
        (rank,) = found.share.ranks
        assert (rank.rank, rank.host) == (5, "10.0.0.2")
        assert found.comm.size == 8
        assert not found.comm.failed
        (spread,) = found.comm.spreads
        assert [each.count for each in spread.shares] == [1, size]


def test_who_is_dead_and_who_does_not_answer() -> None:
    report = read_ras(answers.DEAD)
    assert (report.missing, report.dead) == (1, 1)
    assert report.silent == (
        RasProcess("10.0.0.2", 4712, dead=False),
        RasProcess("10.0.0.2", 4711, dead=True),
    )
    (comm,) = report.comms
    assert (comm.size, comm.name) == (8, "#0-0")
    assert [each.rank for each in comm.ranks] == [5, 6]
    told = read_ras(answers.JSON_DEAD)
    assert (told.missing, told.dead) == (1, 1)
    assert [(each.pid, each.dead) for each in told.silent] == [
        (4005, True),
        (4006, False),
    ]
    (comm,) = told.comms
    assert not comm.failed
    assert [share.value for share in comm.spreads[0].shares] == ["RUNNING", "NOCOMM"]


def test_errors_and_status() -> None:
    (comm,) = read_ras(answers.FAILED).comms
    assert comm.hash == "00003c7f1a2b4c5d"
    assert comm.failed
    assert {each.rank: each.error for each in comm.ranks} == {
        0: "",
        2: "Remote process error",
        3: "Remote process error",
    }
    assert {
        each.subject: [share.value for share in each.shares] for each in comm.spreads
    } == {
        "status": ["RUNNING", "ABORT"],
        "Broadcast": [0, 1],
    }
    (told,) = read_ras(answers.JSON_FAILED).comms
    assert told.hash == comm.hash
    assert told.failed
    assert told.ranks[7].error == "Remote process error"
    aborted = told.spreads[0].shares[1]
    assert (aborted.value, [each.rank for each in aborted.ranks]) == ("ABORT", [7])
    assert told.ranks[0].counts == {"Broadcast": 0, "AllReduce": 120, "AllGather": 0}


@pytest.mark.parametrize("name", ALL)
def test_each_is_known_by_its_beginning(name: str) -> None:
    assert is_ras(ALL[name][:4096])
    assert is_ras("SERVER PROTOCOL 3\nOK\n" + ALL[name][:4000]) == (name in TEXTS)


@pytest.mark.parametrize(
    "head",
    [
        "",
        "{}",
        '{"a": 1}',
        "gpu-07:1:1 [0] NCCL INFO NCCL version 2.27.7+cuda12.9\n",
        "NCCL version 2.27.7+cuda12.9\nJob summary of mine\n",
        "training ...\n" + answers.OK,
    ],
)
def test_what_is_none(head: str) -> None:
    assert not is_ras(head)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"x": 1}', "hello", "[" * 100_000])
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(TraceError):
        read_ras(text)


def _sane(report: RasReport) -> None:
    for comm in report.comms:
        for spread in comm.spreads:
            assert len(spread.shares) > 1
    laggards(report)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_cut_says_no_more_than_the_whole(name: str) -> None:
    whole = read_ras(TEXTS[name])
    for end in range(60, len(TEXTS[name]), 7):
        part = read_ras(TEXTS[name][:end])
        _sane(part)
        assert {each.hash for each in part.comms} <= {each.hash for each in whole.comms}
        assert len(laggards(part)) <= len(laggards(whole))


@given(st.sampled_from(sorted(ALL)), st.data())
def test_what_is_spoilt_is_read_or_refused(name: str, data: st.DataObject) -> None:
    text = ALL[name]
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(
        st.sampled_from(["", "-1", "9" * 40, '"', "\n", "\x00", "null", "[", "é"])
    )
    with suppress(TraceError):
        _sane(read_ras(text[:at] + new + text[at + data.draw(st.integers(0, 9)) :]))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["ranks", "status", "rank", "size", "hash", "missing_ranks"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_JSON, _JSON)
def test_json_of_any_shape(comms: object, ras: object) -> None:
    _sane(read_ras(json.dumps({"communicators": comms, "ras": ras})))


def test_json_of_2_28_without_a_comma_where_ranks_are_missing() -> None:
    lacks = answers.JSON_DEAD
    for number in range(4):
        lacks = lacks.replace(
            f'"nvml_dev": {number},\n          "status": {{\n            "unresponsive"',
            f'"nvml_dev": {number}\n          "status": {{\n            "unresponsive"',
        )
    assert lacks != answers.JSON_DEAD
    assert read_ras(lacks) == read_ras(answers.JSON_DEAD)


def test_many_names_of_collectives_take_no_time() -> None:
    many = [answers.rank(each, **{f"Sum{each}": each}) for each in range(20_000)]
    (comm,) = read_ras(answers.answer(many, [])).comms
    assert len(comm.spreads) < 100


def test_a_status_among_counts_is_no_count() -> None:
    spoilt = answers.FAILED.replace(
        "have different status", "have different Sum operation counts"
    )
    assert [each.subject for each in read_ras(spoilt).comms[0].spreads] == ["Broadcast"]
