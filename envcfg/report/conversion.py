"""A script that replaces another one, and what it is made of, as JSON for programs."""

from __future__ import annotations

from envcfg.conversion.model import Converted
from envcfg.report.document import json_text


def conversion_json(converted: Converted, path: str, script: str) -> str:
    """Return what was made of the file *path*: the *script*, and what is not in it."""
    return json_text(
        {
            "schema_version": 1,
            "from": path,
            "profile": converted.profile,
            "words": converted.words,
            "directives": converted.directives,
            "done_by_envcfg": converted.taken,
            "not_carried_over": converted.left,
            "script": script,
        }
    )
