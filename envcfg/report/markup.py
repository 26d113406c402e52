"""Text into HTML: nothing of a log becomes markup, and a template is filled once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape as _escape

from envcfg.characters import printable

_BLANK = re.compile(r"\{\{(\w+)\}\}")


def escape(text: str) -> str:
    """Return *text* for use in an element or a quoted attribute.

    >>> escape('<a title="x">')
    '&lt;a title=&quot;x&quot;&gt;'
    """
    return _escape(printable(text))


def definitions(pairs: Mapping[str, str]) -> str:
    """Return names and values, which are markup already, as a list of definitions."""
    rows = (
        f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs.items()
    )
    return f"<dl>{''.join(rows)}</dl>"


def data_island(value: object) -> str:
    """Return *value* as JSON that can stand in a script element of type JSON."""
    import json

    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def content_hash(page: str, element: str) -> str:
    """Return the hash by which a content security policy knows a page's *element*."""
    from base64 import b64encode

    from envcfg.provenance import sha256_of

    text = page.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    digest = bytes.fromhex(sha256_of(text.encode()))
    return f"sha256-{b64encode(digest).decode()}"


def fill(template: str, parts: Mapping[str, str]) -> str:
    """Return *template* with each ``{{name}}`` replaced; what is filled in is not read."""
    return _BLANK.sub(lambda blank: parts[blank[1]], template)
