"""Values of options: each read and checked on its own, for argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from envcfg.profile.read.entries import name_problem
from envcfg.profile.words import Word, WordError, parse_word


def number_of(things: str) -> Callable[[str], int]:
    """Return what reads a number of *things*, at least one."""

    def read(text: str) -> int:
        from envcfg.log.process import MOST_RANKS

        digits = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_RANKS))
        if not (digits and 0 < int(text) <= MOST_RANKS):
            msg = f"{text!r} is no number of {things}, 1 to {MOST_RANKS}"
            raise argparse.ArgumentTypeError(msg)
        return int(text)

    return read


def pair(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        msg = f"{text!r} is not NAME=VALUE"
        raise argparse.ArgumentTypeError(msg)
    return name, value


def _checked(name: str) -> str:
    if problem := name_problem(name):
        raise argparse.ArgumentTypeError(problem[0])
    return name


def assignment(text: str) -> tuple[str, Word | None]:
    """Read NAME=VALUE, the value in the grammar of profiles."""
    name, value = pair(text)
    try:
        return _checked(name), parse_word(value)
    except WordError as err:
        msg = f"{name}: {err}; {err.hint}"
        raise argparse.ArgumentTypeError(msg) from err


def removal(name: str) -> tuple[str, Word | None]:
    """Read the name of a variable that is to go."""
    return _checked(name), None


def rank_list(text: str) -> tuple[int, ...]:
    """Read ranks: ``2`` or ``0,8``."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() for part in parts):
        msg = f"{text!r} are no ranks: expected 2 or 0,8"
        raise argparse.ArgumentTypeError(msg)
    return tuple(dict.fromkeys(int(part) for part in parts))


def word(text: str) -> Word:
    """Read a value that may refer to variables: ``${SCRATCH}/logs``."""
    if not text:
        msg = "it is empty; is the variable set that it comes from?"
        raise argparse.ArgumentTypeError(msg)
    try:
        return parse_word(text)
    except WordError as err:
        raise argparse.ArgumentTypeError(str(err)) from None
