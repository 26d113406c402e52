"""The record of a variable and its reader."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from envcfg.common.datafile import data_path, load_kept, names_in, record

FOLDER = data_path("knowledge/variables")
READERS = data_path("knowledge/readers.yaml")
HISTORY = data_path("knowledge/history.yaml")
MISSPELT = "none"  # the type of a name that no program reads


class Habits(NamedTuple):
    """How a program reads values."""

    turns_on: tuple[str, ...] = ()  # its words for a switch
    turns_off: tuple[str, ...] = ()
    ignore_case: bool = False  # whether case is ignored in a switch
    tilde: bool = False  # a leading ~ is the home folder
    wrong: str | None = None  # the effect of a value that it cannot read
    read_up_to: str | None = None  # its newest releases whose variables were read


@cache
def load_readers() -> Mapping[str, Habits]:
    """Return the reading habits of each program, by its name."""
    return {file["name"]: record(Habits, file) for file in load_files()[0]}


@cache
def load_files() -> list[Any]:
    """Return the contents of the files: readers, releases, then variables."""
    names = names_in(FOLDER, ".yaml")
    paths = [READERS, HISTORY, *(f"{FOLDER}/{name}" for name in names)]
    # All files are cached together, because a check may need any of them.
    return load_kept("variables", *paths)


class Variable(NamedTuple):
    """One variable with its known facts; facts without a source are empty."""

    name: str
    meaning: str
    type: str  # the kind of value, a key of `values.TYPES`; `none`: no program reads it
    source: str  # a page, or a repository with version or commit and file
    date: str  # the date of the source, or of reading it
    values: tuple[str, ...] = ()  # the accepted words, if they are few
    # Old values that still work, with the right word for each.
    legacy: Mapping[str, str] = {}
    ignore_case: bool = False
    min: int | None = None
    max: int | None = None
    separator: str = ","
    markers: str = ""
    also: tuple[str, ...] = ()  # other accepted values, such as -1 for automatic
    default: str | None = None  # the value if it is unset, as text
    since: str | None = None  # this and the next two: versions of its first reader
    deprecated: str | None = None
    removed: str | None = None
    # The releases that read it, with their defaults; a text for each library.
    history: tuple[str, ...] = ()
    renamed: str | None = None  # the new name; the old one may still be read
    instead: str | None = None  # the right name, if this one is a mistake
    read_by: tuple[str, ...] = ()  # names in `readers.yaml`
    related: tuple[str, ...] = ()

    @property
    def is_read(self) -> bool:
        """Return whether any program reads the name."""
        return self.type != MISSPELT

    @property
    def habits(self) -> Habits:
        """The reading habits of its first reader."""
        return load_readers()[self.read_by[0]] if self.read_by else Habits()
