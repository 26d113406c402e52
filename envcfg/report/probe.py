"""What a probe of a system has seen: a document that is made to be sent, and its page.

In it are no names of people, accounts, hosts, and no paths of home folders.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from typing import Any

from envcfg.provenance import marked
from envcfg.report.document import json_text
from envcfg.report.log.html import content_hash, template_of
from envcfg.report.styled import Line, wrapped

_STYLES = {"contradicted": "red", "confirmed": "green", "not seen": "dim"}
_TEMPLATE = os.path.join(os.path.dirname(__file__), "probe.html")
Document = Mapping[str, Any]


def probe_json(document: Document) -> str:
    """Return the document as JSON; its second line is envcfg's mark."""
    return marked("probe", json_text(document).partition("\n")[2])


def probe_html(document: Document) -> str:
    """Return the document as a page that needs nothing else.

    Raises:
        LibraryError: there is no Jinja.
    """
    text, template = template_of(_TEMPLATE)
    style_hash = content_hash(text, "style")
    page = template.render(document, counted=counted(document), style_hash=style_hash)
    return marked("page", page.partition("\n")[2])


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
