"""The known environment variables, and what is wrong with a name or a value.

What is known is data: ``variables/*.yaml`` say which names there are, what each means, who
reads it and who says so; ``readers.yaml`` says how programs read switches. Nothing here
looks at the environment, and nothing is read before the first question.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from envcfg.datafile import record
from envcfg.errors import is_slip
from envcfg.findings import Finding
from envcfg.knowledge.record import Variable, load_files
from envcfg.knowledge.values import check_value, wrong

UNDOCUMENTED = "internal to its reader, whose source names it and no guide explains it"
_SHORTEST = 4  # characters of a beginning in which a slip can be told
_NEAR = 0.8  # likeness from which a known name is worth a suggestion
_SAME = 0.95  # likeness from which a name of a family that is open must be a slip


def check_variable(name: str, value: str | None) -> list[Finding]:
    """Return what is wrong with setting *name* to *value*.

    None unsets: then only the name counts. The value is in the grammar of profiles; what
    a reference stands for is not known, so only what is certain of the rest is said.
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
    """Return what is known of one name."""
    entry = _entries().get(name)
    return record(Variable, entry) if entry else None


@cache
def load_variables() -> Mapping[str, Variable]:
    """Return every known variable by its name, sorted."""
    entries = sorted(_entries().items())
    return {name: record(Variable, entry) for name, entry in entries}


@cache
def _entries() -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of all files; one without source has its file's first."""
    found = {}
    releases = load_files()[1]["names"]
    for data in load_files()[2:]:
        sources = data["sources"]
        common = {"read_by": data.get("read_by", []), "source": next(iter(sources))}
        hidden = data.get("undocumented", {"names": ()})
        unsaid = {"meaning": UNDOCUMENTED, "type": "text"}
        entries = [common | each for each in data["variables"]]
        entries += [
            common | unsaid | {"name": name, "source": hidden["source"]}
            for name in hidden["names"]
        ]
        for entry in entries:
            fields = entry | entry.pop("versions", {}) | sources[entry["source"]]
            if "default" in fields:
                fields["default"] = str(fields["default"])
            told = releases.get(fields["name"], [])
            fields["history"] = [*fields.get("history", []), *told]
            found[fields["name"]] = fields
    return found


@cache
def _families() -> Mapping[str, bool]:
    """Return the beginnings of names, and whether all names of each are known."""
    states = (each for data in load_files()[2:] for each in data["families"].items())
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
        when = "by now" if variable.removed == "by now" else f"since {variable.removed}"
        related = " or ".join(variable.related)
        hint = f"see {related}" if related else "leave it out"
        reader = variable.read_by[0]
        return [wrong("warning", f"{reader} ignores {variable.name} {when}", hint)]
    return []


def _unknown(name: str) -> list[Finding]:
    families = _families()
    family = max(filter(name.startswith, families), key=len, default=None)
    if family is None:
        if meant := name_meant(name):
            message = f"no known program reads {name}"
            return [wrong("warning", message, f"did you mean {meant}?")]
        return []
    from difflib import get_close_matches

    names = sorted(_entries())
    likeness = _NEAR if families[family] else _SAME
    near = get_close_matches(name, names, n=1, cutoff=likeness)
    if not (families[family] or near):
        return []
    found = find_variable(near[0]) if near else None
    right = found.instead or near[0] if found else None
    hint = f"did you mean {right}?" if right else "see the documentation of its reader"
    return [wrong("warning", f"no known program reads {name}", hint)]


@cache
def name_meant(name: str) -> str | None:
    """Return the known name of which one has a slip before the first ``_``."""
    first, _, rest = name.partition("_")
    if not rest or any(map(name.startswith, _families())):
        return None
    right = (
        f"{family}{rest}"
        for family in _families()
        if len(family) > _SHORTEST and is_slip(first, family.removesuffix("_"))
    )
    return next(filter(find_variable, right), None)
