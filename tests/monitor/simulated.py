"""Jobs of several nodes, as their probes would show them from minute to minute.

The outputs of GPU tools have the formats that ``envcfg/nodes/probe/gpu.py`` names, with
keys and columns that envcfg does not read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lines import gpu_lines, node_lines
from watching import Clock, Nodes, Watched

_GIB = 1 << 30
_KIB = 4 << 20  # memory of a node of ``node_lines``


class Card(NamedTuple):
    """A GPU: its use in percent, memory in GiB, power in watts; None: not shown."""

    use: float | None = 96
    memory: float = 60
    power: float | None = 640
    total: int = 80
    clock: int = 1980
    throttle: int = 0
    errors: tuple[int, int] = (0, 0)  # of its memory: corrected, and others


class Rank(NamedTuple):
    """A rank, with the cores that it and its workers use."""

    number: int
    local: int | str
    cores: str
    mask: str = "-"
    own: float = 1.0
    workers: int = 0
    worked: float = 0.0
    step: str = "0"


class Node(NamedTuple):
    """What a node answers; *tool* replaces the lines of the GPU tool."""

    cards: Sequence[Card] = (Card(),) * 8
    ranks: Sequence[Rank] = ()
    load: float = 10
    memory: float = 0.3  # share in use
    near: str = ""
    tool: Sequence[str] | None = None
    ours: str = "-"
    processors: int = 64
    links: Mapping[str, str] = {}


def _cell(value: float | None) -> str:
    return "[N/A]" if value is None else f"{value:.0f}"


def nvidia(cards: Sequence[Card], *, is_old: bool = False) -> list[str]:
    return [
        f"{number}, {_cell(card.use)}, {card.memory * 1024:.0f}, {card.total * 1024}, "
        f"{'[N/A]' if card.power is None else f'{card.power:.2f}'}, "
        + (
            ""
            if is_old
            else f"700.00, {card.clock}, {card.errors[0]}, {card.errors[1]}, "
        )
        + ("" if is_old else f"0x{card.throttle:016x}, ")
        + "NVIDIA H100 80GB HBM3"
        for number, card in enumerate(cards)
    ]


def old_nvidia(cards: Sequence[Card]) -> list[str]:
    """Return the answer of a driver that does not know the later fields."""
    return nvidia(cards, is_old=True)


def _rocm(cards: Sequence[Card], power: str, **more: object) -> list[str]:
    rows = {}
    for number, card in enumerate(cards):
        watts = "N/A (Secondary die)" if card.power is None else f"{card.power:.1f}"
        rows[f"card{number}"] = {
            "GPU use (%)": "N/A" if card.use is None else f"{card.use:.0f}",
            **more,
            "VRAM Total Memory (B)": str(card.total * _GIB),
            "VRAM Total Used Memory (B)": str(int(card.memory * _GIB)),
            power: watts,
        }
    return [json.dumps({**rows, "system": {"Driver version": "6.3.6"}})]


def rocm5(cards: Sequence[Card]) -> list[str]:
    power = "Average Graphics Package Power (W)"
    return _rocm(cards, power, **{"GFX Activity": "1183592212"})


def rocm6(cards: Sequence[Card]) -> list[str]:
    warning = "WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status"
    lines = _rocm(cards, "Current Socket Graphics Package Power (W)")
    return [warning, "", *lines]


def rocm7(cards: Sequence[Card]) -> list[str]:
    return _rocm(
        cards,
        "Current Socket Graphics Package Power (W)",
        **{"Max Graphics Package Power (W)": "750.0"},
    )


def _quantity(value: float | None, unit: str) -> object:
    return "N/A" if value is None else {"value": round(value), "unit": unit}


def amd6(cards: Sequence[Card]) -> list[str]:
    rows = [
        {
            "gpu": number,
            "usage": {
                "gfx_activity": _quantity(card.use, "%"),
                "umc_activity": {"value": 12, "unit": "%"},
                "mm_activity": "N/A",
            },
            "power": {
                "socket_power": _quantity(card.power, "W"),
                "gfx_voltage": "N/A",
                "power_management": "ENABLED",
            },
            "mem_usage": {
                "total_vram": _quantity(card.total * 1024, "MB"),
                "used_vram": _quantity(card.memory * 1024, "MB"),
            },
        }
        for number, card in enumerate(cards)
    ]
    return json.dumps(rows, indent=4).splitlines()


def amd7(cards: Sequence[Card]) -> list[str]:
    rows = json.loads("\n".join(amd6(cards)))
    return json.dumps({"gpu_data": rows}, indent=4).splitlines()


def driver(cards: Sequence[Card]) -> list[str]:
    return [
        f"{number + 1} {'-' if card.use is None else round(card.use)} "
        f"{int(card.memory * _GIB)} {card.total * _GIB} "
        f"{'-' if card.power is None else round(card.power * 1e6)}"
        for number, card in enumerate(cards)
    ]


TOOLS: dict[str, tuple[str, Callable[[Sequence[Card]], list[str]]]] = {
    "nvidia-smi": ("nvidia-smi", nvidia),
    "an old nvidia-smi": ("nvidia-smi", old_nvidia),
    "rocm-smi of ROCm 5": ("rocm-smi", rocm5),
    "rocm-smi of ROCm 6": ("rocm-smi", rocm6),
    "rocm-smi of ROCm 7": ("rocm-smi", rocm7),
    "amd-smi of ROCm 6": ("amd-smi", amd6),
    "amd-smi of ROCm 7": ("amd-smi", amd7),
    "the driver": ("amdgpu", driver),
}
# The state of a node at a minute of the job; None: it does not answer.
State = Callable[[int, float], Node | None]


def bound(node: int, count: int = 8, width: int = 8, **more: object) -> list[Rank]:
    """Return *count* ranks of a node, each with its GPU and *width* cores."""
    return [
        Rank(
            node * count + n, n, f"{width * n}-{width * n + width - 1}", f"{n}"
        )._replace(**more)  # type: ignore[arg-type]
        for n in range(count)
    ]


def watch(
    clock: Clock,
    state: State,
    *,
    nodes: int = 2,
    tool: str = "nvidia-smi",
    minutes: int = 32,
    asked: int | None = None,
    first_step: int | None = 2,
) -> list[str]:
    """Return the lines about a job; *state* gets the number of a node, and the minute.

    *asked*: GPUs of each node that it requested. *first_step*: the minute at which the log
    shows it.
    """
    began = clock.now
    name, writer = TOOLS[tool]

    def answer(number: int, host: str) -> Sequence[str]:
        minute = (clock.now - began) / 60
        node = state(int(host[1:]), minute)
        if node is None:
            return ()
        rows = [
            f"rank {rank.number} {rank.local} S {int(rank.own * 6000 * minute)} {rank.workers} "
            f"{int(rank.worked * 6000 * minute)} {rank.cores} {rank.mask} {rank.step}"
            for rank in node.ranks
        ]
        rows += [f"near {node.near}"] if node.near else []
        rows += [f"link {name} {state}" for name, state in node.links.items()]
        sample = node_lines(
            host,
            number,
            at=clock.now,
            load=f"{node.load}",
            cores=node.processors,
            available=int(_KIB * (1 - node.memory)),
            counters=rows,
        )
        if node.tool is not None:
            gpus = [line.replace(" 0 gpus", f" {number} gpus") for line in node.tool]
            return [*(line.replace("HOST", host) for line in gpus), *sample]
        lines = writer(node.cards) if node.cards else []
        shown = name if node.cards else "none"
        gpus = gpu_lines(lines, host, number, tool=shown, ours=node.ours)
        return [*sample, *gpus]

    probed = Nodes(answer, [f"n{number}" for number in range(nodes)])
    probed.asked_gpus = asked
    watched = Watched(clock, probed)
    for minute in range(minutes):
        has_steps = first_step is not None and minute >= first_step
        watched.run(60, has_steps=has_steps)
    return watched.lines
