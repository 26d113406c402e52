"""Rates, GPUs that idle, nodes that are silent, and what of it stands out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lines import gpu_lines, node_lines, read, said, used

from envcfg.common.findings import Finding
from envcfg.nodes.monitor.node_board import Board, NodeView
from envcfg.nodes.monitor.outliers import ExpectedNodes, find_marks

BELOW = 5.0
LUMI = ExpectedNodes(whole_gpus=8, interfaces=("hsn0", "hsn1"), profile="lumi-g")


def board(*rounds: Sequence[str], hosts: Sequence[str] = ("nid001000",)) -> Board:
    """Return the board after *rounds* of lines, 2 s apart."""
    made = Board(hosts, idle_below=BELOW)
    for number, lines in enumerate(rounds):
        for sample in read(lines):
            made.take(sample, 10.0 + 2 * number)
    return made


def view(*rounds: Sequence[str]) -> NodeView:
    (node,) = board(*rounds).views(12.0, 10.0)
    return node


def marks(
    *rounds: Sequence[str],
    wanted: ExpectedNodes | None = None,
    hosts: Sequence[str] = ("nid001000",),
    now: float = 12.0,
) -> list[Finding]:
    nodes = board(*rounds, hosts=hosts).views(now, 10.0)
    return find_marks(nodes, wanted or ExpectedNodes(), idle_below=BELOW)


def twice(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    return lines, lines


# Rates


def test_rates_are_those_of_the_node_s_own_clock() -> None:
    links = view(
        node_lines(at=100.0, counters=["net hsn0 1000 0", "net nmn0 5 5"]),
        node_lines(number=2, at=104.0, counters=["net hsn0 9000 400", "net nmn0 5 5"]),
    ).links
    assert [(link.name, link.received_rate, link.sent_rate) for link in links] == [
        ("hsn0", 2000.0, 100.0),
        ("nmn0", 0.0, 0.0),
    ]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (node_lines(), node_lines(number=2, at=102.0, counters=["net a 5 5"])),  # new
        (
            node_lines(counters=["net a 9 9"]),
            node_lines(number=2, at=102.0, counters=["net a 5 5"]),
        ),  # reset
        (
            node_lines(counters=["net a 1 1"]),
            node_lines(number=2, counters=["net a 5 5"]),
        ),  # no time between
        (
            node_lines(at=500.0, counters=["net a 1 1"]),
            node_lines(number=2, at=3.0, counters=["net a 5 5"]),
        ),  # came up again
        ([], node_lines(counters=["net a 5 5"])),  # the first
    ],
)
def test_a_rate_that_is_not_known_is_none(
    before: Sequence[str], now: Sequence[str]
) -> None:
    (link,) = view(before, now).links
    assert (link.received_rate, link.sent_rate) == (None, None)
    assert (link.received, link.sent) == (5, 5)


def test_the_use_of_the_cores_is_between_two_samples() -> None:
    first = node_lines(busy=1000, idle=1000)
    assert view(first).processor_use is None
    second = node_lines(number=2, at=102.0, busy=1030, idle=1010)
    assert view(first, second).processor_use == 75.0
    assert view(second, first).processor_use is None


@pytest.mark.parametrize(
    ("busy", "idle", "use"),
    [(0, 10, 0.0), (1, 0, 100.0), (3, 1, 75.0), (-1, 5, None), (0, 0, None)],
)
def test_the_use_of_the_cores_may_begin_at_nothing(
    busy: int, idle: int, use: float | None
) -> None:
    first = node_lines(busy=0, idle=0)
    second = node_lines(number=2, at=102.0, busy=busy, idle=idle)
    assert view(first, second).processor_use == use


def test_a_link_says_whether_it_counts_rdma_and_whose_it_is() -> None:
    lines = node_lines(counters=["net hsn0 1 2", "rdma cxi0 3 4 1 hsn0"])
    plain, adapter = view(lines).links
    assert (plain.is_adapter, plain.interface) == (False, None)
    assert (adapter.is_adapter, adapter.interface) == (True, "hsn0")


# GPUs


def test_a_gpu_idles_when_it_did_nothing_twice() -> None:
    def idle(*uses: tuple[object, ...]) -> list[bool]:
        rounds = [[*node_lines(), *gpu_lines(used(*each))] for each in uses]
        return [each.is_idle for each in view(*rounds).gpus]

    assert idle((0, 0)) == [False, False]
    assert idle((0, 0, 90), (0, 50, 0)) == [True, False, False]
    assert idle((4.9, 5), (4.9, 5)) == [True, False]
    assert idle(("[N/A]", 0), (0, "[N/A]")) == [False, False]


def test_an_idle_gpu_is_named_in_words() -> None:
    lines = [*node_lines(), *gpu_lines(used(99, 0, 1, 97))]
    (mark,) = marks(*twice(lines))
    assert mark.rule == "gpu-idle"
    assert mark.subject == "nid001000"
    assert mark.message == "GPUs 1-2 (of 4) are idle (below 5 %)"


def test_a_lost_gpu_is_unknown_and_missing_and_not_idle() -> None:
    lost = "Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error"
    lines = [*node_lines(), *gpu_lines([*used(99, "ERR!"), lost], status=255)]
    found = {
        mark.rule: mark
        for mark in marks(*twice(lines), wanted=ExpectedNodes(asked_gpus=4))
    }
    assert set(found) == {"gpu-tool-fails", "gpu-missing", "gpu-unknown"}
    assert lost in found["gpu-tool-fails"].message
    assert found["gpu-missing"].severity == "error"
    assert "2 GPUs of 4 (the job asked for them)" in found["gpu-missing"].message
    assert "GPU 1 (of 2)" in found["gpu-unknown"].message


@pytest.mark.parametrize(
    ("wanted", "ours", "tool", "rules"),
    [
        (ExpectedNodes(asked_gpus=2), "-", "nvidia-smi", []),
        (ExpectedNodes(asked_gpus=3), "-", "nvidia-smi", ["gpu-missing"]),
        (
            ExpectedNodes(asked_gpus=2, whole_gpus=8),
            "-",
            "nvidia-smi",
            [],
        ),  # half a node
        (LUMI, "-", "nvidia-smi", ["gpu-missing"]),
        (LUMI, "0,1", "nvidia-smi", []),  # Slurm's word goes before the profile's
        (LUMI, "0,1,2", "nvidia-smi", ["gpu-missing"]),
        (LUMI, "-", "none", []),  # a job without GPUs
        (ExpectedNodes(asked_gpus=8), "-", "none", ["gpu-unseen"]),
        (LUMI, "0,1", "none", ["gpu-unseen"]),
        (ExpectedNodes(), "-", "none", []),
    ],
)
def test_gpus_are_counted_against_what_should_be_there(
    wanted: ExpectedNodes, ours: str, tool: str, rules: list[str]
) -> None:
    texts = used(50, 50) if tool != "none" else []
    lines = [*node_lines(), *gpu_lines(texts, tool=tool, ours=ours)]
    assert [mark.rule for mark in marks(*twice(lines), wanted=wanted)] == rules


def test_gpus_of_other_jobs_are_neither_shown_nor_marked() -> None:
    lines = [*node_lines(), *gpu_lines(used(0, 0, 90, 90, 0), ours="2,3")]
    node = view(*twice(lines))
    assert [each.number for each in node.gpus] == [2, 3]
    assert node.other_gpus == 3
    assert marks(*twice(lines)) == []


def test_a_tool_that_hangs_is_said_with_the_time() -> None:
    first = [*node_lines(), *gpu_lines(used(90))]
    second = [*said("nid001000", 2, "gpus", ["waits"]), *node_lines(number=2, at=102.0)]
    (mark,) = marks(first, second, now=25.0 - 8)
    assert mark.rule == "gpu-tool-waits"
    assert "did not answer for 7 s" in mark.message
    third = [*gpu_lines(used(90), number=2)]
    assert marks(first, second, third, now=17.0) == []


# Nodes


def test_a_node_that_never_answered_and_one_that_stopped_are_named() -> None:
    hosts = ("a", "b", "c")
    found = marks(node_lines("a"), node_lines("b"), hosts=hosts, now=21.0)
    assert [(mark.rule, mark.subject, mark.severity) for mark in found] == [
        ("node-silent", "a", "error"),
        ("node-silent", "c", "error"),
    ]
    assert found[0].message == "did not answer for 11 s"
    assert found[1].message == "did not answer"


def test_a_node_is_silent_when_patience_has_ended() -> None:
    made = board(node_lines())  # came at 10
    assert [made.views(now, 5.0)[0].is_silent for now in (15.0, 15.1)] == [False, True]


def test_lines_of_a_node_that_is_not_of_the_job_are_passed_over() -> None:
    assert not board(node_lines("elsewhere")).has_any()


def test_all_have_answered_when_their_gpus_have() -> None:
    first = [*node_lines("a"), *node_lines("b"), *gpu_lines(used(1), "a")]
    made = board(first, hosts=("a", "b"))
    assert not made.has_answers(1, 11.0, 10.0)
    for sample in read(gpu_lines([], "b", tool="none")):
        made.take(sample, 10.0)
    assert made.has_answers(1, 11.0, 10.0)
    assert not made.has_answers(2, 11.0, 10.0)
    for sample in read([*node_lines("a", 2), *gpu_lines(used(1), "a", 2)]):
        made.take(sample, 30.0)
    assert made.has_answers(2, 30.0, 10.0)  # b is silent: it is not waited for
    for sample in read([*said("a", 3, "gpus", ["waits"]), *node_lines("a", 3)]):
        made.take(sample, 31.0)
    assert made.has_answers(3, 31.0, 10.0)  # nor is a tool that hangs


@pytest.mark.parametrize(
    ("uses", "slow"),
    [
        ({"a": 90, "b": 92, "c": 20}, ["c"]),
        ({"a": 90, "b": 30}, ["b"]),
        ({"a": 90, "b": 60, "c": 88}, []),
        ({"a": 10, "b": 1}, []),  # nobody works
        ({"a": 90}, []),
    ],
)
def test_the_slow_node_is_named(uses: dict[str, int], slow: list[str]) -> None:
    lines = [
        line
        for host, use in uses.items()
        for line in (*node_lines(host), *gpu_lines(used(use, use), host))
    ]
    found = marks(lines, hosts=tuple(uses))
    assert [mark.subject for mark in found if mark.rule == "node-slow"] == slow


@pytest.mark.parametrize(
    ("sample", "rules"),
    [
        (node_lines(load="12.0", cores=8), []),
        (node_lines(load="12.1", cores=8), ["load-high"]),
        (node_lines(load="-", cores=8), []),
        (node_lines(available=200_000), ["memory-full"]),
        (node_lines(available=300_000), []),
    ],
)
def test_load_and_memory_are_judged(sample: Sequence[str], rules: list[str]) -> None:
    assert [mark.rule for mark in marks(sample)] == rules


# Network


def traffic(**rates: int) -> tuple[Sequence[str], Sequence[str]]:
    """Return two samples, one second apart; ``mlx5_0__ib0`` is an adapter."""

    def texts(times: int) -> list[str]:
        return [
            f"rdma {name.replace('__', f' {rate * times} 0 1 ')}"
            if "__" in name
            else f"net {name} {rate * times} 0"
            for name, rate in rates.items()
        ]

    return (
        node_lines(at=100.0, counters=texts(0)),
        node_lines(number=2, at=101.0, counters=texts(1)),
    )


MB = 1_000_000


@pytest.mark.parametrize(
    ("rates", "marked"),
    [
        ({"nmn0": 120 * MB, "hsn0": MB, "hsn1": 0}, True),
        ({"nmn0": 120 * MB, "hsn0": 200 * MB, "hsn1": 0}, False),
        ({"nmn0": 120 * MB, "hsn0": 61 * MB, "hsn1": 61 * MB}, False),
        ({"nmn0": 9 * MB, "hsn0": 0}, False),  # too little to matter
        ({"lo": 900 * MB, "hsn0": 0}, False),  # never leaves the node
        ({"nmn0": 120 * MB}, False),  # none of the profile's: another system
        ({"nmn0": 120 * MB, "hsn0": 0, "cxi0__hsn0": 900 * MB}, False),  # RDMA
        ({"nmn0": 120 * MB, "hsn0": 0, "cxi0__hsn0": MB}, True),
    ],
)
def test_traffic_on_another_interface_is_marked(
    rates: dict[str, int], marked: bool
) -> None:
    found = marks(*traffic(**rates), wanted=LUMI)
    assert [mark.rule for mark in found] == ["wrong-interface"] * marked
    if marked:
        assert found[0].message == (
            "nmn0 transfers 120 MB/s, hsn0, hsn1 1 MB/s (profile lumi-g)"
        )


def test_without_a_profile_no_interface_is_wrong() -> None:
    assert marks(*traffic(nmn0=120 * MB, hsn0=0)) == []
