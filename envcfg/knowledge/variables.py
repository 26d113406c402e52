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

from envcfg.datafile import load_yaml, names_in, parse_yaml
from envcfg.errors import is_slip
from envcfg.findings import Finding
from envcfg.knowledge.excerpt import (
    cut_entry,
    cut_variable,
    families_of,
    names_of,
    read_text,
    texts_for,
)
from envcfg.knowledge.values import Habits, ValueRule, check_value, wrong

FOLDER = os.path.join(os.path.dirname(__file__), "variables")
READERS = os.path.join(os.path.dirname(__file__), "readers.yaml")
MISSPELT = "none"  # the type of a name that no program reads
UNDOCUMENTED = "internal to its reader, whose source names it and no guide explains it"
_SHORTEST = 4  # characters of a beginning in which a slip can be told
_NEAR = 0.8  # likeness from which a known name is worth a suggestion
_SAME = 0.95  # likeness from which a name of a family that is open must be a slip


class Variable(NamedTuple):
    """One name and what is known of it; what no source says is empty.

    Attributes:
        type: the kind of value, as ``values.TYPES`` has it; ``none``: no program reads it.
        values: the words that it takes, where they are few.
        legacy: old values that still work, with the right word for each.
        also: values that its reader takes besides, such as -1 for automatic.
        default: what holds where it is unset, as text.
        since, deprecated, removed: versions of the first of its readers.
        renamed: the new name; the old one may still be read.
        instead: the right name, where this one is a slip.
        read_by: names in ``readers.yaml``.
        source: a page, or a repository with version or commit and file.
        date: of the source, or when it was read.
    """

    name: str
    meaning: str
    type: str
    source: str
    date: str
    values: tuple[str, ...] = ()
    legacy: Mapping[str, str] = {}
    ignore_case: bool = False
    min: int | None = None
    max: int | None = None
    separator: str = ","
    markers: str = ""
    also: tuple[str, ...] = ()
    default: str | None = None
    since: str | None = None
    deprecated: str | None = None
    removed: str | None = None
    renamed: str | None = None
    instead: str | None = None
    read_by: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    @property
    def is_read(self) -> bool:
        """Return whether any program reads the name."""
        return self.type != MISSPELT


class Knowledge(NamedTuple):
    """All that the files say.

    Attributes:
        families: beginning of names to whether all names of it are known.
    """

    variables: Mapping[str, Variable]
    families: Mapping[str, bool]
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
        problems += check_value(_rule(variable), value)
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
    families: dict[str, bool] = {}
    for file in sorted(names_in(FOLDER)):
        if file.endswith(".yaml"):
            data = load_yaml(os.path.join(FOLDER, file))
            for beginning, state in data["families"].items():
                families[beginning] = state == "closed"
            for entry in read_file(data):
                variables[entry.name] = entry
    readers = {each["name"]: _reader(each) for each in load_yaml(READERS)}
    return Knowledge(dict(sorted(variables.items())), families, readers)


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
        fields["date"] = str(fields["date"])
        for key in ("values", "also", "read_by", "related"):
            fields[key] = tuple(fields.get(key, ()))
        if "default" in fields:
            fields["default"] = str(fields["default"])
        found.append(Variable(**fields))
    return found


def _reader(entry: Mapping[str, Any]) -> Habits:
    return Habits(
        turns_on=tuple(entry.get("turns_on", ())),
        turns_off=tuple(entry.get("turns_off", ())),
        ignore_case=entry.get("ignore_case", False),
        tilde=entry.get("tilde", False),
        wrong=entry.get("wrong"),
    )


@cache
def find_reader(name: str) -> Habits:
    """Return how one program reads values; the other entries are not parsed."""
    entry = cut_entry(read_text(READERS), f"- name: {name}\n")
    return _reader(parse_yaml(entry or "[{}]")[0])


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


def _rule(variable: Variable) -> ValueRule:
    return ValueRule(
        kind=variable.type,
        values=variable.values,
        legacy=variable.legacy,
        ignore_case=variable.ignore_case,
        low=variable.min,
        high=variable.max,
        separator=variable.separator,
        markers=variable.markers,
        also=variable.also,
        reader=find_reader(variable.read_by[0]) if variable.read_by else Habits(),
    )
