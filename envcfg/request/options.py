"""What a scheduler takes of options, by its table: names, values, and what it says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from envcfg import schedulers
from envcfg.datafile import load_kept


class Format(NamedTuple):
    """How a value is written.

    Attributes:
        says: what the scheduler says of another value; *range*: of one that goes down.
    """

    pattern: str
    says: str
    fix: str
    range: str = ""


class Pair(NamedTuple):
    """Options of which a job has one at most; *newer*: only new versions refuse them."""

    options: tuple[str, ...]
    says: str
    newer: bool = False


class Option(NamedTuple):
    """One option; *takes*: the name of its format, empty where it takes no value."""

    name: str
    takes: str
    may: bool = False
    is_newer: bool = False
    is_plugin: bool = False


class Table(NamedTuple):
    """What one scheduler takes; *words*: what it says of what it does not take.

    Attributes:
        means: what the rules of profiles call an option, where that differs.
        listed: the option whose value is a list of others.
        answers: parts of what the scheduler itself says of a job, each with what helps.
    """

    command: str
    options: Mapping[str, Option]
    letters: Mapping[str, str]
    same: Mapping[str, str]
    steps: frozenset[str]
    many: frozenset[str]
    formats: Mapping[str, Format]
    pairs: tuple[Pair, ...]
    words: Mapping[str, str]
    means: Mapping[str, str] = {}
    listed: str = ""
    answers: Mapping[str, str] = {}


@cache
def option_table(scheduler: str) -> Table:
    """Return what *scheduler* takes, by its name in ``SCHEDULERS``."""
    folder = os.path.dirname(schedulers.__file__)
    (data,) = load_kept(scheduler, [os.path.join(folder, f"{scheduler}.yaml")])
    newer = set(data.get("newer", "").split())
    options, letters = {}, {}
    entries = [(name, text, False) for name, text in data["options"].items()]
    entries += [(name, text, True) for name, text in data.get("plugins", {}).items()]
    for name, text, is_plugin in entries:
        *letter, takes = text.split()
        if letter:
            letters[letter[0]] = name
        may, takes = takes.startswith("?"), takes.lstrip("?")
        options[name] = Option(
            name, "" if takes == "flag" else takes, may, name in newer, is_plugin
        )
    return Table(
        command=data["command"],
        options=options,
        letters=letters,
        same=data.get("same", {}),
        steps=frozenset(data.get("steps", "").split()),
        many=frozenset(data.get("many", "").split()),
        formats={name: Format(**each) for name, each in data["formats"].items()},
        pairs=tuple(
            Pair(**{**each, "options": tuple(each["options"])})
            for each in data.get("pairs", ())
        ),
        words=data["words"],
        means=data.get("means", {}),
        listed=data.get("listed", ""),
        answers=data.get("answers", {}),
    )
