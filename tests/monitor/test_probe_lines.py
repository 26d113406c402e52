"""The probe's lines become samples, whatever stands between them or is torn off."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lines import gpu_lines, node_lines, read, said, used

from envcfg.nodes.probe.sample import (
    Counter,
    GpuSample,
    GpuWait,
    NodeSample,
    SampleReader,
)

COUNTERS = [
    "net hsn0 1000 2000",
    "rdma mlx5_0 10 20 4 ib0",
    "rdma cxi1 7 8 1 -",
]


def test_a_node_is_read() -> None:
    (sample,) = read(node_lines(busy=30, idle=70, counters=COUNTERS))
    assert sample == NodeSample(
        "nid001000",
        1,
        100.0,
        load=3.5,
        cores=8,
        busy=30,
        spent=100,
        memory_used=1 << 30,
        memory_total=4 << 30,
        counters=(
            Counter("hsn0", 1000, 2000),
            Counter("mlx5_0", 40, 80, "ib0", is_adapter=True),
            Counter("cxi1", 7, 8, None, is_adapter=True),
        ),
        is_whole=True,
    )


def test_nodes_and_gpus_come_mixed() -> None:
    parts = [
        node_lines("a"),
        node_lines("b"),
        gpu_lines(used(5), "a"),
        gpu_lines(used(6), "b"),
    ]
    mixed = []
    queues = [list(part) for part in parts]
    choose = random.Random(4)
    while any(queues):
        queue = choose.choice([each for each in queues if each])
        mixed.append(queue.pop(0))
    assert set(read(mixed)) == {sample for part in parts for sample in read(part)}


@pytest.mark.parametrize(
    "noise",
    [
        "srun: job 5 queued\n",
        "envcfg-probe\n",
        "envcfg-probe nid001000 1\n",
        "envcfg-probe nid001000 one node begin 1\n",
        "envcfg-probe nid001000 1 other begin 1\n",
        "envcfg-probe nid001000 2 node load 9\n",  # not the number that has begun
        "\0\ufffd\n",
        "\n",
    ],
)
def test_lines_of_others_change_nothing(noise: str) -> None:
    lines = node_lines(counters=COUNTERS)
    dirty = [text for line in lines for text in (line, noise)]
    assert read(dirty) == read(lines)


@pytest.mark.parametrize("missing", range(1, 6))
def test_a_lost_line_leaves_its_number_unknown(missing: int) -> None:
    lines = node_lines(counters=COUNTERS[:1])
    (whole,) = read(lines)
    (sample,) = read(lines[:missing] + lines[missing + 1 :])
    assert isinstance(whole, NodeSample)
    assert isinstance(sample, NodeSample)
    assert not sample.is_whole
    pairs = list(zip(sample[3:-1], whole[3:-1], strict=True))
    assert all(mine in (theirs, None, ()) for mine, theirs in pairs)
    assert any(mine != theirs for mine, theirs in pairs)


@pytest.mark.parametrize(
    ("columns", "spent"),
    [
        ("30 0 0 70", 100),  # no kernel has fewer
        ("30 0 0 50 20", 100),
        ("20 0 0 50 20 2 3 5 20 1", 100),  # guests are in the first
    ],
)
def test_what_waits_for_a_disk_is_not_busy(columns: str, spent: int) -> None:
    (sample,) = read(said("a", 1, "node", ["begin 5.0", f"cpu {columns}", "end 2"]))
    assert isinstance(sample, NodeSample)
    assert (sample.busy, sample.spent) == (30, spent)


@pytest.mark.parametrize(
    "torn",
    ["load", "load x", "cores", "cpu 1 2", "cpu 1 2 3", "cpu a b c d", "memory 5", "memory - -", "net hsn0 12", "net hsn0 1 2envcfg-probe", "rdma mlx5_0 N/A 1 4 -", "rdma mlx5_0 1 2"],
)  # fmt: skip
def test_a_torn_line_is_unknown_and_no_number(torn: str) -> None:
    lines = said("a", 1, "node", ["begin 5.0", torn, "end 2"])
    assert read(lines) == [NodeSample("a", 1, 5.0, is_whole=True)]


def test_a_sample_without_its_beginning_or_end_is_none() -> None:
    lines = node_lines()
    assert read(lines[1:]) == []
    assert read(lines[:-1]) == []
    assert len(read(lines[:-1] + node_lines())) == 1


def test_gpus_are_read_with_those_that_slurm_gave() -> None:
    (sample,) = read(gpu_lines(used(1, 2, 3, 4), ours="2,3"))
    assert isinstance(sample, GpuSample)
    assert (sample.tool, sample.allotted, sample.status) == ("nvidia-smi", 2, 0)
    assert [gpu.is_ours for gpu in sample.gpus] == [False, False, True, True]


def test_a_long_line_comes_in_parts() -> None:
    texts = ["begin rocm-smi -", 'part {"card0": {"GPU', 'text  use (%)": "7"}}']
    (sample,) = read(said("a", 1, "gpus", [*texts, "end 3 0"]))
    assert isinstance(sample, GpuSample)
    assert [gpu.use for gpu in sample.gpus] == [7.0]


def test_an_answer_that_lost_a_line_is_said_to_be_cut() -> None:
    texts = ["begin rocm-smi -", 'text  use (%)": "7"}}', "end 3 0"]
    (sample,) = read(said("a", 1, "gpus", texts))
    assert isinstance(sample, GpuSample)
    assert (sample.gpus, sample.problem) == ((), "its answer is incomplete")


def test_gpus_of_an_incomplete_answer_are_unknown() -> None:
    lines = gpu_lines(used(95, 0, 95, 95))
    for kept in (lines[:2] + lines[3:], [*lines[:3], lines[3][:24], *lines[4:]]):
        (sample,) = read(kept)
        assert isinstance(sample, GpuSample)
        assert (sample.gpus, sample.problem) == ((), "its answer is incomplete")


def test_no_tool_is_no_problem() -> None:
    (sample,) = read(gpu_lines([], tool="none"))
    assert isinstance(sample, GpuSample)
    assert (sample.gpus, sample.problem) == ((), None)


def test_a_tool_that_waits_is_said() -> None:
    assert read(said("a", 3, "gpus", ["waits"])) == [GpuWait("a", 3)]


@given(st.lists(st.text(max_size=40), max_size=20), st.integers(0, 2**32))
def test_no_text_breaks_the_reader(texts: list[str], seed: int) -> None:
    choose = random.Random(seed)
    lines = [*node_lines(counters=COUNTERS), *gpu_lines(used(1)), *texts]
    lines += [line[: choose.randrange(len(line) + 1)] for line in lines]
    choose.shuffle(lines)
    reader = SampleReader()
    for line in lines:
        reader.feed(line)
