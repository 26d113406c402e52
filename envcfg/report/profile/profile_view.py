"""A resolved profile, with every value's place, reason and condition; two, compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from envcfg.profile.conditions import condition_suffix, condition_text
from envcfg.profile.evidence import DEFAULT, cited, evidence_of
from envcfg.profile.job_facts import Reason
from envcfg.profile.look.difference import Difference
from envcfg.profile.look.value_list import Value, ValueState, View
from envcfg.report.document import json_text, pick_fields
from envcfg.report.styled import Line, wrapped

_STYLES = {
    ValueState.HOLDS: "green",
    ValueState.NOT: "dim",
    ValueState.PASSED: "dim",
    ValueState.IN_JOB: "cyan",
    ValueState.UNDECIDED: "yellow",
}


def view_lines(view: View) -> Iterator[Line]:
    """Yield the profile for readers, section by section."""
    yield "bold", f"profile {view.profile.name}"
    if view.profile.kind:
        yield "", f"  kind of node: {view.profile.kind}"
    yield "", f"  files, lowest first: {', '.join(view.files)}"
    facts_text = ", ".join(
        f"{name}={value}" for name, value in sorted(view.facts.items())
    )
    yield "", f"  facts: {facts_text or 'none'}"
    # Unknown facts come first: with them, the user can decide the open conditions.
    if missing := dict.fromkeys(
        fact for value in view.values for fact in value.missing
    ):
        yield "yellow", f"  needed, but unknown: {', '.join(missing)}"
    for section, values in groupby(view.values, lambda value: value.section):
        yield "", ""
        yield "bold", section
        last: Reason | None = None
        # Values with the same reason are grouped, so that the reason is printed
        # once.
        for reason, same in groupby(values, lambda value: value.reason):
            for each in same:
                anyway = f"  ({DEFAULT})" if _evidence(each) == DEFAULT else ""
                yield _STYLES[each.state], f"  {_value(each)}{anyway}"
                if reason is None:
                    # A value without a reason still has a place.
                    yield "dim", f"      [{each.place.path}:{each.place.line}]"
            if reason is not None and reason is not last:
                yield from (("dim", line) for line in reason_lines(reason))
            last = reason
    if view.taken_back:
        yield "", ""
        yield "bold", "taken back"
    # The old place shows which file would apply without the null.
    for gone in view.taken_back:
        was = f", stands in {gone.was.path}:{gone.was.line}" if gone.was else ""
        name = f"{gone.section} {gone.name}".rstrip()
        yield "", f"  {name} [{gone.place.path}:{gone.place.line}]{was}"


def view_json(view: View) -> str:
    """Return the profile as JSON."""
    return json_text(
        {
            "profile": view.profile.name,
            "kind": view.profile.kind and view.profile.kind.document,
            **pick_fields(view, "files facts"),
            "values": [
                {
                    **pick_fields(value, "section name value=text"),
                    "when": condition_text(value.when),
                    "otherwise": value.otherwise,
                    "state": value.state.value,
                    **pick_fields(value, "missing place"),
                    "why": value.reason and value.reason.why,
                    "source": value.reason and value.reason.source,
                    "date": value.reason and value.reason.date,
                    "evidence": _evidence(value),
                }
                for value in view.values
            ],
            "taken_back": view.taken_back,
        }
    )


def reason_lines(reason: Reason, indent: str = "      ") -> Iterator[str]:
    """Yield the reason and its source, with date and place."""
    place = f"[{reason.place.path}:{reason.place.line}]"
    for text in (f"{reason.why} {place}", cited(reason)):
        yield from wrapped(text, indent)


def _evidence(value: Value) -> str | None:
    source = value.reason and value.reason.source
    return (
        evidence_of(value.section, value.name, value.text, source) if source else None
    )


def _value(value: Value) -> str:
    text = (
        f"{value.assignment}{condition_suffix(value.when, otherwise=value.otherwise)}"
    )
    if value.otherwise:  # its state follows from the other cases
        return text
    state = str(value.state.value)
    if value.state is ValueState.UNDECIDED:
        state = f"undecided: {', '.join(value.missing)} not known"
    if value.when:
        return f"{text} ({state})"
    return text if value.state is ValueState.HOLDS else f"{text}  ({state})"


def diff_lines(old: str, new: str, differences: Sequence[Difference]) -> Iterator[Line]:
    """Yield the differences: ``-`` for *old*, ``+`` for *new*."""
    if not differences:
        return
    yield "bold", f"--- {old}"
    yield "bold", f"+++ {new}"
    for section, entries in groupby(differences, lambda difference: difference.section):
        yield "", ""
        yield "bold", section
        for entry in entries:
            yield from (("red", f"- {text}") for text in entry.old)
            yield from (("green", f"+ {text}") for text in entry.new)
