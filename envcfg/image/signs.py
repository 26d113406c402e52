"""By which signs an image shows its facts: the records of ``facts.yaml``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from envcfg.datafile import load_yaml


class TextSign(NamedTuple):
    """A fact that a text file tells: *pattern* has a group ``value``."""

    fact: str
    paths: tuple[str, ...]
    pattern: str
    source: str
    date: str


class LibrarySign(NamedTuple):
    """A fact that a shared library tells; ``facts.yaml`` says what each field is for."""

    fact: str
    soname: str
    source: str
    date: str
    also: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()
    pc: str = ""
    file: str = ""
    dpkg: str = ""
    needed_by: tuple[str, ...] = ()
    built_into: tuple[str, ...] = ()
    in_chain: bool = False


class LookedFor(NamedTuple):
    """What a library looks for as plug-in, from a release on and before another."""

    fact: str
    stem: str
    source: str
    date: str
    since: str = ""
    before: str = ""


class PluginSign(NamedTuple):
    """How plug-ins of NCCL are called, where they lie and what they export."""

    names: tuple[str, ...]
    looked_for: tuple[LookedFor, ...]
    folders: tuple[str, ...]
    strings: tuple[str, ...]
    symbols: str


class Signs(NamedTuple):
    """All of them.

    Attributes:
        packages: for each fact the names of the Python packages that tell it.
        providers: for each provider of libfabric what its functions begin with.
        provider_files: where those with a file of their own lie.
        sites: folders of Python packages that PATH need not lead to.
        programs: that must be there.
        variables: which variables of the image are worth a note.
        labels: which labels state a fact.
    """

    texts: tuple[TextSign, ...]
    libraries: tuple[LibrarySign, ...]
    plugins: PluginSign
    packages: Mapping[str, tuple[str, ...]]
    providers: Mapping[str, str]
    provider_files: str
    sites: tuple[str, ...]
    programs: tuple[str, ...]
    variables: str
    labels: str


@cache
def load_signs() -> Signs:
    """Return what ``facts.yaml`` says."""
    data = load_yaml(os.path.join(os.path.dirname(__file__), "facts.yaml"))
    plugins = data["plugins"]
    return Signs(
        texts=tuple(TextSign(**_frozen(each)) for each in data["texts"]),
        libraries=tuple(LibrarySign(**_frozen(each)) for each in data["libraries"]),
        plugins=PluginSign(
            names=tuple(plugins["names"]),
            looked_for=tuple(
                LookedFor(**_frozen(each)) for each in plugins["looked_for"]
            ),
            folders=tuple(plugins["folders"]),
            strings=tuple(plugins["strings"]),
            symbols=plugins["symbols"],
        ),
        packages={each["fact"]: tuple(each["names"]) for each in data["packages"]},
        providers=data["providers"]["built_in"],
        provider_files=data["providers"]["files"],
        sites=tuple(data["sites"]),
        programs=tuple(data["programs"]),
        variables=data["variables"],
        labels=data["labels"],
    )


def _frozen(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in entry.items()
        if name != "date"
    } | {"date": str(entry["date"])}
