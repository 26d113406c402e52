"""The schema of envcfg.toml, by which editors complete: its keys are the options."""

from __future__ import annotations

import json
from typing import Any

from envcfg.core.defaults import ROWS
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
            name: {"description": _about(each), **_values(each)}
            for name, each in ROWS.items()
        },
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


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
    return {"anyOf": forms}
