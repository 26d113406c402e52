"""Who lags, from answers of RAS and from dumps that PyTorch wrote (tests/trace/dumps)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from views import evidence, rank

import ras_answers
from envcfg.nodes.hang.evidence_files import ask_libraries
from envcfg.nodes.hang.hang_records import (
    Evidence,
    HangNode,
    LaggingRanks,
    RasAnswer,
)
from envcfg.nodes.hang.hang_rules import behind_said
from support import ROOT

DUMPS = ROOT / "tests/trace/dumps"
BEHIND_TEXT = """\
NCCL version 2.27.7 compiled with CUDA 12.9

Job summary
===========

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         2         4         4   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (6ddb3c7f1a2b4c5d) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 7
  Rank 3 has launched up to operation 6 -- GPU 1 managed by process 103 on node 10.0.0.2

"""
HOURS = 1e9  # a time long after the dumps


def answer(
    counts: dict[int, int], *, first_pid: int = 100, end: str = "complete"
) -> RasAnswer:
    """Return what RAS says in JSON: all-reduces by rank, processes counted from *first_pid*."""
    ranks = [
        ras_answers.rank(number, pid=first_pid, AllReduce=count)
        for number, count in counts.items()
    ]
    return RasAnswer("28028", end, ras_answers.answer(ranks, []))


def ask(
    nodes: Sequence[HangNode], now: float, before: Sequence[HangNode] = ()
) -> tuple[
    tuple[LaggingRanks, ...],
    tuple[str, ...],
    tuple[int, ...],
    Mapping[str, str],
    float | None,
]:
    """Return what the libraries add to the evidence of *nodes*."""
    seen = ask_libraries(Evidence("12", tuple(nodes)), now, before)
    return seen.behind, seen.ras_read, seen.flights, seen.problems, seen.called


def nodes(*answers: RasAnswer) -> list[HangNode]:
    """Return two nodes with two ranks each, of which each gives all *answers*."""
    found = evidence(*(rank(number) for number in range(4))).nodes
    return [node._replace(ras=answers) for node in found]


def test_ras_names_the_rank_of_the_job_by_its_process_once_for_all_nodes() -> None:
    # in the communicator it is rank 0, in the job rank 2
    said = answer({0: 6, 1: 7}, first_pid=102)
    behind, read, flights, problems, _ = ask(nodes(said), HOURS)
    (each,) = behind
    assert (each.by, each.ranks, each.waiting) == ("RAS", (2,), 1)
    assert (each.operation, each.number, each.most) == ("AllReduce", 6, 7)
    assert (read, flights, problems) == (("node1", "node2"), (), {})


def test_where_a_container_counts_processes_anew_the_number_of_the_rank_counts() -> (
    None
):
    ((each,), *_) = ask(nodes(answer({0: 7, 1: 7, 2: 7, 3: 5}, first_pid=1)), 0)
    assert each.ranks == (3,)


def test_another_job_on_the_node_does_not_count() -> None:
    behind, read, _, problems, _ = ask(nodes(answer({0: 6, 1: 7}, first_pid=1)), 0)
    assert (behind, read) == ((), ())
    assert problems == {"RAS": "on node1 another job's answers"}


@pytest.mark.parametrize(
    ("counts", "since"),
    [({0: 6, 1: 7}, None), ({0: 6, 1: 9}, None), ({0: 7, 1: 8}, 3.0)],
)
def test_of_two_answers_the_second_says_whether_ranks_go_on(
    counts: dict[int, int], since: float | None
) -> None:
    said = [answer(each, first_pid=102) for each in ({0: 6, 1: 7}, counts)]
    ((each,), *_) = ask(nodes(*said), HOURS)
    assert (each.ranks, each.most, each.since) == ((2,), counts[1], since)


@pytest.mark.parametrize(
    ("counts", "same"),
    [({0: 6, 1: 7}, True), ({0: 6, 1: 9}, True), ({0: 7, 1: 9}, False)],
)
def test_who_has_begun_no_more_since_the_look_before_is_known(
    counts: dict[int, int], same: bool
) -> None:
    before, now = (nodes(answer(e, first_pid=102)) for e in ({0: 6, 1: 7}, counts))
    ((each,), *_) = ask(now, HOURS, before)
    assert each.same == same
    assert not ask(now, HOURS)[0][0].same


def test_ranks_that_are_even_again_hold_up_nobody() -> None:
    said = [answer(each, first_pid=102) for each in ({0: 6, 1: 7}, {0: 7, 1: 7})]
    behind, read, *_ = ask(nodes(*said), HOURS)
    assert (behind, read) == ((), ("node1", "node2"))


def looked_twice(*counts: dict[int, int]) -> bool:
    """Return whether nothing has moved from one look, with one answer, to the next."""
    before, now = (nodes(answer(each, first_pid=102)) for each in counts)
    ((each,), *_) = ask(now, HOURS, before)
    return each.stands


def test_a_look_before_says_whether_any_communicator_has_moved() -> None:
    behind = {0: 6, 1: 7}
    assert looked_twice(behind, behind)
    assert not looked_twice(behind, {0: 6, 1: 8})
    assert not looked_twice({0: 7, 1: 7}, behind)
    ((each,), *_) = ask(nodes(answer(behind, first_pid=102)), HOURS)
    assert not each.stands


def test_text_does_not_say_that_no_communicator_has_moved() -> None:
    said = nodes(RasAnswer("28028", "complete", BEHIND_TEXT))
    ((each,), *_) = ask(said, HOURS, said)
    assert (each.ranks, each.stands) == ((3,), False)


def test_two_programs_that_share_a_port_are_kept_apart() -> None:
    """Any of them answers: here another one each time."""
    ranks = [
        rank(n, step=s, pid=p + n) for s, p in (("0", 100), ("1", 200)) for n in (0, 1)
    ]
    (node, _) = evidence(*ranks).nodes
    first = answer({0: 6, 1: 7}, first_pid=100)
    other = answer({0: 3, 1: 2}, first_pid=200)
    other = other._replace(text=other.text.replace('"0x3c7f', '"0x9c7f'))
    behind, *_ = ask([node._replace(ras=(first, other))], HOURS)
    assert [(each.program, each.ranks, each.since) for each in behind] == [
        ("step 0", (0,), None),
        ("step 1", (1,), None),
    ]


def test_dumps_that_two_programs_write_to_one_file_are_not_read() -> None:
    (node,) = dumped("lag", "new", "new", "new", "new")
    twice = [*node.ranks, *(r._replace(step="1", pid=r.pid + 50) for r in node.ranks)]
    behind, _, flights, problems, _ = ask([node._replace(ranks=tuple(twice))], HOURS)
    assert (behind, flights) == ((), ())
    assert problems["Flight Recorder"].startswith("several programs write their dumps")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (RasAnswer("1", "refused"), None),
        (RasAnswer("1", "silent"), "port 1 of node1 is open, and no RAS answers"),
        (RasAnswer("1", "stranger"), "port 1 of node1 is open, and no RAS answers"),
        (RasAnswer("1", "cut"), "port 1 of node1 is open, and no RAS answers"),
        (
            RasAnswer("1", "complete", BEHIND_TEXT.partition("Errors\n=")[0]),
            "the answer of node1 was cut off",
        ),
        (
            RasAnswer("1", "complete", "hello"),
            "the answer of node1: no answer of NCCL's RAS",
        ),
    ],
)
def test_an_answer_that_is_none_is_said(given: RasAnswer, problem: str | None) -> None:
    behind, read, _, problems, _ = ask(nodes(given), 0)
    assert (behind, read, problems.get("RAS")) == ((), (), problem)


def dumped(case: str, *states: str) -> list[HangNode]:
    """Return a node whose ranks have written the dumps of *case*, each new, old or none."""
    ranks = tuple(
        rank(
            number,
            host="node1",
            dump=state,
            dump_path=str(DUMPS / case / f"nccl_trace_rank_{number}"),
        )
        for number, state in enumerate(states)
    )
    return [HangNode("node1", True, True, 4, ranks)]


def test_dumps_name_the_rank_that_has_not_called() -> None:
    behind, _, flights, problems, _ = ask(dumped("lag", *["new"] * 4), HOURS * 9)
    (each,) = behind
    assert (each.by, each.ranks, flights) == ("Flight Recorder", (2,), (0, 1, 2, 3))
    assert each.most == (each.number or 0) + 1
    assert each.since is not None
    assert problems == {}


def test_most_ranks_without_a_dump_are_not_behind() -> None:
    """On a slow node, three of four had not written it yet, and were named."""
    states = ("new", "none", "none", "none")
    behind, _, flights, problems, _ = ask(dumped("lag", *states), 0)
    assert (behind, flights) == ((), (0,))
    assert problems["Flight Recorder"] == "3 of 4 ranks have written no dump"


def test_a_rank_without_a_dump_is_the_one_that_the_others_wait_for() -> None:
    behind, _, flights, _, _ = ask(dumped("lag", "new", "new", "old", "new"), 0)
    assert flights == (0, 1, 3)
    assert any(each.ranks == (2,) and each.number is None for each in behind)


def test_a_rank_is_behind_if_a_collective_has_not_ended_on_it_alone(
    tmp_path: Path,
) -> None:
    (node,) = dumped("ok", *["new"] * 3)
    views = []
    for view in node.ranks:
        state = "started" if view.rank == 1 else "completed"
        call = {"process_group": ["0", "dp"], "collective_seq_id": 7, "state": state}
        path = tmp_path / f"rank_{view.rank}"
        dump = {"version": "2.10", "entries": [{**call, "profiling_name": "nccl:x"}]}
        path.write_text(json.dumps(dump))
        views.append(view._replace(dump_path=str(path)))
    (each,), *_ = ask([node._replace(ranks=tuple(views))], 0)
    assert each.ranks == (1,)
    assert (
        behind_said(each)
        == "has been in number 7 of dp, x, which has ended on 2 others"
    )


def test_ranks_that_are_out_of_step_are_told() -> None:
    behind, *_ = ask(dumped("mismatch", *["new"] * 4), HOURS)
    assert any(each.differs for each in behind)


@pytest.mark.parametrize(
    ("states", "problem"),
    [
        (
            ("old", "old"),
            "no rank has written a dump now, and those that are there are older",
        ),
        (("none", "none"), "no rank has written a dump now"),
        (("", ""), None),
    ],
)
def test_old_dumps_do_not_count(states: tuple[str, ...], problem: str | None) -> None:
    behind, _, flights, problems, _ = ask(dumped("lag", *states), 0)
    assert (behind, flights, problems.get("Flight Recorder")) == ((), (), problem)


def test_the_dumps_say_when_a_rank_last_called_anything() -> None:
    node = dumped("lag", *["new"] * 4)
    called = ask(node, HOURS * 9)[4]
    assert called is not None
    assert called == ask(node, HOURS * 9 + 5)[4] - 5  # type: ignore[operator]
    assert called < min(each.since for each in ask(node, HOURS * 9)[0] if each.since)
    assert ask(dumped("lag", ""), HOURS)[4] is None


def test_a_file_of_that_name_that_is_another_one_is_not_read() -> None:
    """A folder such as /tmp is another one on each node."""
    (node,) = dumped("lag", "new")
    size = (DUMPS / "lag/nccl_trace_rank_0").stat().st_size
    for told, read in ((size, (0,)), (size + 1, ())):
        ranks = (node.ranks[0]._replace(dump_size=told),)
        _, _, flights, problems, _ = ask([node._replace(ranks=ranks)], 0)
        assert flights == read
        assert ("is another file than on node1" in str(problems)) == (not read)


def test_a_dump_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "rank_1").write_bytes(b"\x80\x02cos\nsystem\n.")
    (node,) = dumped("lag", "new", "new")
    gone, spoilt = (
        each._replace(dump_path=str(tmp_path / name))
        for each, name in zip(node.ranks, ("rank_0", "rank_1"), strict=True)
    )
    for ranks, said in (((gone,), "No such file"), ((spoilt,), "rank_1: ")):
        _, _, flights, problems, _ = ask([node._replace(ranks=ranks)], 0)
        assert flights == ()
        assert said in problems["Flight Recorder"]
