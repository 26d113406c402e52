"""The schemas of docs/, against which the JSON of commands is held."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from support import ROOT

SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text("utf-8"))
    for path in sorted((ROOT / "docs").glob("*.schema.json"))
}
_REGISTRY: Registry[Any] = (
    Registry()
    .with_resources(
        (f"{name}.schema.json", Resource.from_contents(schema))
        for name, schema in SCHEMAS.items()
    )
    .crawl()
)
_VALIDATORS = {
    name: Draft202012Validator(schema, registry=_REGISTRY)
    for name, schema in SCHEMAS.items()
}


def errors(name: str, text: str) -> list[str]:
    """Return where the JSON *text* is not as the schema of the command *name* says."""
    return [
        f"{each.json_path}: {each.message}"
        for each in _VALIDATORS[name].iter_errors(json.loads(text))
    ]
