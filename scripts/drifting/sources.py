"""The sources that our data name, and which of them are places in a repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from envcfg.profile.validate import COORDINATES

# Keys whose text is ours, and names of ours that a source may have by chance.
_OURS = frozenset("why source date meaning fix rule state when summary".split())
_BLOCKS = frozenset(
    "node nvlink internet home quota detect billing expect rendezvous visibility "
    "scratch request "
    "default main true false none sum gpus time exclusive slurm pbs flux hours "
    "nodes".split()
)
_WORD = re.compile(r"[\w.:/-]{3,}")


class Spot(NamedTuple):
    """A file of a repository at a commit.

    Attributes:
        lines: the first and the last that count, from 1; None: all with the entry's words.
    """

    repository: str
    commit: str
    path: str
    lines: tuple[int, int] | None


class Entry(NamedTuple):
    """Something with a source.

    Attributes:
        where: file and line.
        key: its way in the file, with dots.
        source: as it is written.
        words: names and values, which the source may have, too.
        spots: what of the source is in repositories.
    """

    where: str
    key: str
    source: str
    words: frozenset[str]
    spots: tuple[Spot, ...]


def read_entries(path: Path, root: Path) -> Iterator[Entry]:
    """Yield all entries of a YAML file that have a source."""
    tree = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    yield from _entries(tree, (), str(path.relative_to(root)))


def _entries(
    node: yaml.Node | None, keys: tuple[str, ...], file: str
) -> Iterator[Entry]:
    if isinstance(node, yaml.SequenceNode):
        for number, each in enumerate(node.value):
            yield from _entries(each, (*keys, str(number)), file)
    if not isinstance(node, yaml.MappingNode):
        return
    given = {key.value: value for key, value in node.value}
    source = given.get("source")
    if isinstance(source, yaml.ScalarNode):
        name = next(
            (key for key in reversed(keys) if not key.isdigit() and key != "cases"), ""
        )
        said = [value for key, value in given.items() if key not in _OURS]
        words = {name, *(word for each in said for word in _words(each))}
        yield Entry(
            where=f"{file}:{source.start_mark.line + 1}",
            key=".".join(keys),
            source=source.value,
            words=frozenset(filter(_WORD.fullmatch, words - _BLOCKS)),
            spots=tuple(spots(source.value)),
        )
    for key, value in given.items():
        yield from _entries(value, (*keys, key), file)


def _words(node: yaml.Node) -> Iterator[str]:
    """Yield the values of an entry, and the names of what it holds."""
    if isinstance(node, yaml.ScalarNode):
        yield node.value
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _words(each)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value not in _OURS:
                yield from _words(value)


def spots(source: str) -> Iterator[Spot]:
    """Yield the places in repositories that a source names."""
    for found in COORDINATES.finditer(source):
        said = re.search(r"\blines? (\d+)(?:-(\d+))?", found["part"] or "")
        lines = (int(said[1]), int(said[2] or said[1])) if said else None
        yield Spot(found["repository"], found["commit"], found["path"], lines)
