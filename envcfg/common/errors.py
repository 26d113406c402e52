"""All failures of envcfg, with their exit codes; only ``cli.main`` prints them.

Exit codes, for all commands: 0 ok, 1 findings, 2 wrong usage or configuration,
3 inconclusive, 4 cannot read, write or run something, 70 a bug, 130 interrupted (ended by
another signal: 128 + its number).
"""

from collections.abc import Collection, Sequence

from envcfg.common.findings import Finding
from envcfg.common.secrets import safe_line

EXIT_USAGE = 2
EXIT_CANNOT = 4
EXIT_BUG = 70


class EnvcfgError(Exception):
    """A failure that the user can understand and repair."""

    exit_code = EXIT_BUG

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Store the *message* of the error, and the *hint* with the remedy."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def lines(self) -> list[str]:
        """Return the error as the lines that appear on stderr."""
        lines = [f"envcfg: error: {self.message}"]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        # Messages may quote files of others, so each becomes one safe line.
        return list(map(safe_line, lines))


class UsageError(EnvcfgError):
    """An invalid option or argument."""

    exit_code = EXIT_USAGE


class OutputError(EnvcfgError):
    """A file that cannot be read, written or replaced."""

    exit_code = EXIT_CANNOT


class ImageError(EnvcfgError):
    """An image that cannot be read: missing, damaged, or of an unknown form."""

    exit_code = EXIT_CANNOT


class JobError(EnvcfgError):
    """A job that cannot be examined, or a scheduler that does not answer."""

    exit_code = EXIT_CANNOT


class LibraryError(EnvcfgError):
    """A library that this installation lacks, or lacks for this Python."""

    exit_code = EXIT_CANNOT

    def __init__(self, *, package: str, use: str) -> None:
        """State that *use*, such as "reading bash", needs *package*, by its name for
        pip."""
        message = f"{use} needs {package}, which this Python does not have"
        alternative = "envcfg.pyz has it for some Pythons only, see docs/install.md"
        super().__init__(
            message, hint=f"python3 -m pip install {package}; {alternative}"
        )


class FindingsError(EnvcfgError):
    """An input that cannot be used, with all findings on it."""

    exit_code = EXIT_USAGE

    def __init__(self, findings: Sequence[Finding]) -> None:
        """Store the *findings*; there is at least one."""
        # The first finding is the message, for callers that print one line only.
        super().__init__(findings[0].message, hint=findings[0].fix)
        self.findings = tuple(findings)

    def replace_findings(self, findings: Sequence[Finding]) -> None:
        """Replace the findings of the error by *findings*."""
        self.findings = tuple(findings)
        self.message, self.hint = findings[0].message, findings[0].fix

    def lines(self) -> list[str]:
        """Return every finding, in their order."""
        return [line for finding in self.findings for line in finding.lines()]


class ProfileError(FindingsError):
    """A profile that cannot be used."""


_FEW = 12  # words that a hint lists beside the nearest one
_MOST = 40  # words that it lists at all
_ALIKE = 0.7  # share of letters in common, from which a word is a misspelt other one
_SHORT = 3  # letters from which a part of a word is worth a guess


def suggest(
    word: str, candidates: Collection[str], *, listed_by: str | None = None
) -> str:
    """Return a hint that names the nearest of *candidates*, and how to see all of them.

    Args:
        listed_by: the command that lists them; the hint then need not.
    """
    near = nearest(word, candidates)
    parts = [f"did you mean {near!r}?"] if near else []
    if listed_by:
        parts.append(f"{listed_by} shows all")
    elif not near or len(candidates) <= _FEW:
        remaining = len(candidates) - _MOST
        more = f" and {remaining} others" if remaining > 0 else ""
        parts.append(f"known: {', '.join(sorted(candidates)[:_MOST])}{more}")
    return " ".join(parts)


def nearest(
    word: str, candidates: Collection[str], *, may_be_part: bool = True
) -> str | None:
    """Return the word of *candidates* that a person means by *word*; None if there is none.

    Args:
        may_be_part: *word* may be a part of a longer word, too.
    """
    from difflib import get_close_matches

    lower = {name.lower(): name for name in sorted(candidates)}
    if near := get_close_matches(word.lower(), lower, n=1, cutoff=_ALIKE):
        return lower[near[0]]
    if slips := [name for name in lower if is_slip(word.lower(), name)]:
        return lower[slips[0]]
    holding = [name for name in lower if word.lower() in name]
    if not may_be_part or len(word) < _SHORT or not holding:
        return None
    return lower[
        min(holding, key=lambda name: (not name.startswith(word.lower()), name))
    ]


def is_slip(first: str, second: str) -> bool:
    """Return whether two words differ by one missing, wrong or swapped letter."""
    if abs(len(first) - len(second)) > 1 or first == second:
        return False
    begin = 0
    while begin < min(len(first), len(second)) and first[begin] == second[begin]:
        begin += 1
    end = 0
    while (
        end < min(len(first), len(second)) - begin
        and first[-1 - end] == second[-1 - end]
    ):
        end += 1
    left_part, right = (
        first[begin : len(first) - end],
        second[begin : len(second) - end],
    )
    if any(sign.isdigit() for sign in left_part + right):
        return False  # NODE1 and NODE2
    swapped = len(left_part) == 2 and left_part == right[::-1]
    return swapped or max(len(left_part), len(right)) == 1
