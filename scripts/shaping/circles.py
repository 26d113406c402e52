"""Modules that import each other in a circle, wherever they do it and for whatever."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from pathlib import Path


def find_circles(sources: Mapping[str, str]) -> list[list[str]]:
    """Return the groups of modules of which each leads to each other by imports.

    Args:
        sources: texts by the names of modules, as in ``envcfg.log.rank``.
    """
    arrows = {name: set(_imported(sources[name], sources)) for name in sources}
    reached = {name: _reach(name, arrows) for name in arrows}
    groups = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in arrows
        if name in reached[name]
    }
    return sorted(sorted(group) for group in groups)


def module_name(path: Path, root: Path) -> str:
    """Return what a file below *root* is imported as; a package is its folder."""
    names = path.relative_to(root).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def _imported(source: str, known: Mapping[str, str]) -> Iterator[str]:
    """Yield the modules that a text imports; a package is its own text, not its parts."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole = [f"{node.module}.{each.name}" for each in node.names]
            names = [name if name in known else node.module for name in whole]
        else:
            continue
        yield from (name for name in names if name in known)


def _reach(start: str, arrows: Mapping[str, Set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(arrows[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += arrows[name]
    return seen
