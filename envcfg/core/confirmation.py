"""A profile that takes in the report of a probe: it gets a record of that run."""

from __future__ import annotations

import re
from typing import Any

from envcfg.core.holding import CONFIRMED, CONTRADICTED, NOT_SEEN, Held, hold
from envcfg.core.seen import Seen
from envcfg.errors import FindingsError, UsageError
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.look.view import look_at
from envcfg.profile.site.entries import scalar
from envcfg.provenance import has_mark, is_untouched

_AGAIN = "envcfg profiles probe --profile {} makes a new report"
_RUN = re.compile(r"^run:.*\n(?:[ \t#].*\n|\n(?=[ \t]))*", re.MULTILINE)


def confirm(catalog: Catalog, path: str, name: str, report: bytes) -> str:
    """Return the text of the profile in *path* with the run that *report* tells of.

    The values of the profile are held against what the report has seen once more: one that
    it contradicts may have been corrected since, and nothing else may have changed.

    Args:
        catalog: where the profile's families are; *path*: its own.
        name: of the report, for messages; *report*: what is in it.

    Raises:
        UsageError: it is not a report, that of another profile, or of another state of it.
        FindingsError: it contradicts values of the profile.
    """
    document = _read(name, report)
    profile = catalog.load(path)
    again = _AGAIN.format(path)
    own = document["profile"]
    if own["name"] != profile.name:
        msg = f"{name} is of profile {own['name']}, and {path} is {profile.name}"
        raise UsageError(msg, hint=again)
    try:
        nodes = tuple(_rows(each) for each in document["nodes"])
        seen = Seen(_rows(document["job"]), nodes)
        view = look_at(profile, catalog.layers(path), document["facts"])
        held = list(hold(view, seen))
    except (AttributeError, LookupError, TypeError, ValueError) as err:
        msg = f"{name} has a line that this envcfg cannot read: {err!r}"
        raise UsageError(msg, hint=again) from err
    if wrong := [each for each in held if each.verdict == CONTRADICTED]:
        raise FindingsError([_finding(each, name) for each in wrong])
    if own["sha256"] != catalog.digest():
        _check_same(document, held, f"{path} (sha256 {catalog.digest()[:16]})", name)
    if not any(each.verdict == CONFIRMED for each in held):
        msg = f"{name} confirms no value of {path}"
        raise UsageError(msg, hint="did a node answer? the report says what was seen")
    if not (data := catalog.layers(path)[-1].data.decode()).endswith("\n"):
        data += "\n"
    block = _block(document, seen, held)
    new, replaced = _RUN.subn(lambda _: block, data)
    return new if replaced else f"{data}\n{block}"


def _read(name: str, data: bytes) -> Any:  # noqa: ANN401  # a document
    import json

    hint = "envcfg profiles probe writes one: probe-NAME.json"
    if not (has_mark(data) and data.startswith(b"{")):
        msg = f"{name} is not a report of envcfg profiles probe"
        raise UsageError(msg, hint=hint)
    if not is_untouched(data):
        msg = f"{name} was changed, or cut, since envcfg wrote it"
        raise UsageError(msg, hint="take the file as it was sent")
    return json.loads(data)


def _rows(kinds: Any) -> dict[str, tuple[tuple[str, ...], ...]]:  # noqa: ANN401
    return {kind: tuple(map(tuple, rows)) for kind, rows in kinds.items()}


def _finding(each: Held, name: str) -> Finding:
    key = f"{each.section} {each.name}".rstrip()
    said = f"{each.value}; {name} has seen: {each.seen}"
    fix = "correct the value, with a source, and confirm again"
    return Finding("value-contradicted", "error", key, said, fix, place=each.place)


def _check_same(document: Any, held: list[Held], what: str, name: str) -> None:  # noqa: ANN401
    """Raise where a value that the report does not contradict has changed since."""
    before = {(e["section"], e["name"], e["value"]): e for e in document["values"]}
    wrong = {key[:2] for key, e in before.items() if e["verdict"] == CONTRADICTED}
    now = {(each.section, each.name, each.value) for each in held}
    if changed := [key for key in before.keys() ^ now if key[:2] not in wrong]:
        names = sorted({f"{section} {entry}".rstrip() for section, entry, _ in changed})
        was = document["profile"]["sha256"][:16]
        msg = f"{what} is not the profile that {name} is of (sha256 {was})"
        msg = f"{msg}: {', '.join(names)} has changed since"
        raise UsageError(msg, hint=_AGAIN.format(document["profile"]["name"]))


def _block(document: Any, seen: Seen, held: list[Held]) -> str:  # noqa: ANN401
    """Return the section ``run`` of a profile."""
    verdicts = [each.verdict for each in held]
    by, best = seen.first("collective"), seen.best
    entries = {
        "envcfg": document["envcfg"],
        "nodes": str(len(seen.nodes)),
        "scheduler": " ".join(seen.first("scheduler")[1:]) or None,
        "runtime": next((row[1] for row in seen.rows("runtime")), None),
        "driver": next((" ".join(row) for row in seen.rows("driver")), None),
        "bandwidth": best and f"{best[2]} GB/s ({by[0]}, {int(best[0]) >> 20} MiB)",
        "why": ", ".join(
            f"{verdicts.count(each)} values {each}" for each in (CONFIRMED, NOT_SEEN)
        ),
        "source": "envcfg profiles probe",
    }
    lines = [f"  {key}: {scalar(text)}\n" for key, text in entries.items() if text]
    return f"run:\n{''.join(lines)}  date: {document['time'][:10]}\n"
