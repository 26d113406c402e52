"""Add the report of a probe to a profile, as the record of that run."""

from __future__ import annotations

import re
from typing import Any

from envcfg.common.errors import FindingsError, UsageError
from envcfg.common.findings import Finding
from envcfg.common.nesting import read_json
from envcfg.common.provenance import has_mark, is_untouched
from envcfg.profile.catalog import Catalog
from envcfg.profile.look.value_list import look_at
from envcfg.site.observations import Observations
from envcfg.site.profile_comparison import (
    CONFIRMED,
    CONTRADICTED,
    NOT_SEEN,
    Comparison,
    hold,
)
from envcfg.site.profile_entries import scalar

_AGAIN = "envcfg profiles probe --profile {} makes a new report"
_PARTS = ("profile", "values", "facts", "nodes")  # parts of a report
_KEYS = ("section", "name", "value", "verdict")  # keys of a value in a report
_RUN = re.compile(r"^run:.*\n(?:[ \t#].*\n|\n(?=[ \t]))*", re.MULTILINE)


def confirm(catalog: Catalog, path: str, name: str, report: bytes) -> str:
    """Return the text of the profile in *path* with the run in *report*.

    The values of the profile are compared with the report again: a contradicted value
    may have been corrected since, and nothing else may have changed.

    Args:
        catalog: the catalog with the profile's families; *path*: the profile's file.
        name: the name of the report in messages; *report*: its content.

    Raises:
        UsageError: it is not a report, or belongs to another profile or another state
            of it.
        FindingsError: it contradicts values of the profile.
    """
    document = _read_report(name, report)
    profile = catalog.load(path)
    again = _AGAIN.format(path)
    own = document["profile"]
    if own["name"] != profile.name:
        msg = f"{name} is of profile {own['name']}, and {path} is {profile.name}"
        raise UsageError(msg, hint=again)
    try:
        nodes = tuple(_rows(node) for node in document["nodes"])
        observations = Observations(_rows(document["job"]), nodes)
        view = look_at(profile, catalog.layers(path), document["facts"])
        comparisons = list(hold(view, observations))
        block = _block(document, observations, comparisons)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as err:
        msg = f"{name} has a line that this envcfg cannot read: {err!r}"
        raise UsageError(msg, hint=again) from err
    if wrong := [
        comparison for comparison in comparisons if comparison.verdict == CONTRADICTED
    ]:
        raise FindingsError([_finding(comparison, name) for comparison in wrong])
    if own["sha256"] != catalog.digest():
        _check_same(
            document, comparisons, f"{path} (sha256 {catalog.digest()[:16]})", name
        )
    if not any(comparison.verdict == CONFIRMED for comparison in comparisons):
        msg = f"{name} confirms no value of {path}"
        raise UsageError(msg, hint="did a node answer? the report says what was seen")
    if not (data := catalog.layers(path)[-1].data.decode()).endswith("\n"):
        data += "\n"
    new, replaced = _RUN.subn(lambda _: block, data)
    return new if replaced else f"{data}\n{block}"


def _read_report(name: str, data: bytes) -> Any:  # noqa: ANN401  # a document
    hint = "envcfg profiles probe writes one: probe-NAME.json"
    if not (has_mark(data) and data.startswith(b"{")):
        msg = f"{name} is not a report of envcfg profiles probe"
        raise UsageError(msg, hint=hint)
    if not is_untouched(data):
        msg = f"{name} was changed, or cut, since envcfg wrote it"
        raise UsageError(msg, hint="take the file as it was sent")
    try:
        document = read_json(data)
    except ValueError as err:
        msg = f"{name} is not JSON: {err}"
        raise UsageError(msg, hint=hint) from err
    if not _is_report(document):
        msg = f"{name} is not a whole report of envcfg profiles probe"
        raise UsageError(msg, hint=hint)
    return document


def _is_report(document: Any) -> bool:  # noqa: ANN401  # any JSON
    """Return whether a document has all parts of a report, with the right types."""
    if not isinstance(document, dict):
        return False
    profile, values, facts, nodes = map(document.get, _PARTS)
    return (
        _are_texts([document.get("time"), document.get("envcfg")])
        and re.match("[0-9]{4}(-[0-9]{2}){2}T", document["time"]) is not None
        and isinstance(profile, dict)
        and _are_texts([profile.get("name"), profile.get("sha256")])
        and isinstance(facts, dict)
        and _are_texts([*facts.values()])
        and isinstance(values, list)
        and all(
            isinstance(value, dict) and _are_texts([value.get(key) for key in _KEYS])
            for value in values
        )
        and isinstance(nodes, list)
        and all(_has_rows(kinds) for kinds in [document.get("job"), *nodes])
    )


def _has_rows(kinds: Any) -> bool:  # noqa: ANN401  # any JSON
    """Return whether all kinds of facts have rows of words."""
    return isinstance(kinds, dict) and all(
        isinstance(rows, list)
        and all(isinstance(row, list) and row and _are_texts(row) for row in rows)
        for rows in kinds.values()
    )


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _rows(kinds: Any) -> dict[str, tuple[tuple[str, ...], ...]]:  # noqa: ANN401
    return {kind: tuple(map(tuple, rows)) for kind, rows in kinds.items()}


def _finding(comparison: Comparison, name: str) -> Finding:
    key = f"{comparison.section} {comparison.name}".rstrip()
    text = f"{comparison.value}; {name} has seen: {comparison.seen}"
    fix = "correct the value, with a source, and confirm again"
    return Finding(
        "value-contradicted", "error", key, text, fix, place=comparison.place
    )


def _check_same(
    document: Any,  # noqa: ANN401
    contained: list[Comparison],
    subject: str,
    name: str,
) -> None:
    """Raise if a value has changed since the report, except those it contradicts."""
    before = {(e["section"], e["name"], e["value"]): e for e in document["values"]}
    wrong = {key[:2] for key, e in before.items() if e["verdict"] == CONTRADICTED}
    now = {
        (comparison.section, comparison.name, comparison.value)
        for comparison in contained
    }
    if changed := [key for key in before.keys() ^ now if key[:2] not in wrong]:
        names = sorted({f"{section} {entry}".rstrip() for section, entry, _ in changed})
        was = document["profile"]["sha256"][:16]
        msg = f"{subject} is not the profile that {name} is of (sha256 {was})"
        msg = f"{msg}: {', '.join(names)} has changed since"
        raise UsageError(msg, hint=_AGAIN.format(document["profile"]["name"]))


def _block(
    document: Any,  # noqa: ANN401
    observations: Observations,
    contained: list[Comparison],
) -> str:
    """Return the section ``run`` of a profile."""
    verdicts = [comparison.verdict for comparison in contained]
    by, best = observations.first("collective"), observations.best
    entries = {
        "envcfg": document["envcfg"],
        "nodes": str(len(observations.nodes)),
        "scheduler": " ".join(observations.first("scheduler")[1:]) or None,
        "runtime": next((row[1] for row in observations.rows("runtime")), None),
        "driver": next((" ".join(row) for row in observations.rows("driver")), None),
        "bandwidth": best and f"{best[2]} GB/s ({by[0]}, {int(best[0]) >> 20} MiB)",
        "why": ", ".join(
            f"{verdicts.count(verdict)} values {verdict}"
            for verdict in (CONFIRMED, NOT_SEEN)
        ),
        "source": "envcfg profiles probe",
    }
    lines = [f"  {key}: {scalar(text)}\n" for key, text in entries.items() if text]
    return f"run:\n{''.join(lines)}  date: {document['time'][:10]}\n"
