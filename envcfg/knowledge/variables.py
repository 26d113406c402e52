"""The known environment variables, and what is wrong with a name or a value.

What is known is data: ``variables/*.yaml`` say which names there are, what each means, who
reads it and who says so; ``readers.yaml`` says how programs read switches. Nothing here
looks at the environment, and nothing is read before the first question.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from envcfg.datafile import frozen, load_yaml, names_in
from envcfg.errors import is_slip
from envcfg.findings import Finding
from envcfg.knowledge.excerpt import (
    cut_variable,
    families_of,
    names_of,
    texts_for,
)
from envcfg.knowledge.record import READERS, Habits, Variable, habits_of
from envcfg.knowledge.values import check_value, wrong

FOLDER = os.path.join(os.path.dirname(__file__), "variables")
UNDOCUMENTED = "internal to its reader, whose source names it and no guide explains it"
_SHORTEST = 4  # characters of a beginning in which a slip can be told
_NEAR = 0.8  # likeness from which a known name is worth a suggestion
_SAME = 0.95  # likeness from which a name of a family that is open must be a slip


class Knowledge(NamedTuple):
    """All that the files say, by names."""

    variables: Mapping[str, Variable]
    readers: Mapping[str, Habits]


def load_variables() -> Mapping[str, Variable]:
    """Return every known variable by its name, sorted."""
    return load_knowledge().variables


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
    """Return what is known of one name; the other entries are not parsed."""
    for text in texts_for(FOLDER, name) if name.isidentifier() else ():
        if data := cut_variable(text, name):
            return read_file(data)[0]
    return None


@lru_cache(maxsize=1)
def load_knowledge() -> Knowledge:
    """Read every data file, once."""
    variables: dict[str, Variable] = {}
    for file in sorted(names_in(FOLDER)):
        if file.endswith(".yaml"):
            data = load_yaml(os.path.join(FOLDER, file))
            for entry in read_file(data):
                variables[entry.name] = entry
    readers = {each["name"]: habits_of(each) for each in load_yaml(READERS)}
    return Knowledge(dict(sorted(variables.items())), readers)


def read_file(data: Mapping[str, Any]) -> list[Variable]:
    """Return the variables of one file; an entry without source has the file's first."""
    sources = data["sources"]
    common = {"read_by": data.get("read_by", ()), "source": next(iter(sources))}
    hidden = data.get("undocumented", {"names": ()})
    entries = [common | each for each in data["variables"]]
    entries += [
        common
        | {"name": name, "meaning": UNDOCUMENTED, "type": "text"}
        | {"source": hidden["source"]}
        for name in hidden["names"]
    ]
    found = []
    for entry in entries:
        fields = entry | entry.pop("versions", {}) | sources[entry["source"]]
        if "default" in fields:
            fields["default"] = str(fields["default"])
        found.append(Variable(**frozen(fields)))
    return found


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
    texts = [*texts_for(FOLDER, "")]
    families = dict(each for text in texts for each in families_of(text))
    family = max(filter(name.startswith, families), key=len, default=None)
    if family is None:
        if meant := name_meant(name):
            message = f"nobody is known to read {name}"
            return [wrong("warning", message, f"did you mean {meant}?")]
        return []
    from difflib import get_close_matches

    names = sorted(each for text in texts for each in names_of(text))
    likeness = _NEAR if families[family] else _SAME
    near = get_close_matches(name, names, n=1, cutoff=likeness)
    if not (families[family] or near):
        return []
    found = find_variable(near[0]) if near else None
    right = found.instead or near[0] if found else None
    hint = f"did you mean {right}?" if right else "see the documentation of its reader"
    return [wrong("warning", f"nobody is known to read {name}", hint)]


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


@cache
def _families() -> tuple[str, ...]:
    texts = texts_for(FOLDER, "")
    return tuple(name for text in texts for name, _ in families_of(text))
