"""What the probe says, read: whole, torn, mixed, and of processes that make fun of us."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from envcfg.nodes.hang.hang_lines import node_views
from envcfg.nodes.hang.hang_records import HangNode, HangRank, RasAnswer
from envcfg.nodes.probe.node_answer import NodeReader

SAID = """\
envcfg-node n1 begin 1795357460
envcfg-node n1 processes 2
envcfg-node n1 rank 2464 3 1 4 S 50 100 12 9 202 futex_wait_queue 0:29500 7 1250 99000 pt main thread
envcfg-probe n1 1 gpus begin nvidia-smi -
envcfg-probe n1 1 gpus text 0, 98, 1024, 2048, 300.00, A100
envcfg-node n1 +ras 28028 {"a":
envcfg-node n1 trace 2464 hrtimer_nanosleep+0x74/0xf0
envcfg-node n1 ras  1
envcfg-node n1 ras 28028 }
envcfg-probe n1 1 gpus end 2 0
envcfg-node n1 stack 2464 Process 2464: python train.py
envcfg-node n1 stack 2464 Thread 2470 (active): "pt_autograd_0"
envcfg-node n1 stack 2464     backward (torch/autograd/graph.py:1)
envcfg-node n1 stack 2464 Thread 2464 (idle): "MainThread"
envcfg-node n1 stack 2464     wait (threading.py:320)
envcfg-node n1 stack 2464     <module> (train.py:9)
envcfg-node n1 dump 2464 new 2048 /a b/rank_3
envcfg-node n1 ras-end 28028 complete
envcfg-node n1 end
""".splitlines()


def read(*lines: str, hosts: tuple[str, ...] = ("n1",)) -> tuple[HangNode, ...]:
    reader = NodeReader(hosts)
    for line in lines:
        reader.feed(f"{line}\n")
    return node_views(hosts, reader.answers)


def test_a_node_is_read() -> None:
    (node,) = read(*SAID)
    (rank,) = node.ranks
    assert rank == HangRank(
        rank=3,
        host="n1",
        pid=2464,
        local_rank=1,
        world=4,
        state="S",
        use=0.5,
        age=12,
        threads=9,
        call=202,
        channel="futex_wait_queue",
        name="pt main thread",
        step="0",
        port="29500",
        turns=7,
        worked=12.5,
        moment=990.0,
        stack=("wait (threading.py:320)", "<module> (train.py:9)"),
        kernel=("hrtimer_nanosleep+0x74/0xf0",),
        dump="new",
        dump_size=2048,
        dump_path="/a b/rank_3",
    )
    assert node.ras == (RasAnswer("28028", "complete", '{"a": 1\n}\n'),)
    assert [gpu.use for gpu in node.gpus] == [98.0]
    assert (node.answers, node.is_complete, node.processes) == (True, True, 2)


def test_lines_of_two_nodes_may_be_mixed() -> None:
    other = [line.replace(" n1 ", " n2 ", 1) for line in SAID]
    mixed = [line for pair in zip(SAID, other, strict=True) for line in pair]
    first, second = read(*mixed, hosts=("n1", "n2"))
    assert [first] == list(read(*SAID))
    assert second.ranks[0] == first.ranks[0]._replace(host="n2")


def test_what_is_not_told_stays_unknown() -> None:
    (node,) = read("envcfg-node n1 rank 7 0 - - R 0 0 5 1 running 0 -:- - - - -")
    assert node.ranks == (HangRank(0, "n1", 7, state="R", age=5, name="-"),)


def test_a_world_that_no_job_has_is_not_known() -> None:
    vast = SAID[2].replace(" 3 1 4 ", " 3 1 999999999999999999 ")
    (node,) = read(vast)
    assert node.ranks[0].world is None


def test_py_spy_may_say_why_it_cannot() -> None:
    (node,) = read(SAID[2], "envcfg-node n1 stack 2464 Error: Permission denied")
    assert node.ranks[0].stack == ()
    assert node.ranks[0].stack_problem == "Error: Permission denied"


def test_a_program_that_starts_itself_again_is_one_rank() -> None:
    younger = SAID[2].replace("2464", "2500").replace(" 12 9 ", " 3 9 ")
    (node,) = read(younger, SAID[2])
    assert [each.pid for each in node.ranks] == [2464]


def test_two_programs_of_a_node_are_no_one_rank() -> None:
    other = SAID[2].replace("2464", "2500").replace(" 0:29500 ", " 1:29500 ")
    (node,) = read(other, SAID[2])
    assert [(each.pid, each.step) for each in node.ranks] == [(2500, "1"), (2464, "0")]


def test_a_host_that_nobody_asked_is_passed_over() -> None:
    assert read(*SAID, hosts=("n9",)) == (HangNode("n9"),)


@given(st.lists(st.sampled_from(SAID), max_size=30), st.data())
def test_torn_and_foreign_lines_do_no_harm(
    lines: list[str], data: st.DataObject
) -> None:
    torn = [line[: data.draw(st.integers(0, len(line)))] for line in lines]
    hostile = data.draw(st.text(max_size=40))
    kinds = ("rank", "stack", "dump", "ras", "ras-end", "processes", "+ras", "trace")
    kind = data.draw(st.sampled_from(kinds))
    for rank in read(*torn, f"envcfg-node n1 {kind} {hostile}", *lines)[0].ranks:
        assert rank.rank >= 0
