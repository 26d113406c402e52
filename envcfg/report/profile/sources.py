"""What comes from elsewhere, changes or goes, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from envcfg.findings import Finding
from envcfg.profile.look.changes import Change
from envcfg.profile.sources import Source
from envcfg.report.document import json_text
from envcfg.report.profile.diff import diff_document, difference_lines
from envcfg.report.profile.view import view_document, view_lines
from envcfg.report.styled import Line

SCHEMA_VERSION = 1


class Proposal(NamedTuple):
    """What is to become of one source.

    Attributes:
        before: what is there; None: nothing.
        after: what is to be there; None: nothing.
        staged: the folder in which its files are for now, left out of every place.
        done: it was done.
    """

    before: Source | None
    after: Source | None
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...] = ()
    staged: tuple[str, ...] = ()
    done: bool = False


def proposal_lines(proposal: Proposal) -> Iterator[Line]:
    """Yield what would be set, and what differs from what is there."""
    for style, text in _lines(proposal):
        yield style, _unstaged(text, proposal.staged)


def source_line(source: Source) -> str:
    """Return where a source is from, and at what it is pinned, on one line."""
    at = f" at {source.ref}" if source.ref else ""
    when = f" of {source.date[:10]}" if source.date else ""
    by = f", by {source.by}" if source.by else ""
    kind = "commit" if source.commit else "content"
    return f"{source.name}: {source.url}{at}, {kind} {source.pin}{when}{by}"


def changes_json(proposals: Sequence[Proposal]) -> str:
    """Return the proposals as JSON; ``schema_version`` counts incompatible changes."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "sources": [
            _unstaged(
                {
                    "before": each.before,
                    "after": each.after,
                    "done": each.done,
                    "profiles": [_document(change) for change in each.changes],
                    "findings": each.findings,
                },
                each.staged,
            )
            for each in proposals
        ],
    }
    return json_text(document)


def _lines(proposal: Proposal) -> Iterator[Line]:
    if proposal.before and proposal.after:
        yield "bold", f"from  {source_line(proposal.before)}"
        yield "bold", f"to    {source_line(proposal.after)}"
    elif shown := proposal.after or proposal.before:
        yield "bold", source_line(shown)
    for each in proposal.changes:
        if each.kind == "same":
            continue
        yield "", ""
        if each.view:
            yield from view_lines(each.view)
            yield "", ""
        yield "bold", _title(each)
        yield from difference_lines(each.differences)
    yield "", ""


def _title(each: Change) -> str:
    over = f", over the one of layer {' and '.join(each.over)}" if each.over else ""
    if each.differences:
        then = "; jobs by this name get:"
    elif each.kind == "changed":
        then = "; only reasons or comments differ"
    elif each.over:
        then = "; no value differs"
    else:
        then = ""
    return f"{each.kind}: {each.name}{over}{then}"


def _document(each: Change) -> dict[str, object]:
    return {
        "name": each.name,
        "kind": each.kind,
        "over": each.over,
        "view": each.view and view_document(each.view),
        "differences": diff_document(each.differences),
    }


def _unstaged(value: Any, staged: Sequence[str]) -> Any:  # noqa: ANN401  # JSON's kinds
    """Return *value* with the names of files alone, where they are not yet in place."""
    if isinstance(value, str):
        for folder in staged:
            value = value.replace(f"{folder}/", "")
        return value
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _unstaged(each, staged) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_unstaged(each, staged) for each in value]
    return value
