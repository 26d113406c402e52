"""What a rule or a variable means, as text and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from envcfg.knowledge.record import Variable
from envcfg.lint.rule import Rule as LintRule
from envcfg.lint.rule import unfilled
from envcfg.log.rulebook import Rule
from envcfg.profile.conditions import condition_text
from envcfg.profile.look.survey import Use, Uses
from envcfg.report.profile.view import reason_lines
from envcfg.report.styled import Line, wrapped


class Explained(NamedTuple):
    """A variable with all that mentions it.

    Attributes:
        variable: None where nothing is known but that profiles set it.
        slips: names that are meant to be this one, and its old names.
        rules: ids of log rules that name it.
    """

    name: str
    variable: Variable | None
    slips: tuple[str, ...]
    uses: Uses
    rules: tuple[str, ...]


def effect(rule: Rule) -> str:
    """Return what a line that this rule recognises is worth."""
    if rule.benign:
        return "harmless"
    if rule.consequence:
        return "error that follows from another"
    return rule.severity or ("evidence" if rule.samples else "an open question")


def rule_lines(rule: Rule) -> Iterator[Line]:
    """Yield what a rule means, what to do, and who says so."""
    yield "bold", f"{rule.id} ({effect(rule)})"
    versions = ", ".join(f"{library} {text}" for library, text in rule.versions.items())
    yield from titled("meaning", rule.meaning)
    yield from titled("fix", rule.fix)
    yield from titled("versions", versions)
    yield from titled("source", rule.source)
    for sample in rule.samples:
        yield "dim", f"  as in: {sample.strip()}"


def variable_lines(found: Explained) -> Iterator[Line]:
    """Yield what a variable means, what it takes, and what profiles do with it."""
    variable = found.variable
    if variable is None:
        yield "bold", f"{found.name}: profiles set it; nothing else is known about it"
    elif not variable.is_read:
        yield "bold red", f"{found.name}: no program reads this name"
        yield from titled("meaning", variable.meaning)
        yield from titled("instead", variable.instead or "leave it out")
    else:
        yield "bold", found.name
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
    if variable:
        yield from titled("source", f"{variable.source}, {variable.date}")
        yield from titled("related", ", ".join(variable.related))
    yield from titled("not read, or old", ", ".join(found.slips))
    yield from titled("log rules", ", ".join(found.rules))
    for use in found.uses.uses:
        yield from _use_lines(found.name, use)
    if found.uses.taken_back:
        yield "", f"  removed by: {', '.join(found.uses.taken_back)}"


def lint_lines(rule: LintRule) -> Iterator[Line]:
    """Yield what a rule of lint finds, why, what to do, and what it leaves alone."""
    yield "bold", f"{rule.id} {rule.name} ({rule.severity})"
    yield from titled("group", rule.group)
    yield from titled("why", rule.why)
    yield from titled("fix", unfilled(rule.fix))
    yield from titled("source", f"{rule.source} ({rule.date})")
    yield "", "  found in"
    for line in rule.bad[0].script.rstrip().splitlines():
        yield "dim", f"    {line}"
    yield from titled("not", "; ".join(each.shows for each in rule.good))


def variable_data(found: Explained) -> dict[str, object]:
    """Return a variable for JSON."""
    variable = found.variable
    known = variable._asdict() if variable else {}
    return {
        "kind": "variable",
        "name": found.name,
        "read": bool(variable and variable.is_read),
        **known,
        "misspellings": list(found.slips),
        "rules": list(found.rules),
        "set_by": [
            {
                "value": use.value,
                "when": condition_text(use.when),
                "otherwise": use.otherwise,
                "bundle": use.bundle,
                "profiles": list(use.profiles),
                **use.reason._asdict(),
            }
            for use in found.uses.uses
        ],
        "taken_back_by": list(found.uses.taken_back),
    }


def _use_lines(name: str, use: Use) -> Iterator[Line]:
    when = condition_text(use.when)
    said = f"unsets {name}" if use.value is None else f"sets {name}={use.value}"
    said += "  if no case applies" if use.otherwise else f"  if {when}" if when else ""
    if use.bundle:
        said += f"  (bundle {use.bundle})"
    yield "green", f"  {said}"
    profiles = wrapped(f"profiles: {', '.join(use.profiles)}", "    ")
    yield from (("", line) for line in (*profiles, *reason_lines(use.reason, "    ")))


def _takes(variable: Variable) -> str:
    said = [variable.type]
    if variable.values:
        said.append("|".join(variable.values))
    if variable.type == "boolean" and variable.read_by:
        on, off = variable.habits.turns_on, variable.habits.turns_off
        if on:
            said.append(f"on: {', '.join(on)}; off: {', '.join(off)}")
    if variable.min is not None or variable.max is not None:
        low = "" if variable.min is None else f"from {variable.min}"
        high = "" if variable.max is None else f"to {variable.max}"
        said.append(f"{low} {high}".strip())
    if variable.also:
        said.append(f"also {', '.join(variable.also)}")
    if variable.legacy:
        old = (f"{word} for {right}" for word, right in variable.legacy.items())
        said.append(f"old: {', '.join(old)}")
    return "; ".join(said)


def titled(title: str, text: str | None) -> Iterator[Line]:
    """Yield a titled text, wrapped; nothing where there is none."""
    if text:
        yield from (("", line) for line in wrapped(f"{title}: {text}", "  ", "    "))
