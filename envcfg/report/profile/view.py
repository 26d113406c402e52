"""A resolved profile, with every value's place, reason and condition; two, compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from envcfg.profile.conditions import condition_text
from envcfg.profile.evidence import DEFAULT, cited, evidence_of
from envcfg.profile.facts import Reason
from envcfg.profile.look.difference import Difference, Side
from envcfg.profile.look.view import State, Value, View
from envcfg.report.document import json_text
from envcfg.report.styled import Line, wrapped

_STYLES = {
    State.HOLDS: "green",
    State.NOT: "dim",
    State.PASSED: "dim",
    State.IN_JOB: "cyan",
    State.UNDECIDED: "yellow",
}


def view_lines(view: View) -> Iterator[Line]:
    """Yield the profile for people, section by section."""
    yield "bold", f"profile {view.profile.name}"
    yield "", f"  files, lowest first: {', '.join(view.files)}"
    known = ", ".join(f"{name}={value}" for name, value in sorted(view.facts.items()))
    yield "", f"  facts: {known or 'none'}"
    if missing := dict.fromkeys(fact for each in view.values for fact in each.missing):
        yield "yellow", f"  needed, but unknown: {', '.join(missing)}"
    for section, values in groupby(view.values, lambda each: each.section):
        yield "", ""
        yield "bold", section
        last: Reason | None = None
        for reason, same in groupby(values, lambda each: each.reason):
            for each in same:
                anyway = f"  ({DEFAULT})" if _evidence(each) == DEFAULT else ""
                yield _STYLES[each.state], f"  {_value(each)}{anyway}"
                if reason is None:
                    yield "dim", f"      [{each.place.path}:{each.place.line}]"
            if reason is not None and reason is not last:
                yield from (("dim", line) for line in reason_lines(reason))
            last = reason
    if view.taken_back:
        yield "", ""
        yield "bold", "taken back"
    for gone in view.taken_back:
        was = f", stands in {gone.was.path}:{gone.was.line}" if gone.was else ""
        name = f"{gone.section} {gone.name}".rstrip()
        yield "", f"  {name} [{gone.place.path}:{gone.place.line}]{was}"


def view_json(view: View) -> str:
    """Return the profile as JSON; ``schema_version`` counts incompatible changes."""
    document = {
        "schema_version": 1,
        "profile": view.profile.name,
        "files": list(view.files),
        "facts": dict(view.facts),
        "values": [
            {
                "section": each.section,
                "name": each.name,
                "value": each.text,
                "when": condition_text(each.when),
                "otherwise": each.otherwise,
                "state": each.state.value,
                "missing": list(each.missing),
                "place": each.place,
                "why": each.reason and each.reason.why,
                "source": each.reason and each.reason.source,
                "date": each.reason and each.reason.date,
                "evidence": _evidence(each),
            }
            for each in view.values
        ],
        "taken_back": [
            {
                "section": each.section,
                "name": each.name,
                "place": each.place,
                "was": each.was,
            }
            for each in view.taken_back
        ],
    }
    return json_text(document)


def reason_lines(reason: Reason, indent: str = "      ") -> Iterator[str]:
    """Yield reasons and sources, since when and where."""
    place = f"[{reason.place.path}:{reason.place.line}]"
    for text in (f"{reason.why} {place}", cited(reason)):
        yield from wrapped(text, indent)


def _evidence(each: Value) -> str | None:
    source = each.reason and each.reason.source
    return evidence_of(each.section, each.name, each.text, source) if source else None


def _value(each: Value) -> str:
    said = _said(each.section, each.name, each.text)
    if each.otherwise:
        return f"{said}  if no case applies"
    state = str(each.state.value)
    if each.state is State.UNDECIDED:
        state = f"undecided: {', '.join(each.missing)} not known"
    if when := condition_text(each.when):
        return f"{said}  if {when} ({state})"
    return said if each.state is State.HOLDS else f"{said}  ({state})"


def _said(section: str, name: str, text: str | None) -> str:
    if section != "env":
        return f"{name} {text or ''}".strip()
    return f"unset {name}" if text is None else f"{name}={text}"


def diff_lines(old: str, new: str, found: Sequence[Difference]) -> Iterator[Line]:
    """Yield what differs: ``-`` stands in *old*, ``+`` in *new*."""
    if not found:
        return
    yield "bold", f"--- {old}"
    yield "bold", f"+++ {new}"
    for section, entries in groupby(found, lambda each: each.section):
        yield "", ""
        yield "bold", section
        for each in entries:
            for side in each.old:
                yield "red", f"- {_line(each, side)}"
            for side in each.new:
                yield "green", f"+ {_line(each, side)}"


def diff_json(old: str, new: str, found: Sequence[Difference]) -> str:
    """Return the differences as JSON; ``schema_version`` counts incompatible changes."""
    document = {
        "schema_version": 1,
        "old": old,
        "new": new,
        "differences": [
            {
                "section": each.section,
                "name": each.name,
                "kind": each.kind,
                "old": [_side(side) for side in each.old],
                "new": [_side(side) for side in each.new],
            }
            for each in found
        ],
    }
    return json_text(document)


def _line(entry: Difference, side: Side) -> str:
    when = condition_text(side.when)
    held = "  if no case applies" if side.otherwise else f"  if {when}" if when else ""
    said = _said(entry.section, entry.name, side.text)
    return f"{said}{held}  [{side.place.path}:{side.place.line}]"


def _side(side: Side) -> dict[str, object]:
    return {
        "value": side.text,
        "when": condition_text(side.when),
        "otherwise": side.otherwise,
        "place": side.place,
    }
