"""The known environment variables, and problems of names and values.

The content is data: ``variables/*.yaml`` has names, meanings, readers and sources;
``readers.yaml`` has the words of switches. This module never reads the environment, and
reads no file before the first question.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from envcfg.common.datafile import record
from envcfg.common.errors import is_slip
from envcfg.common.findings import Finding
from envcfg.knowledge.values import check_value, wrong
from envcfg.knowledge.variable_record import Variable, load_files

UNDOCUMENTED = "internal to its reader, whose source names it and no guide explains it"
_SHORTEST = 4  # characters of a prefix in which a mistake can be recognised
_LONG = 7  # characters of a name in which one wrong letter is a mistake
_NEAR = 0.8  # similarity at which a known name is suggested
_SAME = 0.95  # similarity at which a name of an open family must be a mistake


def check_variable(name: str, value: str | None) -> list[Finding]:
    """Return the problems of setting *name* to *value*.

    None unsets: then only the name is checked. The value is in the grammar of profiles.
    The values of references are unknown, so only certain problems are reported.
    """
    variable = find_variable(name)
    if variable is None:
        return _unknown(name)
    problems = _check_name(variable)
    if value is not None and variable.is_read:
        problems += check_value(variable, value)
    return problems


@cache
def find_variable(name: str) -> Variable | None:
    """Return the known facts about one name."""
    entry = _entries().get(name)
    return record(Variable, entry) if entry else None


@cache
def load_variables() -> Mapping[str, Variable]:
    """Return every known variable by its name, sorted."""
    entries = sorted(_entries().items())
    return {name: record(Variable, entry) for name, entry in entries}


@cache
def _entries() -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of all files; the default source is the first one of the file."""
    result = {}
    releases = load_files()[1]["names"]
    for data in load_files()[2:]:
        sources = data["sources"]
        common = {"read_by": data.get("read_by", []), "source": next(iter(sources))}
        hidden = data.get("undocumented", {"names": ()})
        unsaid = {"meaning": UNDOCUMENTED, "type": "text"}
        entries = [common | variable for variable in data["variables"]]
        entries += [
            common | unsaid | {"name": name, "source": hidden["source"]}
            for name in hidden["names"]
        ]
        for entry in entries:
            fields = entry | entry.pop("versions", {}) | sources[entry["source"]]
            # YAML reads 1 and true as numbers and booleans, but variables are
            # texts.
            if "default" in fields:
                fields["default"] = str(fields["default"])
            release_notes = releases.get(fields["name"], [])
            fields["history"] = [*fields.get("history", []), *release_notes]
            result[fields["name"]] = fields
    return result


@cache
def _families() -> Mapping[str, bool]:
    """Return the prefixes of names, and whether all names with each prefix are known."""
    states = (
        family for data in load_files()[2:] for family in data["families"].items()
    )
    return {beginning: state == "closed" for beginning, state in states}


def _check_name(variable: Variable) -> list[Finding]:
    if not variable.is_read:
        hint = f"write {variable.instead}" if variable.instead else "leave it out"
        message = f"no program reads {variable.name}: {variable.meaning}"
        return [wrong("error", message, hint)]
    if variable.renamed:
        message = f"{variable.name} is the old name of {variable.renamed}"
        return [wrong("warning", message, f"write {variable.renamed}")]
    if variable.removed:
        # A release without a number means that the source does not date the
        # removal.
        when = "by now" if variable.removed == "by now" else f"since {variable.removed}"
        related = " or ".join(variable.related)
        hint = f"see {related}" if related else "leave it out"
        reader = variable.read_by[0]
        return [wrong("warning", f"{reader} ignores {variable.name} {when}", hint)]
    return []


def _unknown(name: str) -> list[Finding]:
    families = _families()
    family = max(filter(name.startswith, families), key=len, default=None)
    # Without a family, only a mistake in the prefix can be recognised.
    if family is None:
        if meant := name_meant(name):
            message = f"no known program reads {name}"
            return [wrong("warning", message, f"did you mean {meant}?")]
        return []
    from difflib import get_close_matches

    names = sorted(_entries())
    # In a closed family all names are known, so an unknown name is always a
    # mistake.
    likeness = _NEAR if families[family] else _SAME
    near = get_close_matches(name, names, n=1, cutoff=likeness)
    if not (families[family] or near):
        return []
    variable = find_variable(near[0]) if near else None
    right = variable.instead or near[0] if variable else None
    hint = f"did you mean {right}?" if right else "see the documentation of its reader"
    return [wrong("warning", f"no known program reads {name}", hint)]


@cache
def name_meant(name: str) -> str | None:
    """Return the known name that *name* probably means, if it belongs to no family."""
    first, _, rest = name.partition("_")
    if not rest or any(map(name.startswith, _families())):
        return None
    right = (
        f"{family}{rest}"
        for family in _families()
        if len(family) > _SHORTEST and is_slip(first, family.removesuffix("_"))
    )
    return next(filter(find_variable, right), None) or slip_of(name)


@cache
def slip_of(name: str) -> str | None:
    """Return the name that *name* misspells by one letter, or according to the data."""
    variable = find_variable(name)
    if variable is not None:
        return None if variable.is_read else variable.instead
    if len(name) < _LONG or "_" not in name:
        return None
    near = (right for right in _entries() if "_" in right and is_slip(name, right))
    # NAMES may well be a list of the script's own.
    singular = name.removesuffix("S")
    names = (right for right in near if right not in (singular, name.replace("_", "")))
    return next((right for right in sorted(names) if _is_name_read(right)), None)


def _is_name_read(name: str) -> bool:
    variable = find_variable(name)
    return variable is not None and variable.is_read
