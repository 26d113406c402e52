"""By which signs an image shows its facts: the records of ``facts.yaml``."""

import os
import posixpath
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from envcfg.datafile import load_yaml, record
from envcfg.image.record import version_number

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


class PluginSign(NamedTuple):
    """How plug-ins of NCCL are called, where they lie and what they export.

    *looked_for* says what each library looks for, from a release on and before another.
    """

    names: tuple[str, ...]
    looked_for: tuple[Mapping[str, str], ...]
    folders: tuple[str, ...]
    strings: tuple[str, ...]
    symbols: str


class Signs(NamedTuple):
    """All of them; ``facts.yaml`` says what each is for."""

    texts: tuple[TextSign, ...]
    libraries: tuple[LibrarySign, ...]
    plugins: PluginSign
    bases: tuple[Mapping[str, str], ...]
    packages: Mapping[str, tuple[str, ...]]
    providers: Mapping[str, str]
    provider_files: str
    sites: tuple[str, ...]
    programs: tuple[str, ...]
    variables: str
    labels: str
    interfaces: tuple[Mapping[str, Any], ...]
    driver: tuple[str, ...]
    drivers: Mapping[str, str]
    machines: Mapping[str, str]
    python_sites: tuple[str, ...]
    first: tuple[str, ...]
    last: tuple[str, ...]
    plugin_files: tuple[str, ...]


@cache
def load_signs() -> Signs:
    """Return what ``facts.yaml`` says."""
    data = load_yaml(os.path.join(os.path.dirname(__file__), "facts.yaml"))
    own = {
        "texts": tuple(record(TextSign, each) for each in data["texts"]),
        "libraries": tuple(record(LibrarySign, each) for each in data["libraries"]),
        "plugins": record(PluginSign, data["plugins"]),
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
    known = [e for e in load_signs().interfaces if number >= version_number(e["since"])]
    return record(Interfaces, known[-1]) if number and known else None


def is_plugin(path: str) -> bool:
    """Tell by the name of a file whether it is a plug-in for NCCL's network."""
    name = posixpath.basename(path)
    return any(fnmatchcase(name, each) for each in load_signs().plugin_files)


def net_versions(symbols: Sequence[str]) -> list[int]:
    """Return the versions of the interface for networks among exported *symbols*.

    >>> net_versions(["ncclNetPlugin_v10", "ncclTunerPlugin_v2", "ncclNetPlugin_v9"])
    [9, 10]
    """
    return sorted(int(each[len(_NET) :]) for each in symbols if each.startswith(_NET))


def is_of_driver(soname: str) -> bool:
    """Tell whether the runtime brings *soname* with the driver (``--nv``, ``--rocm``)."""
    return any(fnmatchcase(soname, each) for each in load_signs().driver)
