"""The allowed nesting of data and folders, equal for all versions of all libraries.

Python, its JSON and TOML readers and libyaml have their own limits, which differ
between versions; some raise a RecursionError. Real data have only a few levels.
"""

import os
from collections.abc import Iterator
from typing import NoReturn

from envcfg.common.errors import OutputError

MAX_DEPTH = 100


def check_depth(value: object) -> None:
    """Raise ``ValueError`` if lists and mappings in *value* are nested too deep."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, (list, dict))
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (list, dict))
        ]
        if not level:
            return
    refuse_depth()


def refuse_depth() -> NoReturn:
    """Raise the ``ValueError`` for a value that is nested too deep."""
    msg = f"nested more than {MAX_DEPTH} deep"
    raise ValueError(msg) from None


def walk_folder(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the results of ``os.walk`` without hidden folders, sorted by name.

    Raises:
        OutputError: folders are nested more than :data:`MAX_DEPTH` deep.
    """
    for path, folders, names in os.walk(top):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        if folders and path[len(top) :].count(os.sep) >= MAX_DEPTH:
            msg = f"{top}: its folders are nested more than {MAX_DEPTH} deep"
            raise OutputError(msg, hint="name a folder further down")
        yield path, folders, names
