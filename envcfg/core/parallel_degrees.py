"""Compare the sizes of a program's parallel groups with the GPUs of its job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from envcfg.backends.launchers import LAUNCHERS
from envcfg.common.datafile import load_kept_file
from envcfg.common.errors import UsageError
from envcfg.core.program_reading import read_file
from envcfg.job.plan.plan import Options

_KEY = r"^([ \t]*)[\"']?([\w.-]+)[\"']?[ \t]*[:=][ \t]*[\"']?(\d*)"
# The group of a size (sizes of one group belong together), its name, its value, and
# its text with its place.
_Size = tuple[str, str, str, str]


def check_degrees(options: Options, gpus: int | None) -> None:
    """Refuse sizes that the job's GPUs contradict; unknown numbers contradict nothing.

    Args:
        options: with the statements that decide the start.
        gpus: the number of GPUs per node.

    Raises:
        UsageError: sizes that do not fit, with their places.
    """
    nodes, gpus = options.known_nodes, options.gpus or gpus
    if not nodes or not gpus:
        return
    table: Mapping[str, Any] = load_kept_file("knowledge/parallel_degrees.yaml")
    # The last of several equal names counts.
    sizes = {size[:2]: size for size in _sizes(options) if size[2].isdecimal()}
    limits = {"nodes": nodes, "gpus": gpus}
    for (_, name, value, text), unit in product(sizes.values(), limits):
        if name in table["most"][unit].split() and int(value) > limits[unit]:
            msg = f"{text}: the job has {nodes} nodes with {gpus} GPUs each"
            raise UsageError(msg, hint="request as many, or correct the number")
    flags = {word.lstrip("-").replace("-", "_") for word in options.command}
    for group, key in product(table["groups"], {group for group, _ in sizes}):
        lines = group["sizes"][: -1 if group.get("unless") in flags else None]
        ours = [
            sizes[key, name]
            for line in lines
            for name in line.split()
            if (key, name) in sizes
        ]
        need = prod(int(size[2]) or 1 for size in ours)
        ranks = nodes * (options.ranks or gpus)
        # A cluster of Ray may use a part of its GPUs for each group.
        launcher = LAUNCHERS.get(options.launcher or "")
        divides = group["rule"] == "divides" and not (launcher and launcher.is_once)
        if need > nodes * gpus or (divides and ranks % need):
            msg = (
                " x ".join(text for *_, text in ours)
                + f": groups of {need} GPUs do not "
            )
            msg += f"fit the job: {nodes} nodes with {gpus} GPUs each"
            raise UsageError(
                msg, hint="change the sizes, or request other nodes or GPUs"
            )


def _sizes(options: Options) -> Iterator[_Size]:
    """Yield the sizes on command lines, and in the configuration files that they name."""
    lines: list[tuple[str, Sequence[str]]] = [("", options.command)]
    lines += [(f"{s.path}:{s.line}: ", s.words) for s in options.statements if s.path]
    for place, words in lines:
        for word, following in zip(words, (*words[1:], ""), strict=False):
            for part in word.split(","):
                name, equals, value = part.partition("=")
                is_apart = not equals and name.startswith("-")
                yield _size("", name, following if is_apart else value, place)
            if word.endswith((".yaml", ".yml", ".json", ".toml")):
                yield from _file_sizes(word)


def _file_sizes(path: str) -> Iterator[_Size]:
    """Yield the keys of a configuration file with a number, grouped by their parents."""
    parents: list[tuple[int, str]] = []
    for number, line in enumerate(
        (read_file(path) or b"").decode(errors="replace").splitlines(), 1
    ):
        if match := re.match(_KEY, line):
            indent, name, value = match.groups()
            parents = [parent for parent in parents if parent[0] < len(indent)]
            if len(name) > 2:
                yield _size(f"{path} {parents}", name, value, f"{path}:{number}: ")
            parents.append((len(indent), name))
        elif line.startswith("["):
            parents = [(-1, line)]


def _size(group: str, name: str, value: str, place: str) -> _Size:
    prefix, _, last = name.lstrip("-+").replace("-", "_").rpartition(".")
    sign = " " if name.startswith("-") else "="
    return group + prefix, last, value, f"{place}{name}{sign}{value}"
