"""Jobs that run badly are told within minutes, by node or rank; good jobs get no finding."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from lines import gpu_lines
from simulated import TOOLS, Card, Node, Rank, State, bound, nvidia, watch
from watching import Clock

from envcfg.core import step_nodes
from suites import mark_sample

BUSY = Card()
IDLE = Card(0, 1, 90)
LOST = ["Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error"]

TORN = gpu_lines(nvidia([Card()] * 8), "HOST", 0)
del TORN[3]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(step_nodes, "time", made)
    return made


def cards(*bad: int, card: Card = IDLE, count: int = 8) -> list[Card]:
    return [card if number in bad else BUSY for number in range(count)]


def on(which: int, bad: Node, *, after: float = 0) -> State:
    """Return a job with one bad node; the others run well, and so does it before."""

    def state(node: int, minute: float) -> Node:
        good = Node(ranks=bound(node))
        return bad if node == which and minute >= after else good

    return state


def one_rank(card: Card, **more: object) -> State:
    """Return a job whose rank 11 and its GPU differ."""
    ranks = bound(1)
    ranks[3] = ranks[3]._replace(**more)  # type: ignore[arg-type]
    return on(1, Node(cards(3, card=card), ranks))


def leaking(node: int, minute: float) -> Node:
    share = min(0.99, 0.3 + 0.01 * minute * node)
    return Node(ranks=bound(node), memory=share)


def masked(_: int, __: float) -> Node:
    return Node(
        cards(*range(1, 8)),
        [Rank(n, n, f"{8 * n}-{8 * n + 7}", "0") for n in range(8)],
    )


SHARED = [rank._replace(cores="0", own=0.12) for rank in bound(1)]
FAR = "0-31 " * 3 + "32-63 " * 5
FAULTS: Mapping[str, tuple[State, str]] = {
    "all GPUs idle": (
        lambda node, _: Node(cards(*range(8)), bound(node)),
        r"n0, n1: GPUs 0-7 .* idle .*, ranks 0-15",
    ),
    "half of the GPUs of all nodes idle": (
        lambda node, _: Node(cards(4, 5, 6, 7), bound(node)),
        r"n0, n1: GPUs 4-7 .* idle .*, ranks 4-7,12-15",
    ),
    "one GPU idle": (one_rank(IDLE), r"n1: GPU 3 .* is idle .*, rank 11"),
    "one node idle": (
        on(1, Node(cards(*range(8)), bound(1))),
        r"n1: GPUs 0-7 .* idle .*, ranks 8-15",
    ),
    "all ranks on GPU 0": (masked, r"n0, n1: GPUs 1-7 .* idle"),
    "a rank that ended after 20 minutes": (
        on(1, Node(cards(3), [r for r in bound(1) if r.local != 3]), after=20),
        r"n1: GPU 3 .* is idle",
    ),
    "one slow node": (
        on(1, Node([Card(30, power=300)] * 8, bound(1))),
        r"n1: its GPU use is 30 %, that of the other nodes 96 %",
    ),
    "a node with too many threads": (
        on(1, Node([Card(30, power=300)] * 8, bound(1), load=400)),
        r"n1: the load is 400 on 64 cores",
    ),
    "all ranks on one core": (
        on(1, Node(ranks=SHARED)),
        r"n1: ranks 8-15 share 1 core in all",
    ),
    "cores far from the GPU": (
        lambda node, _: Node(ranks=bound(node), near=FAR),
        r"n0, n1: rank \d+ computes on cores 24-31|rank 3 computes on cores 24-31",
    ),
    "a loader that sleeps": (
        one_rank(Card(22), own=0.1, workers=4, worked=0.05),
        r"n1: rank 11 waits while its GPU waits: 4 workers",
    ),
    "a loader with one worker": (
        one_rank(Card(22), own=0.1, workers=1, worked=0.98),
        r"n1: the loader holds rank 11 up: 1 worker, 8 cores",
    ),
    "a rank that loads its data itself": (
        one_rank(Card(22), own=0.99),
        r"n1: rank 11 computes on the processor",
    ),
    "a leak of memory": (leaking, r"n1: \d+ % of the node's memory is used, and"),
    "a full memory": (
        on(1, Node(ranks=bound(1), memory=0.97)),
        r"n1: 97 % of the node's memory is used",
    ),
    "one GPU with far less memory": (
        one_rank(Card(memory=3)),
        r"n1: GPU 3 has 3 GiB of memory in use, the others 60 GiB, rank 11",
    ),
    "one GPU with far less power": (
        one_rank(Card(power=150)),
        r"n1: GPU 3 draws 150 W, the others 640 W, rank 11",
    ),
    "a node that never reports": (
        lambda node, _: None if node else Node(ranks=bound(0)),
        r"unknown: n1: did not answer",
    ),
    "a node that falls silent": (
        lambda node, minute: None if node and minute > 20 else Node(ranks=bound(node)),
        r"unknown: n1: did not answer for \d+ s",
    ),
    "a missing GPU": (
        on(1, Node(cards(count=7), bound(1)[:7])),
        r"n1: shows 7 GPUs of 8",
    ),
    "a lost GPU": (
        on(1, Node(tool=gpu_lines([*nvidia(cards(count=7)), *LOST], "HOST", 0, status=255))),
        r"unknown: n1: nvidia-smi: Unable to determine the device handle",
    ),
    "answers that are torn": (
        on(1, Node(tool=TORN), after=10),
        r"unknown: n1: nvidia-smi: its answer is incomplete",
    ),
    "a tool that hangs": (
        on(1, Node(tool=["envcfg-probe HOST 0 gpus waits\n"]), after=10),
        r"unknown: n1: the tool of its GPUs did not answer for",
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", mark_sample(FAULTS, every=5))
def test_a_fault_is_named_by_node_or_rank(clock: Clock, name: str, tool: str) -> None:
    state, pattern = FAULTS[name]
    lines = watch(clock, state, tool=tool, asked=8)
    assert [line for line in lines if re.search(pattern, line)], lines
    assert not [line for line in lines if "busy" in line and "after" not in name][1:]


def failing(node: int, minute: float) -> Node:
    errors = (0, 2 + int(minute) * (minute > 10)) if node == 1 else (0, 2)
    return Node(cards(3, card=Card(errors=errors)), bound(node))


@pytest.mark.parametrize(
    ("state", "pattern"),
    [
        (
            one_rank(Card(clock=900, throttle=0x40)),
            "n1: the clock of GPU 3 is 900 MHz, .*heat .hardware.*, rank 11",
        ),
        (
            on(1, Node([Card(clock=900)] * 8, bound(1)), after=15),
            "n1: the clock of GPU 3 is 900 MHz, that of the others",
        ),
        (
            failing,
            r"n1: the memory of GPU 3 has had \d+ uncorrected errors .*, rank 11",
        ),
    ],
)
def test_clocks_and_errors_are_named(clock: Clock, state: State, pattern: str) -> None:
    lines = watch(clock, state, nodes=4, asked=8)
    assert [line for line in lines if re.search(pattern, line)], lines
    assert not [line for line in lines if re.search(r"n[023]: .*(GPU 3|clock)", line)]


def pipeline(node: int, _: float) -> Node:
    stages = [Card(93, 76 - 7 * n) for n in range(8)]
    return Node(stages, bound(node))


def heavy_first(node: int, _: float) -> Node:
    return Node([Card(95, 74 if n % 4 == 0 else 40) for n in range(8)], bound(node))


def phases(low: Card, length: float, every: float) -> State:
    """Return a job whose GPUs are all *low* for *length* of *every* minutes."""

    def state(node: int, minute: float) -> Node:
        is_low = minute > 10 and minute % every < length
        return Node([low if is_low else BUSY] * 8, bound(node))

    return state


def starting(length: float, **more: object) -> State:
    """Return a job that computes after *length* minutes."""

    def state(node: int, minute: float) -> Node:
        if minute >= length:
            return Node(ranks=bound(node))
        share = min(0.7, 0.1 + 0.05 * minute)
        ranks = bound(node, **more)
        return Node([Card(0, 2, 90)] * 8, ranks, memory=share, load=120)

    return state


def steady(*nodes: Node) -> State:
    return lambda node, _: nodes[node % len(nodes)]


def at(*special: float, state: Node | None, otherwise: Node) -> State:
    return lambda _, minute: state if round(minute) in special else otherwise


NO_GPU = Node(cards=())
GOOD: Mapping[str, tuple[State, Mapping[str, object]]] = {
    "two nodes of eight GPUs": (lambda node, _: Node(ranks=bound(node)), {}),
    "eight nodes of eight": (lambda node, _: Node(ranks=bound(node)), {"nodes": 8}),
    "one GPU": (steady(Node([BUSY], bound(0, 1))), {"nodes": 1, "asked": 1}),
    "one GPU on each of four nodes": (
        lambda node, _: Node([BUSY], bound(node, 1)), {"nodes": 4, "asked": 1},
    ),
    "evaluation at a third of the use": (phases(Card(32, power=300), 4, 12), {}),
    "checkpoints of three minutes": (phases(Card(0, power=120), 3, 15), {}),
    "a checkpoint of four minutes now and then": (phases(Card(0), 4, 30), {"minutes": 120}),
    "processors alone": (steady(NO_GPU), {"asked": 0}),
    "processors alone, with ranks": (
        lambda node, _: NO_GPU._replace(ranks=bound(node)), {"asked": 0},
    ),
    "stages of a pipeline": (pipeline, {}),
    "a first stage with more memory": (heavy_first, {}),
    "parts of GPUs (MIG)": (steady(Node([Card(None, 9, 300)] * 2, [Rank(0, 0, "0-7")])), {"asked": 2}),
    "power that is not shown": (steady(Node([Card(power=None)] * 8)), {}),
    "dies without power of their own": (
        steady(Node([Card(power=None if n % 2 else 500) for n in range(8)])), {},
    ),
    "a start of twenty minutes": (starting(20, own=1.0), {"first_step": 21}),
    "a start that waits for files": (starting(12, own=0.02), {"first_step": 13}),
    "a start with workers": (starting(9, own=0.1, workers=2, worked=0.9), {"first_step": 10}),
    "a server of one rank": (
        lambda _, minute: Node([Card(20 + 40 * (round(minute) % 3 == 0), 72)] * 8, [Rank(0, 0, "0-63")]),
        {"nodes": 1},
    ),
    "a server with few requests": (
        lambda _, minute: Node([Card(30 if round(minute) % 3 == 0 else 0, 72)] * 4, [Rank(0, 0, "0-63")]),
        {"nodes": 1, "asked": 4},
    ),
    "a server of processes for each GPU": (
        steady(Node([Card(30, 72)] * 4, [Rank(0, 0, "0-63", own=0.1, workers=5, worked=5)])),
        {"nodes": 1, "asked": 4},
    ),
    "two programs": (
        steady(Node([Card(97, 70)] * 4 + [Card(60, 40, 450)] * 4)), {},
    ),
    "experts with more and less work": (
        lambda node, _: Node([Card(99 - 4 * n, 60 + n, 650 - 20 * n) for n in range(8)], bound(node)), {},
    ),
    "a second kind of GPU": (
        steady(Node(), Node([Card(95, 20, 250, 24)] * 8)), {},
    ),
    "torchrun, one task on each node": (
        lambda node, _: Node(ranks=bound(node, cores="0-63", mask="-", workers=8, worked=4.0)), {},
    ),
    "two GPUs for each rank": (
        lambda node, _: Node(ranks=[
            Rank(4 * node + n, n, f"{16 * n}-{16 * n + 15}", f"{2 * n},{2 * n + 1}") for n in range(4)
        ]), {},
    ),
    "masks with names of GPUs": (
        lambda node, _: Node(ranks=[r._replace(mask=f"GPU-{r.number}ab") for r in bound(node)]), {},
    ),
    "GPUs of another job on the node": (
        steady(Node(cards(4, 5, 6, 7), bound(0, 4), ours="0,1,2,3")), {"asked": 4},
    ),
    "a high load and busy GPUs": (lambda node, _: Node(ranks=bound(node), load=300), {}),
    "much memory that does not grow": (lambda node, _: Node(ranks=bound(node), memory=0.9), {}),
    "a cache that fills": (
        lambda node, minute: Node(ranks=bound(node), memory=min(0.45, 0.1 + 0.02 * minute)), {},
    ),
    "workers that are busy": (
        lambda node, _: Node(ranks=bound(node, own=0.9, workers=7, worked=6.5)), {},
    ),
    "low use of all GPUs": (
        lambda node, _: Node([Card(24, power=250)] * 8, bound(node, own=0.7)), {},
    ),
    "errors of memory before the job": (
        lambda node, _: Node([Card(errors=(9, 4))] * 8, bound(node)), {},
    ),
    "a clock below the limit on all GPUs": (
        lambda node, _: Node([Card(clock=1200, throttle=4)] * 8, bound(node)), {},
    ),
    "a low clock of a GPU that waits": (
        lambda node, _: Node(cards(3, card=Card(70, clock=1500, throttle=1)), bound(node)), {},
    ),
    "one late answer": (at(17, state=None, otherwise=Node()), {}),
    "one late tool": (
        at(17, state=Node(tool=["envcfg-probe HOST 0 gpus waits\n"]), otherwise=Node()), {},
    ),
    "a program that uses processors and GPUs": (
        lambda node, _: Node([Card(45, power=300)] * 8, bound(node, own=8.0)), {},
    ),
    "one torn answer": (at(17, state=Node(tool=TORN), otherwise=Node()), {}),
    "no request that Slurm counts": (steady(Node()), {"asked": 0}),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_good_job_has_no_finding(clock: Clock, name: str) -> None:
    state, words = GOOD[name]
    lines = watch(clock, state, **{"asked": 8, **words})  # type: ignore[arg-type]
    assert not [line for line in lines if not re.match("all |the GPU |note: ", line)]


def test_gpus_that_never_compute_are_a_finding_after_half_an_hour(clock: Clock) -> None:
    state = starting(999)
    lines = watch(clock, state, first_step=None, minutes=29)
    assert lines == ["note: no GPU has computed so far, and the log shows no step"]
    clock.now = 1000.0
    assert "n0, n1: GPUs 0-7" in watch(clock, state, first_step=None)[1]


def unopened(node: int, _: float) -> Node:
    return Node([Card(0, 0, 90)] * 8, bound(node, own=1.0))


def test_gpus_that_no_program_opens_are_a_finding_after_ten_minutes(
    clock: Clock,
) -> None:
    lines = watch(clock, unopened, first_step=None, minutes=9)
    assert lines == ["note: no GPU has computed so far, and the log shows no step"]
    clock.now = 1000.0
    assert "n0, n1: GPUs 0-7" in watch(clock, unopened, first_step=None, minutes=20)[1]


def test_busy_gpus_are_told_beside_shared_cores(clock: Clock) -> None:
    lines = watch(clock, lambda node, _: Node(ranks=SHARED if node else bound(0)))
    assert sorted(lines) == [
        "all 16 GPUs busy, network fast",
        "warning: n1: ranks 8-15 share 1 core in all  [cores-shared]",
    ]


def small(idle: bool) -> State:
    """Return a job on nodes of two cores with four ranks each."""

    def state(node: int, _: float) -> Node:
        ranks = bound(node, 4)
        ranks = [rank._replace(cores="0-1", own=0.1) for rank in ranks]
        bad = cards(3, count=4) if idle and node else cards(count=4)
        return Node(bad, ranks, load=7, processors=2)

    return state


def test_small_nodes_have_no_finding_on_their_cores(clock: Clock) -> None:
    assert watch(clock, small(idle=False)) == ["all 8 GPUs busy, network fast"]
    clock.now = 1000.0
    lines = watch(clock, small(idle=True))
    assert [line for line in lines if "gpu-idle" not in line] == []
    assert lines


def linked(which: int, *, after: float) -> State:
    def state(node: int, minute: float) -> Node:
        is_cut = node == which and minute >= after
        links = {"eth0": "up", "hsn0": "down" if is_cut else "up", "docker0": "down"}
        return Node(ranks=bound(node), links=links)

    return state


@pytest.mark.parametrize("nodes", [2, 4])
def test_a_node_without_its_links_is_named_at_the_next_look(
    clock: Clock, nodes: int
) -> None:
    lines = watch(clock, linked(1, after=10), nodes=nodes, minutes=9)
    ranks = f"{8 * nodes} ranks, each on its own 8 cores"
    assert lines == [f"all {8 * nodes} GPUs busy, {ranks}, network fast"]
    clock.now = 1000.0
    lines = watch(clock, linked(1, after=10), nodes=nodes, minutes=12)
    assert lines[1:] == [
        "error: n1: its interface hsn0 is down, and up on most other nodes  [link-down]"
    ]


def test_nodes_that_wait_for_a_lost_one_have_no_finding_on_their_load(
    clock: Clock,
) -> None:
    def state(node: int, minute: float) -> Node:
        links = {"hsn0": "down" if node and minute >= 10 else "up"}
        is_cut = minute >= 10
        bad = [IDLE] * 8 if is_cut else cards()
        return Node(bad, bound(node), links=links, load=999 if is_cut else 1)

    lines = watch(clock, state, minutes=20)
    assert [line for line in lines if "link-down" in line]
    assert [line for line in lines if "gpu-idle" in line]
    assert not [line for line in lines if "load-high" in line]


def test_links_of_one_node_cannot_be_compared(clock: Clock) -> None:
    lines = watch(clock, linked(0, after=0), nodes=1)
    assert lines == ["all 8 GPUs busy, 8 ranks, each on its own 8 cores, network fast"]
