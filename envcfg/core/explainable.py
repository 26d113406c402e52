"""Everything that ``explain`` can explain: rules, findings, words and variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from envcfg.knowledge.topics import Topic, find_topic
from envcfg.knowledge.variable_record import Variable
from envcfg.lint.lint_rule import LintRule
from envcfg.log.read.rulebook import LogRule, load_rules, stack_rules
from envcfg.nodes.hang.hang_rules import hang_rules
from envcfg.profile.conditions import FACTS
from envcfg.profile.look.survey import Use


class PlainEntry(NamedTuple):
    """An explanation without a rule: a finding with its own words, or a term."""

    id: str
    meaning: str
    # `finding`, `fact` of conditions, or another `word`.
    kind: str = "finding"
    topic: str = ""  # the background, if no topic names the entry itself


class Explained(NamedTuple):
    """A variable with all places that mention it."""

    name: str
    variable: Variable | None  # None if it is only known from profiles
    slips: tuple[str, ...]  # misspelt and old names of this variable
    uses: Sequence[Use]  # its values in profiles
    removed_by: Sequence[str]  # profiles that unset their family's value
    rules: tuple[str, ...]  # ids of log rules that name it


Ruled = LogRule | LintRule | PlainEntry
Explainable = Ruled | Explained


def said_findings(topics: Iterable[Topic]) -> dict[str, PlainEntry]:
    """Return the findings without a rule, by their ids."""
    return {
        name: PlainEntry(name, meaning)
        for topic in topics
        for name, meaning in topic.says.items()
    }


def words_known(topics: Iterable[Topic]) -> dict[str, PlainEntry]:
    """Return the explained terms: facts, verdicts, envcfg's own variables."""
    facts = {
        name: PlainEntry(
            name, f"{fact.about} ({fact.kind})", "fact", "facts and conditions"
        )
        for name, fact in FACTS.items()
    }
    terms = (term for topic in topics for term in topic.terms.items())
    return facts | {name: PlainEntry(name, meaning, "word") for name, meaning in terms}


def log_rules() -> dict[str, LogRule]:
    """Return the rules of logs and of hangs, by their ids."""
    return {rule.id: rule for rule in (*load_rules(), *stack_rules())} | hang_rules()


def in_groups(
    explainables: Sequence[Explainable], topics: list[Topic]
) -> dict[str, list[Ruled]]:
    """Return findings by the titles of their topics, variables left out."""
    groups: dict[str, list[Ruled]] = {}
    for explainable in explainables:
        if isinstance(explainable, Explained):
            continue
        if isinstance(explainable, LintRule):
            name = f"lint: {explainable.group}"
        else:
            topic = find_topic(topics, explainable.id, file_topic(explainable))
            group_name = "variables" if explainable.id.isupper() else "others"
            name = topic.name if topic else group_name
        groups.setdefault(name, []).append(explainable)
    return groups


def file_topic(entry: Ruled) -> str:
    """Return the topic that the file of a rule names; empty for rules of lint."""
    return "" if isinstance(entry, LintRule) else entry.topic


def words_of(entry: Ruled) -> tuple[str, ...]:
    """Return the texts of a finding, its meaning first."""
    if isinstance(entry, LogRule):
        return entry.meaning, entry.fix or "", entry.needle, *entry.samples
    if isinstance(entry, LintRule):
        return entry.why, entry.fix, entry.message
    return (entry.meaning,)
