"""What stands out, in all its words, and where exactly it begins to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from envcfg.common.findings import Finding
from envcfg.nodes.monitor.node_board import NodeView
from envcfg.nodes.monitor.outliers import ExpectedNodes, find_marks
from envcfg.nodes.probe.gpu import Gpu
from envcfg.nodes.probe.sample import Counter, NodeSample

ASKED = ExpectedNodes(asked_gpus=4)
LUMI = ExpectedNodes(whole_gpus=8, interfaces=("hsn0", "hsn1"), profile="lumi-g")
MB = 1e6


def gpus(*uses: float | None, idle: Sequence[int] = ()) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(number, use=use, is_idle=number in idle) for number, use in enumerate(uses)
    )


def node(host: str = "n1", **known: object) -> NodeView:
    """Return a node that has answered."""
    sample = NodeSample(host, 1, 100.0)
    return NodeView(host, sample, 0.0, is_silent=False)._replace(**known)  # type: ignore[arg-type]


def host(**known: object) -> NodeView:
    return node(sample=NodeSample("n1", 1, 100.0)._replace(**known))  # type: ignore[arg-type]


def carrying(**rates: float | None) -> NodeView:
    """Return a node whose interfaces carry so much, in both directions alike."""
    halves = {name: rate and rate / 2 for name, rate in rates.items()}
    links = [
        Counter(name, 0, 0, received_rate=half, sent_rate=half)
        for name, half in halves.items()
    ]
    return node(links=tuple(links))


def told(nodes: Sequence[NodeView], wanted: ExpectedNodes) -> list[Finding]:
    return find_marks(nodes, wanted, idle_below=5.0)


MARKS: list[tuple[NodeView, ExpectedNodes, Finding]] = [
    (
        NodeView("n1"),
        ExpectedNodes(),
        Finding(
            "node-silent",
            "error",
            "n1",
            "did not answer",
            "scontrol show node n1; the last numbers are old",
        ),
    ),
    (
        node(tool_waits=21.4),
        ExpectedNodes(),
        Finding(
            "gpu-tool-waits",
            "warning",
            "n1",
            "the tool of its GPUs did not answer for 21 s",
            "a GPU or its driver may hang: report it to the site's support",
        ),
    ),
    (
        node(tool="rocm-smi", problem="Driver not initialized"),
        ExpectedNodes(),
        Finding(
            "gpu-tool-fails",
            "warning",
            "n1",
            "rocm-smi: Driver not initialized",
            "a GPU may be lost: report it to the site's support",
        ),
    ),
    (
        node(tool="rocm-smi", problem="one is lost", gpus=gpus(1, 2, 3, 4)),
        ASKED,
        Finding(
            "gpu-tool-fails",
            "error",
            "n1",
            "rocm-smi: one is lost",
            "a GPU may be lost: report it to the site's support",
        ),
    ),
    (
        node(tool="none"),
        ExpectedNodes(asked_gpus=1),
        Finding(
            "gpu-unseen",
            "warning",
            "n1",
            "1 GPU should be here (the job asked for them), but nvidia-smi, "
            "rocm-smi, amd-smi and xpu-smi are missing",
            "put the tool on PATH before you run envcfg monitor: the nodes get this PATH",
        ),
    ),
    (
        node(tool="amd-smi", gpus=gpus(50), allotted=2),
        LUMI,
        Finding(
            "gpu-missing",
            "error",
            "n1",
            "shows 1 GPU of 2 (Slurm gave them to the job)",
            "exclude the node from the next job: sbatch --exclude=n1",
        ),
    ),
    (
        node(tool="amd-smi", gpus=gpus(*[50] * 7)),
        LUMI,
        Finding(
            "gpu-missing",
            "error",
            "n1",
            "shows 7 GPUs of 8 (profile lumi-g)",
            "exclude the node from the next job: sbatch --exclude=n1",
        ),
    ),
    (
        node(tool="amd-smi", gpus=gpus(50, None, None, 50)),
        ASKED,
        Finding(
            "gpu-unknown",
            "warning",
            "n1",
            "the use of GPUs 1-2 (of 4) is unknown",
            None,
        ),
    ),
    (
        node(tool="amd-smi", gpus=gpus(50, 50, 50, 1, idle=[3])),
        ASKED,
        Finding(
            "gpu-idle",
            "warning",
            "n1",
            "GPU 3 (of 4) is idle (below 5 %)",
            "a rank waits, has ended, or is bound to another GPU",
        ),
    ),
    (
        host(load=100.4, cores=64),
        ExpectedNodes(),
        Finding(
            "load-high",
            "warning",
            "n1",
            "the load is 100 on 64 cores",
            "too many threads: OMP_NUM_THREADS, workers of data loaders",
        ),
    ),
    (
        host(memory_used=97, memory_total=100),
        ExpectedNodes(),
        Finding(
            "memory-full",
            "warning",
            "n1",
            "97 % of the node's memory is used",
            "processes may be killed; files in /tmp may count as well",
        ),
    ),
    (
        carrying(nmn0=11 * MB, eth9=69.5 * MB, eth0=2 * MB, hsn0=3.5 * MB, hsn1=4 * MB),
        LUMI,
        Finding(
            "wrong-interface",
            "warning",
            "n1",
            "eth9 transfers 70 MB/s, hsn0, hsn1 8 MB/s (profile lumi-g)",
            "envcfg check-log shows the network of the ranks; reading files over this interface also counts",
        ),
    ),
]


@pytest.mark.parametrize(
    ("seen", "wanted", "mark"), MARKS, ids=[mark.rule for _, _, mark in MARKS]
)
def test_what_stands_out_is_said_in_these_words(
    seen: NodeView, wanted: ExpectedNodes, mark: Finding
) -> None:
    assert told([seen], wanted) == [mark]


def test_a_node_that_is_slow_is_told_what_the_others_do() -> None:
    nodes = [node("n1", gpus=gpus(80)), node("n2", gpus=gpus(30, 10))]
    (mark,) = told(nodes, ExpectedNodes())
    assert mark == Finding(
        "node-slow",
        "warning",
        "n2",
        "its GPU use is 20 %, that of the other nodes 80 %",
        "compare load, memory and network with those of the other nodes",
    )


def test_errors_go_first_then_the_nodes_in_their_order() -> None:
    crowded = NodeSample("n", 1, 1.0, load=99.0, cores=2)
    nodes = [
        node("n9", sample=crowded),
        node("n8", sample=crowded, tool="amd-smi", allotted=1),
        NodeView("n7"),
        node("n1", sample=crowded),
    ]
    assert [(mark.subject, mark.severity) for mark in told(nodes, ExpectedNodes())] == [
        ("n8", "error"),
        ("n7", "error"),
        ("n9", "warning"),
        ("n8", "warning"),
        ("n1", "warning"),
    ]


@pytest.mark.parametrize(
    "seen",
    [
        host(load=12.0, cores=8),
        host(load=99.0, cores=None),
        host(load=None, cores=8),
        host(memory_used=95, memory_total=100),
        host(memory_used=97, memory_total=None),
        host(memory_used=None, memory_total=100),
        carrying(nmn0=10 * MB, hsn0=0.0),
        carrying(nmn0=50 * MB, hsn0=50 * MB),
        carrying(nmn0=50 * MB),
        carrying(nmn0=None, hsn0=None),  # before the second sample
        node(tool="none", problem="nothing to ask"),
        node(tool="none"),  # of a system with GPUs: the job may need none
        node(tool=None),
    ],
)
def test_what_is_usual_or_unknown_does_not_stand_out(seen: NodeView) -> None:
    assert told([seen], LUMI) == []


def test_before_the_tool_has_answered_no_gpu_is_missing() -> None:
    assert told([node(tool=None)], ASKED) == []


@pytest.mark.parametrize(
    ("uses", "slow"),
    [
        ([80, 40], []),  # half is not below half
        ([80, 39.9], ["n1"]),
        ([20, 1], ["n1"]),
        ([19.9, 1], []),  # nobody works
        ([90, 60, 31], []),  # the usual is the one in the middle
        ([90, 60, 29], ["n2"]),
        ([None, 90, 1], ["n2"]),
    ],
)
def test_slow_is_below_half_of_what_is_usual(
    uses: list[float | None], slow: list[str]
) -> None:
    nodes = [node(f"n{at}", gpus=gpus(use)) for at, use in enumerate(uses)]
    found = told(nodes, ExpectedNodes())
    assert [mark.subject for mark in found if mark.rule == "node-slow"] == slow


def test_a_node_that_is_silent_is_nobody_to_compare_with() -> None:
    silent = node("n2", gpus=gpus(90), is_silent=True, age=30.0)
    found = told([node("n1", gpus=gpus(1)), silent], ExpectedNodes())
    assert [(mark.rule, mark.message) for mark in found] == [
        ("node-silent", "did not answer for 30 s")
    ]


def named(count: int, name: str = "H100") -> tuple[Gpu, ...]:
    return tuple(Gpu(number, use=95, name=name) for number in range(count))


@pytest.mark.parametrize(
    ("shown", "wanted", "rules"),
    [
        (named(7), ExpectedNodes(usual_gpus=8), ["gpu-unseen"]),
        (named(8), ExpectedNodes(usual_gpus=8), []),
        (named(7), ExpectedNodes(asked_gpus=7), []),
        (named(4, "A100"), ExpectedNodes(usual_gpus=8), []),
    ],
)
def test_a_node_with_fewer_gpus_than_its_like_is_unknown(
    shown: tuple[Gpu, ...], wanted: ExpectedNodes, rules: list[str]
) -> None:
    nodes = [
        node(tool="nvidia-smi", gpus=named(8)),
        node("n2", tool="nvidia-smi", gpus=shown),
    ]
    findings = [mark for mark in told(nodes, wanted) if mark.subject == "n2"]
    assert [mark.rule for mark in findings] == rules
    if rules:
        assert (
            findings[0].message == "shows 7 GPUs, and other nodes show 8 of this kind"
        )
