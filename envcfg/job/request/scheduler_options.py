"""The options of a scheduler, by its table: names, values and messages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from envcfg.backends import schedulers
from envcfg.common.datafile import load_kept


class Format(NamedTuple):
    """The format of a value.

    Attributes:
        says: the scheduler's message about a wrong value; *range*: about a descending
            range.
    """

    pattern: str
    says: str
    fix: str
    range: str = ""


class Pair(NamedTuple):
    """Options that exclude each other; *newer*: only new versions reject the pair."""

    options: tuple[str, ...]
    says: str
    newer: bool = False


class Need(NamedTuple):
    """An option that the scheduler rejects unless one of others is given."""

    option: str
    one_of: tuple[str, ...]
    says: str


class Option(NamedTuple):
    """One option; *takes*: the name of its format, empty if it takes no value."""

    name: str
    takes: str
    may: bool = False
    is_newer: bool = False
    is_plugin: bool = False


class Table(NamedTuple):
    """The options of one scheduler; *words*: its messages for rejected ones.

    Attributes:
        means: the names of options in the rules of profiles, if different.
        single_dash: long names may have one dash.
        listed: the option that contains a list of others.
        answers: parts of the scheduler's messages about a job, each with its remedy.
        hints: by text of lint's hints, which name Slurm's variables, its replacement.
        gpus: messages on numbers of GPUs that contradict each other, by their cases.
        unreached: parts of messages that prove that it did not receive the job;
            *unsure*: parts after which it may have the job.
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
    single_dash: bool = False
    listed: str = ""
    answers: Mapping[str, str] = {}
    hints: Mapping[str, str] = {}
    unreached: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    gpus: Mapping[str, str] = {}

    def dashed(self, name: str) -> str:
        """Return an option as it is typed; one letter has one dash."""
        return f"-{name}" if self.single_dash or len(name) == 1 else f"--{name}"


@cache
def option_table(scheduler: str) -> Table:
    """Return the options of *scheduler*, a name in ``SCHEDULERS``."""
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
        formats={name: Format(**entry) for name, entry in data["formats"].items()},
        pairs=tuple(
            Pair(**{**pair, "options": tuple(pair["options"])})
            for pair in data.get("pairs", ())
        ),
        words=data["words"],
        means=data.get("means", {}),
        single_dash=data.get("single_dash", False),
        listed=data.get("listed", ""),
        answers=data.get("answers", {}),
        hints=data.get("hints", {}),
        unreached=tuple(data.get("unreached", ())),
        unsure=tuple(data.get("unsure", ())),
        gpus=data.get("gpus", {}),
        needs=tuple(Need(**need) for need in data.get("needs", ())),
    )
