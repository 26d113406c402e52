"""Every way in which envcfg fails, with its exit code; only ``cli.main`` prints them.

Exit codes, for all commands: 0 ok, 1 findings, 2 wrong usage or configuration,
3 inconclusive, 4 cannot read, write or run something, 70 a bug, 130 interrupted (ended by
another signal: 128 + its number).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from envcfg.characters import one_line

EXIT_USAGE = 2
EXIT_CANNOT = 4
EXIT_BUG = 70


class EnvcfgError(Exception):
    """A failure that the user can understand and mend."""

    exit_code = EXIT_BUG

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Keep what went wrong (*message*) and what to do about it (*hint*)."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def lines(self) -> list[str]:
        """Return the error as the lines that stand on stderr."""
        lines = [f"envcfg: error: {self.message}"]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return list(map(one_line, lines))


class UsageError(EnvcfgError):
    """An option or argument that cannot be right."""

    exit_code = EXIT_USAGE


class OutputError(EnvcfgError):
    """A file that cannot be read, written or replaced."""

    exit_code = EXIT_CANNOT


class JobError(EnvcfgError):
    """A job that cannot be looked at, or a scheduler that does not answer."""

    exit_code = EXIT_CANNOT


class Place(NamedTuple):
    """Where something is written: file, line and column, both counted from 1."""

    path: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        """Return ``path:line:column``, as editors read it."""
        return f"{self.path}:{self.line}:{self.column}"


class Problem(NamedTuple):
    """One thing that is wrong in a file."""

    place: Place
    key: str
    message: str
    hint: str | None = None

    def lines(self) -> list[str]:
        """Return the problem as the lines that stand on stderr."""
        key = f"{self.key}: " if self.key else ""
        lines = [f"envcfg: error: {self.place}: {key}{self.message}"]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return list(map(one_line, lines))


class ProfileError(EnvcfgError):
    """A profile that cannot be used; carries every problem that was found."""

    exit_code = EXIT_USAGE

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Keep all *problems*; there is at least one."""
        super().__init__(problems[0].message, hint=problems[0].hint)
        self.problems = tuple(problems)

    def lines(self) -> list[str]:
        """Return every problem, in the order of the files."""
        return [line for problem in self.problems for line in problem.lines()]


_FEW = 12  # words that a hint lists beside the nearest one
_MOST = 40  # words that it lists at all
_SHORT = 3  # letters from which a part of a word is worth a guess


def suggest(word: str, known: Collection[str], *, listed_by: str | None = None) -> str:
    """Return a hint that names the nearest of *known*, and how to see all of them.

    Args:
        word: what was written.
        known: what could have been meant.
        listed_by: the command that lists them; the hint then need not.
    """
    near = nearest(word, known)
    parts = [f"did you mean {near!r}?"] if near else []
    if listed_by:
        parts.append(f"{listed_by} shows all")
    elif not near or len(known) <= _FEW:
        left = len(known) - _MOST
        more = f" and {left} others" if left > 0 else ""
        parts.append(f"known: {', '.join(sorted(known)[:_MOST])}{more}")
    return " ".join(parts)


def nearest(word: str, known: Collection[str]) -> str | None:
    """Return what of *known* is most like *word*; None where nothing is."""
    from difflib import get_close_matches

    lower = {each.lower(): each for each in sorted(known)}
    if near := get_close_matches(word.lower(), lower, n=1):
        return lower[near[0]]
    holding = [each for each in lower if word.lower() in each]
    if len(word) < _SHORT or not holding:
        return None
    return lower[
        min(holding, key=lambda each: (not each.startswith(word.lower()), each))
    ]
