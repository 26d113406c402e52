"""The explanations of ``explain``, as text and as JSON, and the lists of findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.core.explainable import (
    Explainable,
    Explained,
    Ruled,
    file_topic,
    in_groups,
)
from envcfg.knowledge.topics import Topic, find_topic
from envcfg.knowledge.variable_record import Variable, load_readers
from envcfg.knowledge.variables import load_variables
from envcfg.lint.lint_rule import LintRule, unfilled
from envcfg.log.read.rulebook import LogRule
from envcfg.profile.conditions import condition_suffix, condition_text
from envcfg.profile.look.survey import Use
from envcfg.report.document import fields_of, json_text, pick_fields
from envcfg.report.profile.profile_view import reason_lines
from envcfg.report.styled import Line, wrapped


class Background(NamedTuple):
    """The place of a finding among others."""

    topic: str  # of several findings; empty: unknown
    page: str
    reasons: tuple[str, ...]  # ids of findings that can cause this one
    explains: tuple[str, ...]  # ids of findings that this one can cause


def explained_lines(
    explainables: Sequence[Explainable],
    topics: list[Topic],
    rules: Mapping[str, LogRule],
) -> Iterator[Line]:
    """Yield the meaning of findings and variables.

    Args:
        rules: log rules by id, some of which are causes of other findings.
    """
    for number, explainable in enumerate(explainables):
        # An empty line separates entries, but does not precede the first.
        yield from [("", "")] if number else []
        if isinstance(explainable, Explained):
            yield from _variable_lines(explainable)
            continue
        if isinstance(explainable, LogRule):
            yield from _rule_lines(explainable)
        elif isinstance(explainable, LintRule):
            yield from _lint_lines(explainable)
        else:
            yield "bold", explainable.id
            yield from titled("meaning", explainable.meaning)
        behind = _behind(explainable, topics, rules)
        yield from titled("can be the reason", ", ".join(behind.reasons))
        yield from titled("can be the reason of", ", ".join(behind.explains))
        yield from titled("topic", behind.topic)
        yield from titled("background", behind.page)


def explained_json(
    explainables: Sequence[Explainable],
    topics: list[Topic],
    rules: Mapping[str, LogRule],
) -> str:
    """Return the explanations as JSON."""
    return json_text(
        [_data(explainable, topics, rules) for explainable in explainables],
        version=None,
    )


def _behind(
    entry: Ruled, topics: list[Topic], rules: Mapping[str, LogRule]
) -> Background:
    topic = find_topic(topics, entry.id, file_topic(entry))
    page = f"docs/lint/{entry.id}.md" if isinstance(entry, LintRule) else ""
    return Background(
        topic=topic.name if topic else "",
        page=topic.page if topic else page,
        reasons=tuple(rule.id for rule in rules.values() if entry.id in rule.explains),
        explains=entry.explains if isinstance(entry, LogRule) else (),
    )


def _data(
    entry: Explainable, topics: list[Topic], rules: Mapping[str, LogRule]
) -> dict[str, object]:
    if isinstance(entry, Explained):
        return _variable_data(entry)
    data: dict[str, object] = {"kind": "rule", **fields_of(entry)}
    data.pop("topic", None)  # the file's topic; "behind" has the effective one
    if isinstance(entry, LintRule):
        # Samples and messages with placeholders are of no use to a program.
        kept_names = ("id", "name", "group", "severity", "why", "fix", "source", "date")
        data = {"kind": "lint rule", **{name: data[name] for name in kept_names}}
        data["fix"] = unfilled(entry.fix)
    return {**data, "behind": _behind(entry, topics, rules)._asdict()}


def listing(explainables: Sequence[Explainable], topics: list[Topic]) -> Iterator[Line]:
    """Yield one line per finding with its meaning, grouped by topic."""
    for number, (name, members) in enumerate(in_groups(explainables, topics).items()):
        yield from [("", "")] if number else []
        yield "bold", name
        for member in members:
            if isinstance(member, LintRule):
                meaning = f"{member.name}: {member.why}"
            elif isinstance(member, LogRule):
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


def effect(rule: LogRule) -> str:
    """Return the severity of the lines that this rule recognises."""
    # The order matters: a benign rule may also have a severity.
    if rule.benign:
        return "harmless"
    if rule.consequence:
        return "error that follows from another"
    return rule.severity or ("evidence" if rule.samples else "an open question")


def _rule_lines(rule: LogRule) -> Iterator[Line]:
    """Yield the meaning of a rule, the remedy and the source."""
    yield "bold", f"{rule.id} ({effect(rule)})"
    versions = ", ".join(f"{library} {text}" for library, text in rule.versions.items())
    yield from titled("meaning", rule.meaning)
    yield from titled("fix", rule.fix)
    yield from titled("class", rule.class_)
    yield from titled("versions", versions)
    yield from titled("source", rule.source)
    # Samples let users compare the line with their own log.
    for sample in rule.samples:
        yield "dim", f"  as in: {sample.strip()}"


def _variable_lines(explained: Explained) -> Iterator[Line]:
    """Yield the meaning of a variable, its values, and its use in profiles."""
    variable = explained.variable
    if variable is None:
        yield (
            "bold",
            f"{explained.name}: profiles set it; nothing else is known about it",
        )
    # A name that no program reads has no values or defaults.
    elif not variable.is_read:
        yield "bold red", f"{explained.name}: no program reads this name"
        yield from titled("meaning", variable.meaning)
        yield from titled("instead", variable.instead or "leave it out")
    else:
        yield "bold", explained.name
        yield from titled("meaning", variable.meaning)
        yield from titled("takes", _takes(variable))
        yield from titled("default", variable.default)
        times = (variable.since, variable.deprecated, variable.removed)
        versions = zip(("since", "deprecated", "removed"), times, strict=True)
        yield from titled("versions", ", ".join(f"{w} {t}" for w, t in versions if t))
        for text in variable.history:
            yield from titled("releases", text)
        yield from titled("renamed", variable.renamed)
        yield from titled("read by", ", ".join(variable.read_by))
        for reader in variable.read_by:
            yield from titled(f"{reader} known to", load_readers()[reader].read_up_to)
    if variable:
        yield from titled("source", f"{variable.source}, {variable.date}")
        yield from titled("related", ", ".join(variable.related))
    yield from titled("not read, or old", ", ".join(explained.slips))
    yield from titled("log rules", ", ".join(explained.rules))
    for use in explained.uses:
        yield from _use_lines(explained.name, use)
    if explained.removed_by:
        yield "", f"  removed by: {', '.join(explained.removed_by)}"


def _lint_lines(rule: LintRule) -> Iterator[Line]:
    """Yield the fault of a lint rule, the reason, the remedy and its exceptions."""
    yield "bold", f"{rule.id} {rule.name} ({rule.severity})"
    yield from titled("group", rule.group)
    yield from titled("why", rule.why)
    yield from titled("fix", unfilled(rule.fix))
    yield from titled("source", f"{rule.source} ({rule.date})")
    yield "", "  found in"
    # The first sample is the shortest script with the fault.
    for line in rule.bad[0].script.rstrip().splitlines():
        yield "dim", f"    {line}"
    yield from titled("not reported", "; ".join(sample.shows for sample in rule.good))


def _variable_data(explained: Explained) -> dict[str, object]:
    """Return a variable for JSON."""
    variable = explained.variable
    fields = variable._asdict() if variable else {}
    return {
        "kind": "variable",
        "name": explained.name,
        "read": bool(variable and variable.is_read),
        **fields,
        **pick_fields(explained, "misspellings=slips rules"),
        "set_by": [
            {
                "value": use.value,
                "when": condition_text(use.when),
                **pick_fields(use, "otherwise bundle profiles"),
                **use.reason._asdict(),
            }
            for use in explained.uses
        ],
        "taken_back_by": explained.removed_by,
    }


def _use_lines(name: str, use: Use) -> Iterator[Line]:
    text = f"unsets {name}" if use.value is None else f"sets {name}={use.value}"
    text += condition_suffix(use.when, otherwise=use.otherwise)
    if use.bundle:
        text += f"  (bundle {use.bundle})"
    yield "green", f"  {text}"
    profiles = wrapped(f"profiles: {', '.join(use.profiles)}", "    ")
    yield from (("", line) for line in (*profiles, *reason_lines(use.reason, "    ")))


def _takes(variable: Variable) -> str:
    texts = [variable.type]
    if variable.values:
        texts.append("|".join(variable.values))
    if variable.type == "boolean" and variable.read_by:
        # Programs accept different words for a switch, so they are listed.
        on, off = variable.habits.turns_on, variable.habits.turns_off
        if on:
            texts.append(f"on: {', '.join(on)}; off: {', '.join(off)}")
    if variable.min is not None or variable.max is not None:
        low = "" if variable.min is None else f"from {variable.min}"
        high = "" if variable.max is None else f"to {variable.max}"
        texts.append(f"{low} {high}".strip())
    if variable.also:
        texts.append(f"also {', '.join(variable.also)}")
    if variable.legacy:
        old = (f"{word} for {right}" for word, right in variable.legacy.items())
        texts.append(f"old: {', '.join(old)}")
    return "; ".join(texts)


def titled(title: str, text: str | None) -> Iterator[Line]:
    """Yield a text with its title, wrapped; nothing without a text."""
    if text:
        yield from (("", line) for line in wrapped(f"{title}: {text}", "  ", "    "))
