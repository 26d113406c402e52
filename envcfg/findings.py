"""The one thing that every check yields: what was found, where, why and what to do."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from envcfg.characters import one_line

EXIT_FINDINGS = 1
EXIT_INCONCLUSIVE = 3
Severity = Literal["error", "warning", "note"]


class Place(NamedTuple):
    """Where something is written: file, line and column, both counted from 1."""

    path: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        """Return ``path:line:column``, as editors read it."""
        return f"{self.path}:{self.line}:{self.column}"


NOWHERE = Place("", 0)  # before all other places


class Evidence(NamedTuple):
    """The first line that shows something.

    Attributes:
        file: name of the file as it was given; ``-`` is standard input.
        line: number of the line, from 1.
        text: the line, cut to a readable length.
    """

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        """Return ``file:line``, as editors read it."""
        return f"{self.file}:{self.line}"


class Finding(NamedTuple):
    """Something that a person should know.

    Attributes:
        rule: short stable id, never reused (``fact-unknown``).
        severity: ``error`` stops, ``warning`` may go wrong, ``note`` is good to know.
        subject: what it is about (a setting, a file, ranks).
        message: one sentence, lower case, no full stop.
        fix: what to do about it, if anything.
        source: who says so, if not envcfg itself.
        why: what it means, where the message does not say so itself.
        evidence: the first line that shows it.
        count: how often it was seen.
        cause: False where it follows from another finding, which is the one to mend.
        place: where it is to be mended, in a file that was checked.
    """

    rule: str
    severity: Severity
    subject: str
    message: str
    fix: str | None = None
    source: str | None = None
    why: str | None = None
    evidence: Evidence | None = None
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    cause: bool = True
    place: Place | None = None

    @property
    def where(self) -> Place | None:
        """Where an editor shows it: where it is to be mended, or the line that shows it."""
        if self.place or not self.evidence:
            return self.place
        return Place(self.evidence.file, self.evidence.line)

    def lines(self) -> list[str]:
        """Return the finding as the lines that stand on stderr."""
        said = f"{self.subject}: {self.message}" if self.subject else self.message
        where = f"{self.place}: " if self.place else ""
        lines = [f"envcfg: {self.severity}: {where}{said}"]
        if self.fix:
            lines.append(f"  hint: {self.fix}")
        return list(map(one_line, lines))


def exit_code(
    findings: Iterable[Finding], *, strict: bool = False, inconclusive: bool = False
) -> int:
    """Return what a check exits with; docs/findings.md says the same to users.

    1 if one of *findings* is an error, or with *strict* a warning; else 3 if the check is
    *inconclusive*, as it could not see whether all is well; else 0.
    """
    fails = {"error", "warning"} if strict else {"error"}
    if any(each.severity in fails for each in findings):
        return EXIT_FINDINGS
    return EXIT_INCONCLUSIVE if inconclusive else 0
