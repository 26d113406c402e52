"""The report on a probe of a system: a document to send to others, and its lines.

It contains no names of users, accounts or hosts, and no paths of home folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envcfg.common.provenance import marked
from envcfg.report.document import json_text
from envcfg.report.styled import Line, wrapped

_STYLES = {"contradicted": "red", "confirmed": "green", "not seen": "dim"}
Document = Mapping[str, Any]


def probe_json(document: Document) -> str:
    """Return the document as JSON; its second line is envcfg's mark."""
    return marked("probe", json_text(document, version=None).partition("\n")[2])


def counted(document: Document) -> str:
    """Return the number of confirmed, contradicted and unseen values."""
    verdicts = [value["verdict"] for value in document["values"]]
    return ", ".join(f"{verdicts.count(style)} {style}" for style in _STYLES)


def probe_lines(document: Document) -> Iterator[Line]:
    """Yield the confirmed and contradicted values, each with its observation."""
    yield "bold", f"profile {document['profile']['name']}: {counted(document)}"
    for verdict in [*_STYLES][:2]:
        for value in document["values"]:
            if value["verdict"] == verdict:
                name = f"{value['section']} {value['name']}".rstrip()
                text = f"{verdict}: {name} is {value['value']}; seen: {value['seen']}"
                for line in wrapped(text, "", "    "):
                    yield _STYLES[verdict], line
