"""What ``explain`` adds to a finding: what stands behind it, and where to look further."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.knowledge.topics import Topic, find_topic
from envcfg.knowledge.variables import Variable
from envcfg.lint.rule import Rule as LintRule
from envcfg.log.rulebook import Rule
from envcfg.report.explanation import WIDTH, effect, titled
from envcfg.report.styled import Line

_NAME = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_INDENT = "    "


class Said(NamedTuple):
    """A finding that writes its own words each time; here is what they mean."""

    id: str
    meaning: str


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


def said_findings(topics: Iterable[Topic]) -> dict[str, Said]:
    """Return the findings whose words stand in no rule, by their ids."""
    return {
        name: Said(name, meaning)
        for topic in topics
        for name, meaning in topic.says.items()
    }


def find_behind(
    found: Ruled,
    topics: list[Topic],
    rules: Mapping[str, Rule],
    known: Mapping[str, Variable],
) -> Behind:
    """Return what stands behind one finding.

    Args:
        found: its rule, or what it means.
        topics: all that there are.
        rules: of logs, by their ids; they say what is the reason of what.
        known: the known variables.
    """
    topic = find_topic(topics, found.id, _file_topic(found))
    named = dict.fromkeys(_NAME.findall("\n".join(_words(found))))
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
        yield from _wrapped(each, _INDENT)
    if found.variables:
        yield "", "  variables:"
    for variable in found.variables:
        since = f" (since {variable.since})" if variable.since else ""
        yield from _wrapped(f"{variable.name}{since}: {variable.meaning}", _INDENT)
    yield from titled("can be the reason", ", ".join(found.reasons))
    yield from titled("can be the reason of", ", ".join(found.explains))
    yield from titled("related", ", ".join(found.related))
    yield from titled("topic", found.topic)
    yield from titled("background from", found.source)


def behind_data(found: Behind) -> dict[str, object]:
    """Return what stands behind a finding for JSON; of variables their names."""
    return {**found._asdict(), "variables": [each.name for each in found.variables]}


def said_lines(found: Said) -> Iterator[Line]:
    """Yield what a finding means that writes its own words."""
    yield "bold", found.id
    yield from titled("meaning", found.meaning)


def said_data(found: Said) -> dict[str, object]:
    """Return such a finding for JSON."""
    return {"kind": "finding", **found._asdict()}


def listing(found: Sequence[Ruled], topics: list[Topic]) -> Iterator[Line]:
    """Yield all findings with what they mean, one line each, below their topics."""
    groups: dict[str, list[Ruled]] = {}
    for each in found:
        if isinstance(each, LintRule):
            name = f"lint: {each.group}"
        else:
            topic = find_topic(topics, each.id, _file_topic(each))
            name = topic.name if topic else "others"
        groups.setdefault(name, []).append(each)
    for number, (name, members) in enumerate(groups.items()):
        yield from [("", "")] if number else []
        yield "bold", name
        for each in members:
            yield "", f"  {each.id:<34} {_meaning(each)}"


def _file_topic(found: Ruled) -> str:
    return found.topic if isinstance(found, Rule) else ""


def _meaning(found: Ruled) -> str:
    if isinstance(found, LintRule):
        return f"{found.name}: {found.why}"
    if isinstance(found, Rule):
        return f"{effect(found)}: {found.meaning}"
    return found.meaning


def _words(found: Ruled) -> tuple[str, ...]:
    if isinstance(found, Rule):
        return found.meaning, found.fix or "", found.needle, *found.samples
    if isinstance(found, LintRule):
        return found.why, found.fix, found.message
    return (found.meaning,)


def _wrapped(text: str, first: str) -> Iterator[Line]:
    for line in textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=f"{first}  ",
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield "", line
