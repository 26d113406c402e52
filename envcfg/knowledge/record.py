"""A variable and its reader: what is known of each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from envcfg.datafile import load_kept, names_in, record

FOLDER = os.path.join(os.path.dirname(__file__), "variables")
READERS = os.path.join(os.path.dirname(__file__), "readers.yaml")
HISTORY = os.path.join(os.path.dirname(__file__), "history.yaml")
MISSPELT = "none"  # the type of a name that no program reads


class Habits(NamedTuple):
    """How a program reads values.

    Attributes:
        turns_on, turns_off: what it takes for a switch.
        ignore_case: of a switch.
        tilde: a leading ~ is the home folder.
        wrong: what becomes of a value that it cannot read.
    """

    turns_on: tuple[str, ...] = ()
    turns_off: tuple[str, ...] = ()
    ignore_case: bool = False
    tilde: bool = False
    wrong: str | None = None


@cache
def load_readers() -> Mapping[str, Habits]:
    """Return how each program reads values, by its name."""
    return {each["name"]: record(Habits, each) for each in load_files()[0]}


@cache
def load_files() -> list[Any]:
    """Return what the files say: of the readers, of releases, then of the variables."""
    names = sorted(name for name in names_in(FOLDER) if name.endswith(".yaml"))
    paths = [READERS, HISTORY, *(os.path.join(FOLDER, name) for name in names)]
    return load_kept("variables", paths)


class Variable(NamedTuple):
    """One name and what is known of it; what no source says is empty.

    Attributes:
        type: the kind of value, as ``values.TYPES`` has it; ``none``: no program reads it.
        values: the words that it takes, where they are few.
        legacy: old values that still work, with the right word for each.
        also: values that its reader takes besides, such as -1 for automatic.
        default: what holds where it is unset, as text.
        since, deprecated, removed: versions of the first of its readers.
        history: which releases read it with which default, a text for each library.
        renamed: the new name; the old one may still be read.
        instead: the right name, where this one is a slip.
        read_by: names in ``readers.yaml``.
        source: a page, or a repository with version or commit and file.
        date: of the source, or when it was read.
    """

    name: str
    meaning: str
    type: str
    source: str
    date: str
    values: tuple[str, ...] = ()
    legacy: Mapping[str, str] = {}
    ignore_case: bool = False
    min: int | None = None
    max: int | None = None
    separator: str = ","
    markers: str = ""
    also: tuple[str, ...] = ()
    default: str | None = None
    since: str | None = None
    deprecated: str | None = None
    removed: str | None = None
    history: tuple[str, ...] = ()
    renamed: str | None = None
    instead: str | None = None
    read_by: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    @property
    def is_read(self) -> bool:
        """Return whether any program reads the name."""
        return self.type != MISSPELT

    @property
    def habits(self) -> Habits:
        """How the first of its readers reads values."""
        return load_readers()[self.read_by[0]] if self.read_by else Habits()
