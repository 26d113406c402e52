"""Growth: neither the script nor the rank part's time grows with the nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.race import Command, race
from benchmarks.rows import Row, ratio_row
from benchmarks.task import (
    build_rank_argv,
    caches,
    folded,
    generate,
    task,
    unfolded,
)

SIZES = (1, 100, 10_000)
LISTS: dict[str, Callable[[int], str]] = {"folded": folded, "names": unfolded}
MOST = 1.1


def measure(folder: Path) -> list[Row]:
    """Compare jobs of 100 and 10 000 nodes with one of a single node."""
    return [*_sizes(), *_times(folder)]


def _sizes() -> list[Row]:
    rows = []
    one = generate(1, folded(1))
    for kind, nodelist in LISTS.items():
        for nodes in SIZES[1:]:
            text = generate(nodes, nodelist(nodes))
            row = Row(
                what=f"script, {nodes:,} nodes, {kind}",
                measured=len(text),
                peer=len(one),
                against="the script for 1 node",
                unit="B",
                target="same bytes",
                met=text == one,
            )
            rows.append(row)
    return rows


def _times(folder: Path) -> list[Row]:
    argv = build_rank_argv(folder)
    bare = ["/bin/sh", "-c", 'exec "$@"', "sh", "true"]
    commands: dict[str, Command] = {}
    for kind, nodelist in LISTS.items():
        for nodes in SIZES:
            listed = nodelist(nodes)
            commands[f"rank part {nodes} {kind}"] = task(argv, nodes, listed)
    commands["bare 1"] = task(bare)
    largest = SIZES[-1]
    commands["bare largest"] = task(bare, largest, unfolded(largest))
    with caches(argv):
        times = race(commands, rounds=300)
    rows = []
    for kind in LISTS:
        rows += [
            ratio_row(
                f"rank part, {nodes:,} nodes, {kind}",
                measured=times[f"rank part {nodes} {kind}"],
                peer=times[f"rank part 1 {kind}"],
                against="the rank part, 1 node",
                most=MOST if kind == "folded" else None,
            )
            for nodes in SIZES[1:]
        ]
    bare_row = ratio_row(
        f"bare shell, {largest:,} nodes, names",
        measured=times["bare largest"],
        peer=times["bare 1"],
        against="a bare shell, 1 node",
    )
    return [*rows, bare_row]
