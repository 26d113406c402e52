"""The configuration of an OCI image: its labels, variables, entrypoint, architecture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envcfg.image.record import Metadata

BUILD_ARCHITECTURE = "org.label-schema.build-arch"  # a label that Apptainer writes
# As Go names them, and as `uname -m` does; the others have one name.
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64", "386": "i686"}


def machine(architecture: str) -> str:
    """Return Go's name of an *architecture* as ``uname -m`` has it."""
    return _ARCHITECTURES.get(architecture, architecture)


def parse_object(data: bytes | str) -> dict[str, Any]:
    """Return the JSON object in *data*; empty where it is none, or no JSON."""
    import json

    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def texts(found: object) -> dict[str, str]:
    """Return those entries of an object that are texts, of anything else none."""
    if not isinstance(found, Mapping):
        return {}
    return {str(key): value for key, value in found.items() if isinstance(value, str)}


def variables(lines: object) -> dict[str, str]:
    """Return the variables of ``NAME=VALUE`` in a list; other entries say nothing."""
    if not isinstance(lines, list):
        return {}
    pairs = (line.partition("=") for line in lines if isinstance(line, str))
    return {name: value for name, equals, value in pairs if name and equals}


def words(found: object) -> tuple[str, ...]:
    """Return the texts in a list, of anything else none."""
    if not isinstance(found, list):
        return ()
    return tuple(each for each in found if isinstance(each, str))


def read_config(form: str, data: bytes) -> Metadata:
    """Return what the configuration *data* of an image says (OCI image-spec 1.1)."""
    config = parse_object(data)
    inner = config.get("config")
    inner = inner if isinstance(inner, dict) else {}
    return Metadata(
        form,
        machine(str(config.get("architecture") or "")),
        texts(inner.get("Labels")),
        variables(inner.get("Env")),
        words(inner.get("Entrypoint")) + words(inner.get("Cmd")),
    )
