"""What a script becomes: options of ``wrap``, what stays, what is left out; its table."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from envcfg.datafile import load_yaml
from envcfg.lint.text import Text, Word

_FILE = os.path.join(os.path.dirname(__file__), "programs.yaml")


class Left(NamedTuple):
    """Something that was not carried over.

    Attributes:
        line: of the script, from 1; 0 where it is no line's.
        what: as it was written.
        why: one clause, lower case.
    """

    line: int
    what: str
    why: str


class Argument(NamedTuple):
    """An option of ``wrap``; its value may hold variables. None: it takes none."""

    flag: str
    value: Text | None = None


class Step(NamedTuple):
    """What starts the program, in a script.

    Attributes:
        start, end: offsets of its command in the script.
        at: offset in the sources, for its line.
        arguments: options of ``wrap``.
        settings: variables that are set for it alone, by name.
        command: the program and its arguments.
        redirects: where it writes, as it was written among its words.
        taken: what envcfg does by itself: options, variables.
        left: what could not be carried over.
    """

    start: int
    end: int
    at: int
    arguments: tuple[Argument, ...]
    settings: dict[str, Text]
    command: tuple[Word, ...]
    redirects: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()


class Converted(NamedTuple):
    """A script, converted.

    Attributes:
        words: the command line of ``wrap`` as bash, each word quoted.
        directives: the lines for the scheduler, as they were.
        kept: other text that stays, in order; in it the step stands.
        text: the new script, without its first lines.
    """

    step: Step
    profile: str | None
    words: tuple[str, ...]
    directives: tuple[str, ...]
    taken: tuple[str, ...]
    left: tuple[Left, ...]
    text: str


@cache
def load_table() -> Mapping[str, Any]:
    """Return what becomes of the options by which a script starts its ranks."""
    found: Mapping[str, Any] = load_yaml(_FILE)
    return found
