"""Findings about ranks, their cores and loaders, and GPUs unlike the others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lines import gpu_lines, node_lines, read

from envcfg.common.characters import core_numbers
from envcfg.nodes.monitor.health_log import HealthLog
from envcfg.nodes.monitor.node_board import Board
from envcfg.nodes.monitor.step_health import SAMPLES, UseHistory

GIB = 1024  # of nvidia-smi's unit


FINE = "700.00, 1980, 0, 0, 0x0000000000000000"


def nvidia(
    uses: Sequence[object],
    memory: Sequence[int] = (),
    power: Sequence[object] = (),
    more: Sequence[str] = (),
) -> list[str]:
    memory = memory or [40 * GIB] * len(uses)
    power = power or ["400.00"] * len(uses)
    more = more or [FINE] * len(uses)
    return [
        f"{number}, {use}, {memory[number]}, {80 * GIB}, {power[number]}, {more[number]}, H100"
        for number, use in enumerate(uses)
    ]


def rank(
    number: int,
    local: object = "-",
    *,
    own: float = 0,
    workers: int = 0,
    worked: float = 0,
    cores: str = "0-15",
    mask: str = "-",
    step: str = "0",
) -> tuple[float, float, str]:
    """Return a rank; *own* and *worked* in cores."""
    row = f"rank {number} {local} S {{}} {workers} {{}} {cores} {mask} {step}"
    return own, worked, row


def told(
    uses: Sequence[object],
    *ranks: tuple[float, float, str],
    memory: Sequence[int] = (),
    power: Sequence[object] = (),
    near: str = "",
    available: Sequence[int] = (),
    more: Sequence[str] = (),
    later: Sequence[str] = (),
) -> list[str]:
    """Return the lines about one node after some minutes of the same state."""
    board, history, log = Board(["n1"], idle_below=5.0), UseHistory(), HealthLog()
    lines: list[str] = []
    for number in range(1, SAMPLES + 5):
        rows = [
            row.format(int(own * 6000 * number), int(worked * 6000 * number))
            for own, worked, row in ranks
        ]
        rows += [f"near {near}"] if near else []
        free = available[min(number, len(available)) - 1] if available else 3 << 20
        sample = node_lines(
            "n1", number, at=60.0 * number, counters=rows, available=free
        )
        state = later if later and number > 2 else more
        gpus = gpu_lines(nvidia(uses, memory, power, state), "n1", number)
        for part in read([*sample, *gpus]):
            board.take(part, 60.0 * number)
        views = board.views(60.0 * number, 130.0)
        history.add(views)
        if number > 1:
            lines += log.lines(
                history.health(views, None, is_whole=True), "network fast"
            )
    return lines


GOOD = ["all 4 GPUs busy, network fast"]
BOUND = ["all 4 GPUs busy, 4 ranks, each on its own 4 cores, network fast"]
BUSY = [97, 98, 96, 99]
FOUR = [
    rank(n, n, own=1.0, cores=f"{4 * n}-{4 * n + 3}", mask=str(n)) for n in range(4)
]


def test_a_good_node_has_no_finding() -> None:
    near = "0-7 0-7 8-15 8-15"
    bound = "4 ranks, each on its own 4 cores"
    assert told(BUSY, *FOUR, near=near) == [
        f"all 4 GPUs busy, {bound} next to its GPU, network fast"
    ]
    # On some cores of another GPU, or where these are unknown, nearness is not claimed.
    for other in ("0-7 0-7 8-10 8-15", ""):
        assert told(BUSY, *FOUR, near=other) == [
            f"all 4 GPUs busy, {bound}, network fast"
        ]
    assert told(BUSY) == GOOD


def test_cores_that_ranks_share_are_not_called_their_own() -> None:
    shared = [rank(n, n, own=1.0, cores="0-15", mask=str(n)) for n in range(4)]
    assert told(BUSY, *shared) == GOOD
    unknown = [*FOUR[:3], rank(3, 3, own=1.0, cores="?", mask="3")]
    assert told(BUSY, *unknown) == GOOD


@pytest.mark.parametrize(
    ("masks", "gpu"),
    [
        (["0", "1", "2", "3"], 2),
        (["0,1,2,3"] * 4, 2),
        (["-"] * 4, 2),
        (["3", "2", "1", "0"], 1),
    ],
)
def test_an_idle_gpu_is_told_with_its_rank(masks: Sequence[str], gpu: int) -> None:
    ranks = [rank(8 + n, n, own=0.7, mask=mask) for n, mask in enumerate(masks)]
    uses = [0 if number == gpu else 97 for number in range(4)]
    assert told(uses, *ranks) == [
        f"warning: n1: GPU {gpu} (of 4) is idle (below 5 %), rank 10  [gpu-idle]"
    ]


def test_a_mask_of_names_leaves_the_rank_unknown() -> None:
    ranks = [rank(n, n, own=0.7, mask=f"GPU-{n}ab") for n in range(4)]
    assert told([97, 0, 97, 97], *ranks) == [
        "warning: n1: GPU 1 (of 4) is idle (below 5 %)  [gpu-idle]"
    ]


@pytest.mark.parametrize("mask", ["0", "0,1"])
def test_a_mask_counted_by_its_rank_leaves_the_gpu_unknown(mask: str) -> None:
    ranks = [
        rank(n, n, own=0.1, workers=4, cores=f"{4 * n}-{4 * n + 3}", mask=mask)
        for n in range(4 // len(mask.split(",")))
    ]
    lines = told([0, 97, 97, 97], *ranks, near="0-3 4-7 8-11 12-15")
    assert lines == ["warning: n1: GPU 0 (of 4) is idle (below 5 %)  [gpu-idle]"]


def test_ranks_that_share_gpus_keep_them() -> None:
    ranks = [rank(n, n, own=0.7, mask=f"{n // 2}") for n in range(8)]
    assert told([97, 0, 97, 97], *ranks)[0].endswith(", ranks 2-3  [gpu-idle]")


def test_one_rank_has_all_gpus_that_it_sees() -> None:
    assert told([97, 0, 0, 97], rank(0, 0, own=0.7)) == [
        "warning: n1: GPUs 1-2 (of 4) are idle (below 5 %), rank 0  [gpu-idle]"
    ]


def test_a_loader_that_computes_while_its_rank_waits_is_named() -> None:
    slow = rank(3, 3, own=0.1, workers=1, worked=0.98, cores="3", mask="3")
    lines = told([97, 98, 96, 20], *FOUR[:3], slow)
    assert (
        "warning: n1: the loader holds rank 3 up: 1 worker, 1 core  [loader-slow]"
        in lines
    )
    assert (
        "warning: n1: GPU 3 is used 20 %, the others 96 %, rank 3  [gpu-unlike]"
        in lines
    )


def test_a_loader_that_sleeps_is_named() -> None:
    slow = rank(3, 3, own=0.1, workers=2, worked=0.01, cores="0-3", mask="3")
    assert told([97, 98, 96, 0], *FOUR[:3], slow) == [
        "warning: n1: GPU 3 (of 4) is idle (below 5 %), rank 3  [gpu-idle]",
        (
            "warning: n1: rank 3 waits while its GPU waits: 2 workers at 1 % of a core, "
            "4 cores  [rank-waits]"
        ),
    ]


def test_a_rank_that_loads_its_data_itself_is_named() -> None:
    slow = rank(3, 3, own=0.99, cores="12-15", mask="3")
    lines = told([97, 98, 96, 20], *FOUR[:3], slow)
    assert lines[0] == (
        "warning: n1: rank 3 computes on the processor while its GPU waits: no workers, "
        "4 cores  [rank-on-cpu]"
    )


def test_one_core_for_all_ranks_is_named() -> None:
    ranks = [rank(n, n, own=0.25, cores="0", mask=str(n)) for n in range(4)]
    assert told(BUSY, *ranks) == [
        *GOOD,
        "warning: n1: ranks 0-3 share 1 core in all  [cores-shared]",
    ]


def test_cores_far_from_the_gpu_are_named() -> None:
    assert told(BUSY, *FOUR, near="0-7 0-7 0-7 8-15") == [
        *BOUND,
        (
            "warning: n1: rank 2 computes on cores 8-11, and the cores next to its GPU are 0-7"
            "  [cores-far]"
        ),
    ]
    # Of eight GPUs of the node the tool shows four: their places are unknown.
    assert told(BUSY, *FOUR, near="0-7 " * 8) == BOUND


def test_other_memory_and_less_power_are_named() -> None:
    assert told(BUSY, memory=[40 * GIB] * 3 + [2 * GIB]) == [
        "warning: n1: GPU 3 has 2 GiB of memory in use, the others 40 GiB  [gpu-unlike]"
    ]
    assert told(BUSY, power=["640.00"] * 3 + ["180.00"]) == [
        "warning: n1: GPU 3 draws 180 W, the others 640 W  [gpu-unlike]"
    ]
    # Dies without power of their own, and small differences.
    assert told(BUSY, power=["500", "[N/A]", "480", "[N/A]"]) == GOOD
    assert told(BUSY, memory=[40 * GIB, 38 * GIB, 44 * GIB, 30 * GIB]) == GOOD


SLOW = "700.00, 900, 0, 0, 0x0000000000000044"


def test_a_clock_below_the_others_is_named_with_its_reasons() -> None:
    assert told(BUSY, *FOUR, more=[FINE, FINE, FINE, SLOW]) == [
        (
            "warning: n1: the clock of GPU 3 is 900 MHz, that of the others 1980 MHz: throttled"
            " by its power limit and heat (hardware), rank 3  [gpu-unlike]"
        )
    ]
    # All are the same, or less than a quarter slower, or unknown.
    assert told(BUSY, more=[SLOW] * 4) == GOOD
    assert told(BUSY, more=[FINE] * 3 + [FINE.replace("1980", "1590")]) == GOOD
    assert told(BUSY, more=[FINE] * 3 + ["[N/A], [N/A], [N/A], [N/A], [N/A]"]) == GOOD


def test_the_clock_of_a_gpu_that_waits_is_no_finding() -> None:
    lines = told([97, 98, 96, 40], more=[FINE, FINE, FINE, SLOW])
    assert not [line for line in lines if "clock" in line]


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ("0, 2", "warning: n1: the memory of GPU 1 has had 2 uncorrected errors"),
        ("12, 0", "note: n1: the memory of GPU 1 has had 12 corrected errors"),
        ("3, 0", None),
    ],
)
def test_errors_of_memory_count_from_the_first_look(
    counts: str, line: str | None
) -> None:
    rows = [FINE.replace(" 0, 0,", f" {count},") for count in ("5, 7", counts)]
    a, b = counts.split(", ")
    risen = FINE.replace(" 0, 0,", f" {5 + int(a)}, {7 + int(b)},")
    others = [FINE] * 2
    lines = told(
        BUSY, *FOUR, more=[FINE, rows[0], *others], later=[FINE, risen, *others]
    )
    end = " since the first look, rank 1  [gpu-memory-errors]"
    assert lines[-1] == (f"{line}{end}" if line else BOUND[0])
    # Errors of earlier jobs, and a driver that was loaded again.
    assert told(BUSY, more=[FINE, rows[0], *others]) == GOOD
    assert told(BUSY, more=[FINE, rows[0], *others], later=[FINE] * 4) == GOOD


def test_the_gpus_of_several_steps_belong_to_none() -> None:
    other = rank(0, 0, own=1.0, step="1")
    assert told([97, 98, 96, 0], *FOUR[:3], other) == [
        "unknown: several steps run on the nodes: GPUs are not checked"
    ]
    assert told(BUSY, *FOUR[:3], rank(3, 3, own=1.0, step="-")) == GOOD


@pytest.mark.parametrize("step", ["0", "1"])
def test_a_program_that_was_started_again_has_no_use_yet(step: str) -> None:
    board = Board(["n1"], idle_below=5.0)
    old, new = "rank 0 0 S 90 2 80 0-3 0 0", f"rank 0 0 S 30 2 20 0-3 0 {step}"
    for number, row in ((1, old), (2, new)):
        (sample,) = read(node_lines("n1", number, at=60.0 * number, counters=[row]))
        (gpus,) = read(gpu_lines(nvidia([97]), "n1", number))
        board.take(sample, 60.0 * number)
        board.take(gpus, 60.0 * number)
    ((view,),) = (each.ranks for each in board.views(120.0, 130.0))
    assert (view.use, view.worker_use) == (None, None)


def test_memory_that_grows_is_named_before_it_is_full() -> None:
    leak = [(3 << 20) - (n << 18) for n in range(9)]  # 0.25 of 4 GiB in a minute
    assert told(BUSY, available=leak)[-1] == (
        "warning: n1: 75 % of the node's memory is used, and at this rate all of it in 4 min"
        "  [memory-grows]"
    )
    assert told(BUSY, available=[(3 << 20) + n % 2 for n in range(9)]) == GOOD


@pytest.mark.parametrize(
    ("text", "count"),
    [("0-7,64-71", 16), ("3", 1), ("-", 0), ("", 0), ("7-0", 0), ("a", 0)],
)
def test_lists_of_cores(text: str, count: int) -> None:
    assert len(core_numbers(text)) == count
