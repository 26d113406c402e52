"""The background of a finding for ``explain``: explanations and further commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.common.characters import printable
from envcfg.core.explainable import (
    Explainable,
    Explained,
    PlainEntry,
    Ruled,
    file_topic,
    in_groups,
    log_rules,
    said_findings,
    words_of,
)
from envcfg.knowledge.topics import Topic, find_topic, load_topics
from envcfg.knowledge.variable_record import Variable
from envcfg.knowledge.variables import load_variables
from envcfg.lint.lint_rule import Rule as LintRule
from envcfg.lint.lint_rule import load_rules as load_lint_rules
from envcfg.lint.lint_rule import unfilled
from envcfg.log.rulebook import Rule
from envcfg.report.document import fields_of, json_text
from envcfg.report.explanation_report import (
    effect,
    lint_lines,
    rule_lines,
    titled,
    variable_data,
    variable_lines,
)
from envcfg.report.styled import Line, wrapped

_NAME = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")


class Background(NamedTuple):
    """The background of a finding.

    Attributes:
        topic: the common topic of several findings; empty: unknown.
        background: the knowledge needed to understand the finding.
        look: commands and places with more information.
        variables: known variables that concern it.
        related: ids of similar findings.
        reasons: ids of findings that can cause this one.
        explains: ids of findings that this one can cause.
        source: the source, with its date.
    """

    topic: str = ""
    background: str = ""
    look: tuple[str, ...] = ()
    variables: tuple[Variable, ...] = ()
    related: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    source: str = ""


def described(names: Iterable[str]) -> list[dict[str, object]]:
    """Return the descriptions of findings for SARIF; an unknown finding has only its id.

    A finding with a web page as source has it for further help.
    """
    topics = load_topics()
    # Lint rules come last, because their descriptions are the most detailed.
    explained_rules: dict[str, Ruled] = {
        **log_rules(),
        **said_findings(topics),
        **load_lint_rules(),
    }
    return [
        {"id": name, **_descriptor(explained_rules[name], topics)}
        if name in explained_rules
        else {"id": name}
        for name in names
    ]


def _descriptor(entry: Ruled, topics: list[Topic]) -> dict[str, object]:
    meaning, *_ = words_of(entry)
    title, fix, source = meaning, None, ""
    if not isinstance(entry, PlainEntry):
        fix, source = entry.fix, entry.source
    data: dict[str, object] = {}
    if isinstance(entry, LintRule):
        data, fix = {"name": entry.name}, unfilled(entry.fix)
        title = unfilled(entry.message)
    topic = find_topic(topics, entry.id, file_topic(entry))
    behind = topic.background if topic else ""
    more = f"envcfg explain {entry.id} says more."
    texts = {
        # A short description is one clause; SARIF viewers show it in a list.
        "shortDescription": re.split(r"[.;:] ", " ".join(title.split()))[0],
        "fullDescription": meaning,
        "help": "\n\n".join(filter(None, (fix, behind, more))),
    }
    data |= {key: {"text": printable(text)} for key, text in texts.items()}
    # SARIF needs a URL, but sources may also name a file or commit.
    if page := re.search(r"https://[^\s;,()]+", source):
        data["helpUri"] = page[0]
    return data


def find_behind(
    entry: Ruled,
    topics: list[Topic],
    rules: Mapping[str, Rule],
    known: Mapping[str, Variable],
) -> Background:
    """Return the background of one finding; *rules* map each symptom to its possible
    causes."""
    topic = find_topic(topics, entry.id, file_topic(entry))
    # Variables in the finding's texts come first, because they are closest to it.
    names = dict.fromkeys(_NAME.findall("\n".join(words_of(entry))))
    more = topic.variables if topic else ()
    variables = [
        known[name] for name in dict.fromkeys([*names, *more]) if name in known
    ]
    if topic is None:
        return Background(variables=tuple(variables))
    return Background(
        topic=topic.name,
        background=topic.background,
        look=topic.look,
        variables=tuple(variables),
        related=tuple(name for name in topic.related if name != entry.id),
        reasons=tuple(rule.id for rule in rules.values() if entry.id in rule.explains),
        explains=entry.explains if isinstance(entry, Rule) else (),
        source=f"{topic.source}, {topic.date}",
    )


def behind_lines(background: Background) -> Iterator[Line]:
    """Yield the background of a finding."""
    yield from titled("background", background.background)
    if background.look:
        yield "", "  look further:"
    for command in background.look:
        yield from _indented(command)
    if background.variables:
        yield "", "  variables:"
    for variable in background.variables:
        since = f" (since {variable.since})" if variable.since else ""
        yield from _indented(f"{variable.name}{since}: {variable.meaning}")
    yield from titled("can be the reason", ", ".join(background.reasons))
    yield from titled("can be the reason of", ", ".join(background.explains))
    yield from titled("related", ", ".join(background.related))
    yield from titled("topic", background.topic)
    yield from titled("background from", background.source)


def _indented(text: str) -> Iterator[Line]:
    yield from (("", line) for line in wrapped(text, "    ", "      "))


def explained_lines(
    explainables: Sequence[Explainable], topics: list[Topic], rules: Mapping[str, Rule]
) -> Iterator[Line]:
    """Yield the meaning of findings and variables, with their background."""
    variables = load_variables()
    for number, explainable in enumerate(explainables):
        # An empty line separates entries, but does not precede the first.
        yield from [("", "")] if number else []
        if isinstance(explainable, Explained):
            yield from variable_lines(explainable)
            continue
        if isinstance(explainable, Rule):
            yield from rule_lines(explainable)
        elif isinstance(explainable, LintRule):
            yield from lint_lines(explainable)
        else:
            yield "bold", explainable.id
            yield from titled("meaning", explainable.meaning)
        yield from behind_lines(find_behind(explainable, topics, rules, variables))


def explained_json(
    explainables: Sequence[Explainable], topics: list[Topic], rules: Mapping[str, Rule]
) -> str:
    """Return the explanations as JSON; background variables only by name."""
    return json_text(
        [_data(explainable, topics, rules) for explainable in explainables]
    )


def _data(
    entry: Explainable, topics: list[Topic], rules: Mapping[str, Rule]
) -> dict[str, object]:
    if isinstance(entry, Explained):
        return variable_data(entry)
    data: dict[str, object] = {"kind": "rule", **fields_of(entry)}
    data.pop("topic", None)  # the file's topic; the effective one is in the background
    if isinstance(entry, LintRule):
        # Samples and messages with placeholders are of no use to a program.
        kept_names = ("id", "name", "group", "severity", "why", "fix", "source", "date")
        data = {"kind": "lint rule", **{name: data[name] for name in kept_names}}
        data["fix"] = unfilled(entry.fix)
    behind = find_behind(entry, topics, rules, load_variables())
    names = [variable.name for variable in behind.variables]
    return {**data, "behind": {**behind._asdict(), "variables": names}}


def listing(explainables: Sequence[Explainable], topics: list[Topic]) -> Iterator[Line]:
    """Yield one line per finding with its meaning, grouped by topic."""
    for number, (name, members) in enumerate(in_groups(explainables, topics).items()):
        yield from [("", "")] if number else []
        yield "bold", name
        for member in members:
            if isinstance(member, LintRule):
                meaning = f"{member.name}: {member.why}"
            elif isinstance(member, Rule):
                meaning = f"{effect(member)}: {member.meaning}"
            else:
                meaning = member.meaning
            yield "", f"  {member.id:<34} {meaning}"


def index(explainables: Sequence[Explainable], topics: list[Topic]) -> Iterator[Line]:
    """Yield the groups of findings and words, with their size and first entries."""
    yield "bold", "envcfg explain NAME, or words to search for, or one of these groups:"
    for name, members in in_groups(explainables, topics).items():
        first = ", ".join(member.id for member in members[:2])
        more = ", ..." if len(members) > 2 else ""
        yield "", f"  {name:<42} {len(members):>4}  {first}{more}"
    yield "", f"  {'variables':<42} {len(load_variables()):>4}  by their names"
