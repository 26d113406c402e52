"""What a probe of a system has seen: a document that is made to be sent, and its page.

In it are no names of people, accounts, hosts, and no paths of home folders.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envcfg.datafile import read_text
from envcfg.provenance import marked
from envcfg.report.document import json_text
from envcfg.report.markup import content_hash, definitions, escape, fill
from envcfg.report.styled import Line, wrapped

_STYLES = {"contradicted": "red", "confirmed": "green", "not seen": "dim"}
_TEMPLATE = os.path.join(os.path.dirname(__file__), "probe.html")
Document = Mapping[str, Any]


def probe_json(document: Document) -> str:
    """Return the document as JSON; its second line is envcfg's mark."""
    return marked("probe", json_text(document).partition("\n")[2])


def probe_html(document: Document) -> str:
    """Return the document as a page that needs nothing else."""
    template = read_text(_TEMPLATE)
    rows = [("value", "is", "verdict", "seen", "stands in")]
    for each in document["values"]:
        name = f"{each['section']} {each['name']}".rstrip()
        place = f"{each['file']}:{each['line']}"
        rows.append((name, each["value"], each["verdict"], each["seen"], place))
    facts = {
        "profile": document["profile"]["name"],
        "date": document["time"],
        "envcfg": document["envcfg"],
        "values": counted(document),
    }
    seen = [("where", "what", "is")]
    for where, kinds in _by_place(document):
        seen += [(where, kind, "  ".join(row)) for kind in kinds for row in kinds[kind]]
    parts = {
        "style_hash": content_hash(template, "style"),
        "title": escape(f"envcfg profiles probe: {document['profile']['name']}"),
        "facts": definitions({name: escape(each) for name, each in facts.items()}),
        "values": _table(rows),
        "seen": _table(seen),
    }
    return marked("page", fill(template, parts).partition("\n")[2])


def _by_place(document: Document) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "job", document["job"]
    for number, node in enumerate(document["nodes"], 1):
        yield f"node {number}", node


def _table(rows: Sequence[Sequence[str]]) -> str:
    cells = [
        "".join(
            f'<td class="{each}">{each}</td>'
            if each in _STYLES
            else f"<td>{escape(each)}</td>"
            for each in row
        )
        for row in rows
    ]
    head = cells[0].replace("<td", '<th scope="col"').replace("</td>", "</th>")
    body = "\n".join(f"<tr>{each}</tr>" for each in cells[1:])
    return (
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def counted(document: Document) -> str:
    """Return how many values were confirmed, contradicted, not seen."""
    verdicts = [each["verdict"] for each in document["values"]]
    return ", ".join(f"{verdicts.count(each)} {each}" for each in _STYLES)


def probe_lines(document: Document) -> Iterator[Line]:
    """Yield what was confirmed and contradicted, each with what was seen."""
    yield "bold", f"profile {document['profile']['name']}: {counted(document)}"
    for verdict in [*_STYLES][:2]:
        for each in document["values"]:
            if each["verdict"] == verdict:
                name = f"{each['section']} {each['name']}".rstrip()
                said = f"{verdict}: {name} is {each['value']}; seen: {each['seen']}"
                for line in wrapped(said, "", "    "):
                    yield _STYLES[verdict], line
