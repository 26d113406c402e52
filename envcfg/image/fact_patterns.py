"""By which signs an image shows its facts: records of ``facts.yaml`` and ``chain.yaml``."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from envcfg.datafile import load_yaml, record
from envcfg.image.record import version_number

_PLUGINS = ("libnccl-net*", "librccl-net*")
_NET = "ncclNetPlugin_v"


class TextSign(NamedTuple):
    """A fact that a text file tells: *pattern* has a group ``value``."""

    fact: str
    paths: tuple[str, ...]
    pattern: str


class LibrarySign(NamedTuple):
    """A fact that a shared library tells; ``facts.yaml`` says what each field is for."""

    fact: str
    soname: str
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
    since: str = ""
    before: str = ""


class PluginSign(NamedTuple):
    """How plug-ins of NCCL are called, where they lie and what they export."""

    names: tuple[str, ...]
    looked_for: tuple[LookedFor, ...]
    folders: tuple[str, ...]
    strings: tuple[str, ...]
    symbols: str


class BaseSign(NamedTuple):
    """A path that images have which were made from one that is known by *name*."""

    path: str
    name: str
    source: str
    date: str


class Signs(NamedTuple):
    """All of them.

    Attributes:
        bases: images of sites that show themselves by a path.
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
    bases: tuple[BaseSign, ...]
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
    plugins, providers = data["plugins"], data["providers"]
    looked_for = tuple(record(LookedFor, each) for each in plugins["looked_for"])
    own = {
        "texts": tuple(record(TextSign, each) for each in data["texts"]),
        "bases": tuple(record(BaseSign, each) for each in data["bases"]),
        "libraries": tuple(record(LibrarySign, each) for each in data["libraries"]),
        "plugins": record(PluginSign, {**plugins, "looked_for": looked_for}),
        "packages": {each["fact"]: tuple(each["names"]) for each in data["packages"]},
        "providers": providers["built_in"],
        "provider_files": providers["files"],
    }
    return record(Signs, {**data, **own})


class Interfaces(NamedTuple):
    """What a release of NCCL takes: versions *oldest* to *newest*, and who says so."""

    oldest: int
    newest: int
    source: str


def interfaces_of(version: str) -> Interfaces | None:
    """Return what NCCL or RCCL of this *version* takes; None where that is not known.

    >>> interfaces_of("2.21.5")[:2]
    (5, 8)
    >>> interfaces_of("1.0") is None
    True
    """
    number = version_number(version)
    known = [e for e in _data()["interfaces"] if number >= version_number(e["since"])]
    if not number or not known:
        return None
    return Interfaces(known[-1]["oldest"], known[-1]["newest"], known[-1]["source"])


def is_plugin(path: str) -> bool:
    """Tell by the name of a file whether it is a plug-in for NCCL's network."""
    name = posixpath.basename(path)
    return any(fnmatchcase(name, each) for each in _PLUGINS)


def net_versions(symbols: Sequence[str]) -> list[int]:
    """Return the versions of the interface for networks among exported *symbols*.

    >>> net_versions(["ncclNetPlugin_v10", "ncclTunerPlugin_v2", "ncclNetPlugin_v9"])
    [9, 10]
    """
    return sorted(int(each[len(_NET) :]) for each in symbols if each.startswith(_NET))


def is_of_driver(soname: str) -> bool:
    """Tell whether the runtime brings *soname* with the driver (``--nv``, ``--rocm``)."""
    return any(fnmatchcase(soname, each) for each in _data()["driver"])


@cache
def _data() -> Any:  # noqa: ANN401  # our own file
    return load_yaml(os.path.join(os.path.dirname(__file__), "chain.yaml"))
