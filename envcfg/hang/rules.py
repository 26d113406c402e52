"""The words for what is found of a job that hangs; data."""

from __future__ import annotations

import os.path

from envcfg.datafile import load_yaml
from envcfg.findings import Finding
from envcfg.log.rulebook import Rule

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules.yaml")


def hang_rules() -> dict[str, Rule]:
    """Return all of them by id."""
    return {each["id"]: Rule(**each) for each in load_yaml(_FILE)["rules"]}


class Words:
    """Makes findings of the rules."""

    def __init__(self) -> None:
        """Read the rules."""
        self._rules = hang_rules()

    def finding(self, rule: str, subject: str, message: str) -> Finding:
        """Return what *rule* says of *subject*: *message*, without a full stop."""
        known = self._rules[rule]
        return Finding(
            rule,
            known.severity or "note",
            subject,
            message,
            known.fix,
            source=known.source,
            why=known.meaning,
        )
