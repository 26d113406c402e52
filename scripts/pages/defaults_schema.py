"""The schema of envcfg.toml, by which editors complete: its keys are the options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from envcfg.core.defaults import CONTACT, ROWS, TABLES
from envcfg.core.option import Option, help_texts

_TEXT = {"type": ["string", "number"]}


def defaults_schema() -> str:
    """Return docs/envcfg.toml.json."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:envcfg:envcfg.toml:1",
        "title": "envcfg.toml",
        "description": "Defaults of options of envcfg wrap and job, by their long names.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **_properties(ROWS),
            CONTACT: {
                "description": "Whom users may ask, for messages of errors. Only in the "
                "file of the site.",
                "type": "string",
            },
            **{
                table: {
                    "description": f"Defaults of options of envcfg {table}.",
                    "type": "object",
                    "additionalProperties": False,
                    "properties": _properties(rows),
                }
                for table, rows in TABLES.items()
            },
        },
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _properties(rows: Mapping[str, Option]) -> dict[str, Any]:
    return {
        name: {"description": _about(row), **_values(row)} for name, row in rows.items()
    }


def _about(option: Option) -> str:
    return (option.help or help_texts()[option.flag]).replace("%%", "%")


def _values(option: Option) -> dict[str, Any]:
    one = {"enum": [*option.choices]} if option.choices else _TEXT
    if option.kind == "switch":
        return {"type": "boolean"}
    if option.kind == "maybe":
        return {"anyOf": [{"type": "boolean"}, one]}
    if option.kind == "one":
        return one
    forms: list[dict[str, Any]] = [one, {"type": "array", "items": one}]
    if option.metavar == "NAME=VALUE":
        forms.append({"type": "object", "additionalProperties": one})
    if str(option.metavar).startswith("GLOB="):
        lists = {"anyOf": [one, {"type": "array", "items": one}]}
        forms.append({"type": "object", "additionalProperties": lists})
    return {"anyOf": forms}
