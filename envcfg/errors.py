"""Every way in which envcfg fails, with its exit code; only ``cli.main`` prints them.

Exit codes, for all commands: 0 ok, 1 findings, 2 wrong usage or configuration,
3 inconclusive, 4 cannot read, write or run something, 70 a bug, 130 interrupted (ended by
another signal: 128 + its number).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from envcfg.characters import one_line
from envcfg.findings import Finding

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


class ImageError(EnvcfgError):
    """An image that cannot be read: not there, damaged, or of a form that is not known."""

    exit_code = EXIT_CANNOT


class JobError(EnvcfgError):
    """A job that cannot be looked at, or a scheduler that does not answer."""

    exit_code = EXIT_CANNOT


class LibraryError(EnvcfgError):
    """A library that this installation does not have, or not for this Python."""

    exit_code = EXIT_CANNOT

    def __init__(self, *, package: str, use: str) -> None:
        """Say that *use*, such as "reading bash", needs *package*, as pip names it."""
        what = f"{use} needs {package}, which this Python does not have"
        others = "envcfg.pyz has it for some Pythons only, see docs/install.md"
        super().__init__(what, hint=f"python3 -m pip install {package}; {others}")


class FindingsError(EnvcfgError):
    """Something that checks found cannot be used; carries all that they found."""

    exit_code = EXIT_USAGE

    def __init__(self, findings: Sequence[Finding]) -> None:
        """Keep all *findings*; there is at least one."""
        super().__init__(findings[0].message, hint=findings[0].fix)
        self.findings = tuple(findings)

    def lines(self) -> list[str]:
        """Return every finding, in their order."""
        return [line for finding in self.findings for line in finding.lines()]


class ProfileError(FindingsError):
    """A profile that cannot be used."""


_FEW = 12  # words that a hint lists beside the nearest one
_MOST = 40  # words that it lists at all
_SHORT = 3  # letters from which a part of a word is worth a guess


def suggest(word: str, known: Collection[str], *, listed_by: str | None = None) -> str:
    """Return a hint that names the nearest of *known*, and how to see all of them.

    Args:
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


def is_slip(one: str, other: str) -> bool:
    """Return whether a letter is missing, wrong, or in the place of its neighbour."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    begin = 0
    while begin < min(len(one), len(other)) and one[begin] == other[begin]:
        begin += 1
    end = 0
    while end < min(len(one), len(other)) - begin and one[-1 - end] == other[-1 - end]:
        end += 1
    left, right = one[begin : len(one) - end], other[begin : len(other) - end]
    if any(sign.isdigit() for sign in left + right):
        return False  # NODE1 and NODE2
    swapped = len(left) == 2 and left == right[::-1]
    return swapped or max(len(left), len(right)) == 1
