"""Compare the sizes of a program's parallel groups with the GPUs of its job; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import product
from math import prod
from typing import Any

from envcfg.common.datafile import load_kept_file

# A function that returns the bytes of a file; None for any other.
Read = Callable[[str], "bytes | None"]
_CONFIG = (".yaml", ".yml", ".json", ".toml")
_PAIR = (
    r"([ \t]*)(?:- )?(?:override )?[\"']?([\w./-]+)[\"']?[ \t]*[:=][ \t]*"
    r"[\"']?([^\"',#\s]*)"
)


# The group of a size (sizes of one group belong together), its name, its value, and
# its text with its place.
_Size = tuple[str, str, str, str]


def size_fault(
    lines: Iterable[tuple[str, Sequence[str]]],
    nodes: int,
    gpus: int,
    ranks: int | None,
    read: Read,
    *,
    is_cluster: bool = False,
) -> str | None:
    """Return the sizes that do not fit the job, with their places.

    Args:
        lines: command lines, each with its place.
        nodes: the nodes of the job.
        gpus: the GPUs of each node.
        ranks: the ranks of each node; None for one per GPU.
        read: returns configuration files that the lines name.
        is_cluster: a cluster of Ray may use a part of its GPUs for each group.
    """
    table: Mapping[str, Any] = load_kept_file("knowledge/parallel_degrees.yaml")
    # The last of several equal names counts.
    named = {size[:2]: size for size in _sizes(lines, read)}
    found = {key: size for key, size in named.items() if size[2].isdecimal()}
    job = f"the job: {nodes} nodes with {gpus} GPUs each"
    limits = {"nodes": nodes, "gpus": gpus}
    for (_, name, value, text), unit in product(found.values(), limits):
        if name in table["most"][unit].split() and int(value) > limits[unit]:
            return f"{text} does not fit {job}"
    flags = {_plain(word) for _, words in lines for word in words}
    total = nodes * (ranks or gpus)
    alone = _one_process(named.values(), flags, table["one_process"])
    if alone and total > 1:
        return f"{alone} starts one process; {job}"
    for group, key in product(table["groups"], {group for group, _ in found}):
        rows = group["sizes"][: -1 if group.get("unless") in flags else None]
        names = [(key, name) for row in rows for name in row.split()]
        sizes = [found[name] for name in names if name in found]
        need = prod(int(size[2]) or 1 for size in sizes)
        shown = " x ".join(text for *_, text in sizes)
        batch = found.get((key, group.get("batch", "")))
        if batch and sizes and not flags & {*group["apart"].split()}:
            factor, rest = divmod(int(batch[2]), need * total)
            if rest or (factor != 1 and len(sizes) == len(rows)):
                return f"{batch[3]} is not {shown} x {total} ranks of {job}"
        elif "batch" not in group and (
            need > nodes * gpus
            or (group["rule"] == "divides" and not is_cluster and total % need)
        ):
            return f"{shown}: groups of {need} GPUs do not fit {job}"
    return None


def _one_process(
    sizes: Iterable[_Size], flags: Set[str], table: Mapping[str, Any]
) -> str:
    """Return the text of a value with which a launcher starts no ranks; else nothing."""
    if not flags.isdisjoint(table["unless"].split()):
        return ""
    names = table["names"]
    texts = (
        text
        for _, name, value, text in sizes
        if value.upper() in names.get(name, "").split()
    )
    return next(texts, "")


def config_values(path: str, read: Read) -> Iterator[tuple[str, str, str, str]]:
    """Yield place, parents with dots, name and value of a configuration file's keys."""
    parents: list[tuple[int, str]] = []
    text = (path.endswith(_CONFIG) and read(path)) or b""
    for number, line in enumerate(text.decode(errors="replace").splitlines(), 1):
        if match := re.match(_PAIR, line):
            indent, name, value = match.groups()
            parents = [parent for parent in parents if parent[0] < len(indent)]
            above = ".".join(parent for _, parent in parents)
            yield f"{path}:{number}: ", above, name, value
            parents.append((len(indent), name))
        elif line.startswith("["):
            parents = [(-1, line.strip("[]"))]


def _sizes(lines: Iterable[tuple[str, Sequence[str]]], read: Read) -> Iterator[_Size]:
    """Yield the sizes on command lines, and in the configuration files that they name."""
    for place, words in lines:
        for word, following in zip(words, (*words[1:], ""), strict=False):
            for part in word.split(","):
                name, equals, value = part.partition("=")
                is_apart = not equals and name.startswith("-")
                yield _size("", name, following if is_apart else value, place)
            yield from _file_sizes(word.rpartition("=")[2], read)


def _file_sizes(path: str, read: Read, depth: int = 2) -> Iterator[_Size]:
    """Yield the sizes in a configuration file, grouped by their parents."""
    for place, parents, name, value in config_values(path, read):
        if len(name) > 2:
            yield _size(f"{path} {parents}", name, value, place)
        if depth:
            yield from _file_sizes(value, read, depth - 1)


def _size(group: str, name: str, value: str, place: str) -> _Size:
    prefix, _, last = _plain(name).rpartition(".")
    sign = " " if name.startswith("-") else "="
    return group + prefix, last, value, f"{place}{name}{sign}{value}"


def _plain(word: str) -> str:
    return word.lstrip("-+").replace("-", "_")
