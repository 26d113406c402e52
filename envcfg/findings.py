"""The one thing that every check yields: what was found, where, why and what to do."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "note"]


class Finding(NamedTuple):
    """Something that a person should know.

    Attributes:
        rule: short stable id, never reused (``fact-unknown``).
        severity: ``error`` stops, ``warning`` may go wrong, ``note`` is good to know.
        subject: what it is about (a setting, a file, a rank).
        message: one sentence, lower case, no full stop.
        fix: what to do about it, if anything.
        source: who says so, if not envcfg itself.
    """

    rule: str
    severity: Severity
    subject: str
    message: str
    fix: str | None = None
    source: str | None = None

    def lines(self) -> list[str]:
        """Return the finding as the lines that stand on stderr."""
        lines = [f"envcfg: {self.severity}: {self.subject}: {self.message}"]
        if self.fix:
            lines.append(f"  hint: {self.fix}")
        return lines
