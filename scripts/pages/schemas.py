"""Schemas that stand alone: each with its name, and with those that it refers to in it.

A schema is written with references to the files beside it, ``findings.schema.json#/...``.
This gives each its ``$id`` and lays what it refers to into its ``$defs``: it is valid
wherever it lies, and nothing is fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
_END = ".schema.json"
_BESIDE = re.compile(r'"([a-z-]+)\.schema\.json(#[^"]*)?"')
_NAMED = re.compile(r'"(urn:envcfg:([a-z-]+):\d+)(?:#[^"]*)?"')


def bundled(schemas: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each schema as it is to be, by the name of what it describes."""
    ids = {name: _id(name, json.loads(text)) for name, text in schemas.items()}
    own = {name: _named(json.loads(text), ids[name]) for name, text in schemas.items()}
    linked = {name: _BESIDE.sub(_by_id(ids), json.dumps(own[name])) for name in own}
    return {name: _with_others(name, linked, ids) for name in linked}


def _id(name: str, schema: Mapping[str, Any]) -> str:
    version = schema.get("properties", {}).get("schema_version", {}).get("const", 1)
    return f"urn:envcfg:{name}:{version}"


def _named(schema: dict[str, Any], own: str) -> dict[str, Any]:
    """Return a schema with its name, and without those that were laid into it."""
    parts = {
        key: part
        for key, part in schema.pop("$defs", {}).items()
        if not key.startswith("urn:")
    }
    draft = schema.pop("$schema")
    schema.pop("$id", None)
    end = {"$defs": parts} if parts else {}
    return {"$schema": draft, "$id": own, **schema, **end}


def _by_id(ids: Mapping[str, str]) -> Any:  # noqa: ANN401  # what re.sub takes
    return lambda found: f'"{ids[found[1]]}{found[2] or ""}"'


def _with_others(name: str, linked: Mapping[str, str], ids: Mapping[str, str]) -> str:
    wanted, known = [name], {name}
    for each in wanted:
        for found in _NAMED.finditer(linked[each]):
            if found[2] not in known and found[1] == ids[found[2]]:
                known.add(found[2])
                wanted.append(found[2])
    schema = json.loads(linked[name])
    for other in wanted[1:]:
        part = json.loads(linked[other])
        del part["$schema"]
        schema.setdefault("$defs", {})[ids[other]] = part
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def read_schemas(folder: Path = DOCS) -> dict[str, str]:
    """Return the text of each schema in *folder*, by the name of what it describes."""
    return {
        path.name.removesuffix(_END): path.read_text(encoding="utf-8")
        for path in sorted(folder.glob(f"*{_END}"))
    }
