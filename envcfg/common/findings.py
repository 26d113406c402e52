"""The result type of every check: problem, place, reason and remedy."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from envcfg.common.datafile import load_findings
from envcfg.common.secrets import safe_line

EXIT_FINDINGS = 1
EXIT_INCONCLUSIVE = 3
Severity = Literal["error", "warning", "note"]
SEVERITIES: Sequence[Severity] = ("error", "warning", "note")  # worst first


class Place(NamedTuple):
    """The place of a text: file, line and column, both counted from 1."""

    path: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        """Return ``path:line:column``, the form for editors."""
        return f"{self.path}:{self.line}:{self.column}"


NOWHERE = Place("", 0)  # sorts before all other places


class EvidenceLine(NamedTuple):
    """The first line with the evidence."""

    file: str  # name of the file, as given; `-` is standard input
    line: int
    text: str  # the line, cut to a readable length

    def __str__(self) -> str:
        """Return ``file:line``, the form for editors."""
        return f"{self.file}:{self.line}"


class Finding(NamedTuple):
    """A message to the user about a problem or a decision."""

    rule: str  # short stable id, never reused (`fact-unknown`)
    severity: Severity  # `error` stops, `warning` may fail, `note` is information
    subject: str
    message: str  # one sentence, lower case, no full stop
    fix: str | None = None
    source: str | None = None  # the source, if it is not envcfg itself
    why: str | None = None  # the meaning, if the message does not contain it
    evidence: EvidenceLine | None = None  # the first line that proves it
    # The number of occurrences.
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    # False if it follows from another finding, which must be repaired first.
    cause: bool = True
    place: Place | None = None  # the place to repair, in a checked file

    @property
    def where(self) -> Place | None:
        """The place for an editor: the place of the fix, or of the evidence."""
        if self.place or not self.evidence:
            return self.place
        return Place(self.evidence.file, self.evidence.line)

    def lines(self) -> list[str]:
        """Return the finding as the lines that appear on stderr."""
        text = f"{self.subject}: {self.message}" if self.subject else self.message
        where = f"{self.place}: " if self.place else ""
        lines = [f"envcfg: {self.severity}: {where}{text}"]
        if self.fix:
            lines.append(f"  hint: {self.fix}")
        return list(map(safe_line, lines))


def finding_in(
    room: str, rule: str, subject: str, which: str = "", /, **words: object
) -> Finding:
    """Return the finding of *rule* in the room's ``findings.yaml``, filled with *words*.

    If a rule has several texts, *which* selects one: ``RULE/WHICH``.
    """
    texts = load_findings(room)[f"{rule}/{which}" if which else rule]
    # Texts are filled here, so that a missing word fails at once.
    filled = {name: text.format(**words) for name, text in texts.items()}
    return Finding(rule, subject=subject, **filled)


class Result(NamedTuple):
    """The findings of a check, by checked file or node."""

    # The findings of each subject, in order; an empty list if it is good.
    findings: Mapping[str, Sequence[Finding]]
    kind: str = "file"  # the kind of subject; the name of a `file` is its given path
    repairs: int = 0  # the number of faults that `lint --fix` repairs
    # Rules of lint that cannot decide, because words of a launch line are unknown.
    undecided: Sequence[str] = ()

    @property
    def all(self) -> list[Finding]:
        """Every finding, in order."""
        return [finding for findings in self.findings.values() for finding in findings]

    def place(self, name: str, finding: Finding) -> "Place | None":
        """Return the place of a finding on *name*; None if it has no place in a file."""
        return finding.where or (Place(name, 1) if self.kind == "file" else None)


def exit_code(
    findings: Iterable[Finding], *, strict: bool = False, inconclusive: bool = False
) -> int:
    """Return the exit code of a check; docs/findings.md describes it for users.

    1 if one of *findings* is an error, or with *strict* a warning; otherwise 3 if the
    check is *inconclusive*, because evidence is missing; otherwise 0.
    """
    fails = {"error", "warning"} if strict else {"error"}
    if any(finding.severity in fails for finding in findings):
        return EXIT_FINDINGS
    return EXIT_INCONCLUSIVE if inconclusive else 0
