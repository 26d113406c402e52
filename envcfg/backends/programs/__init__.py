"""Programs that begin launch lines: one file each, with the program's name.

``srun.yaml`` describes the keys. Files are read only for such a line, and for lint.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from envcfg.common.datafile import (
    data_path,
    is_data,
    load_kept,
    load_kept_file,
    load_yaml,
    names_in,
)

_FOLDER = data_path("backends/programs")
_SECTIONS = ("line", "lint")


def is_program(name: str) -> bool:
    """Return whether a program starts tasks or enters a container."""
    # Every command is compared with these names, so no file is read for it.
    return bool(name) and is_data(_path(name))


@cache
def read_line(name: str) -> Mapping[str, Any]:
    """Return the options of a program in launch lines; empty if it begins none."""
    if not is_program(name):
        return {}
    entry = load_yaml(_path(name))
    like = entry.get("like")
    merged = _merged(entry, load_yaml(_path(like)) if like else {})
    return merged["line"]


@cache
def load_all() -> Mapping[str, Mapping[str, Any]]:
    """Return the sections of all programs, by the name of the program."""
    names = [name.removesuffix(".yaml") for name in names_in(_FOLDER, ".yaml")]
    contents = load_kept("launch-lines", *map(_path, names))
    entries = dict(zip(names, contents, strict=True))
    return {
        name: _merged(entry, entries.get(entry.get("like"), {}))
        for name, entry in entries.items()
    }


def _merged(
    entry: Mapping[str, Any], other: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the sections of *entry*, whose keys override those of *other*."""
    sections = {key: {**other.get(key, {}), **entry.get(key, {})} for key in _SECTIONS}
    if scheduler := sections["line"].get("options_of"):
        data = load_kept_file(f"backends/schedulers/{scheduler}.yaml")
        sections["line"]["options"] = {**data["options"], **data["plugins"]}
    return sections


def _path(name: str) -> str:
    return f"{_FOLDER}/{name}.yaml"
