"""What ``explain`` adds to a finding: what stands behind it, and where to look further."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.characters import printable
from envcfg.hang.rules import hang_rules
from envcfg.knowledge.record import Variable
from envcfg.knowledge.topics import Topic, find_topic, load_topics
from envcfg.knowledge.variables import load_variables
from envcfg.lint.rule import Rule as LintRule
from envcfg.lint.rule import load_rules as load_lint_rules
from envcfg.lint.rule import unfilled
from envcfg.log.rulebook import Rule, load_rules, stack_rules
from envcfg.profile.conditions import FACTS
from envcfg.report.document import json_text
from envcfg.report.explanation import (
    Explained,
    effect,
    lint_lines,
    rule_lines,
    titled,
    variable_data,
    variable_lines,
)
from envcfg.report.styled import Line, wrapped

_NAME = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")


class Said(NamedTuple):
    """What no rule says: what a finding with words of its own means, or another word.

    Attributes:
        kind: ``finding``, ``fact`` of conditions, ``partition``, or another ``word``.
        topic: what stands behind it, where no topic names it itself.
    """

    id: str
    meaning: str
    kind: str = "finding"
    topic: str = ""


class Behind(NamedTuple):
    """What belongs to a finding and does not stand in it.

    Attributes:
        topic: what it has in common with others; empty: nothing is known.
        background: what one has to know to understand it.
        look: commands and places that show more.
        variables: that have to do with it, and are known.
        related: ids of findings that are close to it.
        reasons: ids of findings that can be the reason of this one.
        explains: ids of findings whose reason this one can be.
        source: who says so, with the date.
    """

    topic: str = ""
    background: str = ""
    look: tuple[str, ...] = ()
    variables: tuple[Variable, ...] = ()
    related: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    source: str = ""


Ruled = Rule | LintRule | Said
Explainable = Ruled | Explained


def said_findings(topics: Iterable[Topic]) -> dict[str, Said]:
    """Return the findings whose words stand in no rule, by their ids."""
    return {
        name: Said(name, meaning)
        for topic in topics
        for name, meaning in topic.says.items()
    }


def words_known(topics: Iterable[Topic]) -> dict[str, Said]:
    """Return what is not a finding and means something: facts, verdicts, own variables."""
    facts = {
        name: Said(name, f"{each.about} ({each.kind})", "fact", "facts and conditions")
        for name, each in FACTS.items()
    }
    terms = (each for topic in topics for each in topic.terms.items())
    return facts | {name: Said(name, meaning, "word") for name, meaning in terms}


def log_rules() -> dict[str, Rule]:
    """Return the rules of logs and of hangs, by their ids."""
    return {rule.id: rule for rule in (*load_rules(), *stack_rules())} | hang_rules()


def described(names: Iterable[str]) -> list[dict[str, object]]:
    """Return what findings mean as SARIF has it; of one that nobody knows, its id.

    Whose source is a page has that for further help.
    """
    topics = load_topics()
    known: dict[str, Ruled] = {
        **log_rules(),
        **said_findings(topics),
        **load_lint_rules(),
    }
    return [
        {"id": name, **_descriptor(known[name], topics)}
        if name in known
        else {"id": name}
        for name in names
    ]


def _descriptor(found: Ruled, topics: list[Topic]) -> dict[str, object]:
    meaning, *_ = words_of(found)
    title, fix, source = meaning, None, ""
    if not isinstance(found, Said):
        fix, source = found.fix, found.source
    data: dict[str, object] = {}
    if isinstance(found, LintRule):
        data, fix = {"name": found.name}, unfilled(found.fix)
        title = unfilled(found.message)
    topic = find_topic(topics, found.id, _file_topic(found))
    behind = topic.background if topic else ""
    more = f"envcfg explain {found.id} says more."
    texts = {
        "shortDescription": re.split(r"[.;:] ", " ".join(title.split()))[0],
        "fullDescription": meaning,
        "help": "\n\n".join(filter(None, (fix, behind, more))),
    }
    data |= {key: {"text": printable(text)} for key, text in texts.items()}
    if page := re.search(r"https://[^\s;,()]+", source):
        data["helpUri"] = page[0]
    return data


def find_behind(
    found: Ruled,
    topics: list[Topic],
    rules: Mapping[str, Rule],
    known: Mapping[str, Variable],
) -> Behind:
    """Return what stands behind one finding; *rules* say what is the reason of what."""
    topic = find_topic(topics, found.id, _file_topic(found))
    named = dict.fromkeys(_NAME.findall("\n".join(words_of(found))))
    more = topic.variables if topic else ()
    variables = [
        known[name] for name in dict.fromkeys([*named, *more]) if name in known
    ]
    if topic is None:
        return Behind(variables=tuple(variables))
    return Behind(
        topic=topic.name,
        background=topic.background,
        look=topic.look,
        variables=tuple(variables),
        related=tuple(name for name in topic.related if name != found.id),
        reasons=tuple(each.id for each in rules.values() if found.id in each.explains),
        explains=found.explains if isinstance(found, Rule) else (),
        source=f"{topic.source}, {topic.date}",
    )


def behind_lines(found: Behind) -> Iterator[Line]:
    """Yield what stands behind a finding."""
    yield from titled("background", found.background)
    if found.look:
        yield "", "  look further:"
    for each in found.look:
        yield from _indented(each)
    if found.variables:
        yield "", "  variables:"
    for variable in found.variables:
        since = f" (since {variable.since})" if variable.since else ""
        yield from _indented(f"{variable.name}{since}: {variable.meaning}")
    yield from titled("can be the reason", ", ".join(found.reasons))
    yield from titled("can be the reason of", ", ".join(found.explains))
    yield from titled("related", ", ".join(found.related))
    yield from titled("topic", found.topic)
    yield from titled("background from", found.source)


def _indented(text: str) -> Iterator[Line]:
    yield from (("", line) for line in wrapped(text, "    ", "      "))


def explained_lines(
    found: Sequence[Explainable], topics: list[Topic], rules: Mapping[str, Rule]
) -> Iterator[Line]:
    """Yield what findings and variables mean, and what stands behind them."""
    known = load_variables()
    for number, each in enumerate(found):
        yield from [("", "")] if number else []
        if isinstance(each, Explained):
            yield from variable_lines(each)
            continue
        if isinstance(each, Rule):
            yield from rule_lines(each)
        elif isinstance(each, LintRule):
            yield from lint_lines(each)
        else:
            yield "bold", each.id
            yield from titled("meaning", each.meaning)
        yield from behind_lines(find_behind(each, topics, rules, known))


def explained_json(
    found: Sequence[Explainable], topics: list[Topic], rules: Mapping[str, Rule]
) -> str:
    """Return the same as JSON; of variables behind a finding their names."""
    return json_text([_data(each, topics, rules) for each in found])


def _data(
    found: Explainable, topics: list[Topic], rules: Mapping[str, Rule]
) -> dict[str, object]:
    if isinstance(found, Explained):
        return variable_data(found)
    data: dict[str, object] = {"kind": "rule", **found._asdict()}
    data.pop("topic", None)  # that of its file; the one that counts is behind it
    if isinstance(found, LintRule):
        kept = ("id", "name", "group", "severity", "why", "fix", "source", "date")
        data = {"kind": "lint rule", **{name: data[name] for name in kept}}
        data["fix"] = unfilled(found.fix)
    behind = find_behind(found, topics, rules, load_variables())
    names = [each.name for each in behind.variables]
    return {**data, "behind": {**behind._asdict(), "variables": names}}


def listing(found: Sequence[Explainable], topics: list[Topic]) -> Iterator[Line]:
    """Yield findings with what they mean, one line each, below their topics."""
    for number, (name, members) in enumerate(in_groups(found, topics).items()):
        yield from [("", "")] if number else []
        yield "bold", name
        for each in members:
            if isinstance(each, LintRule):
                meaning = f"{each.name}: {each.why}"
            elif isinstance(each, Rule):
                meaning = f"{effect(each)}: {each.meaning}"
            else:
                meaning = each.meaning
            yield "", f"  {each.id:<34} {meaning}"


def index(found: Sequence[Explainable], topics: list[Topic]) -> Iterator[Line]:
    """Yield the groups of findings and words, with how many each has, and the first."""
    yield "bold", "envcfg explain NAME, or words to search for, or one of these groups:"
    for name, members in in_groups(found, topics).items():
        first = ", ".join(each.id for each in members[:2])
        more = ", ..." if len(members) > 2 else ""
        yield "", f"  {name:<42} {len(members):>4}  {first}{more}"
    yield "", f"  {'variables':<42} {len(load_variables()):>4}  by their names"


def in_groups(
    found: Sequence[Explainable], topics: list[Topic]
) -> dict[str, list[Ruled]]:
    """Return findings by the titles of their topics, variables left out."""
    groups: dict[str, list[Ruled]] = {}
    for each in found:
        if isinstance(each, Explained):
            continue
        if isinstance(each, LintRule):
            name = f"lint: {each.group}"
        else:
            topic = find_topic(topics, each.id, _file_topic(each))
            other = "variables" if each.id.isupper() else "others"
            name = topic.name if topic else other
        groups.setdefault(name, []).append(each)
    return groups


def _file_topic(found: Ruled) -> str:
    return "" if isinstance(found, LintRule) else found.topic


def words_of(found: Ruled) -> tuple[str, ...]:
    """Return what a finding says: its meaning first."""
    if isinstance(found, Rule):
        return found.meaning, found.fix or "", found.needle, *found.samples
    if isinstance(found, LintRule):
        return found.why, found.fix, found.message
    return (found.meaning,)
