"""The signs of facts in an image: the records of ``facts.yaml``."""

import posixpath
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from envcfg.common.characters import Texts
from envcfg.common.datafile import load_yaml, record
from envcfg.image.image_record import version_number

_NET = "ncclNetPlugin_v"


class TextSign(NamedTuple):
    """A fact in a text file: *pattern* and *items* have a group ``value``."""

    fact: str
    paths: Texts
    pattern: str
    items: str = ""  # a pattern; the fact is the list of its matches in the value


class ExtensionSign(NamedTuple):
    """The compiled library of a Python *package*, and the words of each of its parts."""

    fact: str
    package: str
    path: str
    parts: Mapping[str, str]


class LibrarySign(NamedTuple):
    """A fact from a shared library; ``facts.yaml`` describes the fields."""

    fact: str
    soname: str
    also: Texts = ()
    strings: Texts = ()
    pc: str = ""
    file: str = ""
    dpkg: str = ""
    needed_by: Texts = ()
    built_into: Texts = ()
    in_chain: bool = False


class PluginSign(NamedTuple):
    """Plug-ins of NCCL: their names, folders and exported symbols.

    *looked_for* lists the names searched by each library, with the range of releases.
    """

    names: Texts
    looked_for: tuple[Mapping[str, str], ...]
    folders: Texts
    strings: Texts
    symbols: str


class Signs(NamedTuple):
    """All signs; ``facts.yaml`` describes the fields."""

    texts: tuple[TextSign, ...]
    extensions: tuple[ExtensionSign, ...]
    libraries: tuple[LibrarySign, ...]
    plugins: PluginSign
    bases: tuple[Mapping[str, str], ...]
    packages: Mapping[str, Texts]
    providers: Mapping[str, str]
    provider_files: str
    sites: Texts
    programs: Texts
    variables: str
    labels: str
    interfaces: tuple[Mapping[str, Any], ...]
    driver: Texts
    c_library: Texts
    machines: Mapping[str, str]
    python_sites: Texts
    first: Texts
    last: Texts
    plugin_files: Texts
    recipes: tuple[Mapping[str, Any], ...]
    repositories: Mapping[str, str]
    once: Texts
    asked: Texts
    vendors: tuple[Sequence[str], ...]


@cache
def load_signs() -> Signs:
    """Return the signs in ``facts.yaml``."""
    data = load_yaml("image/facts.yaml")
    own = {
        "texts": tuple(record(TextSign, text) for text in data["texts"]),
        "extensions": tuple(
            record(ExtensionSign, extension) for extension in data["extensions"]
        ),
        "libraries": tuple(
            record(LibrarySign, library) for library in data["libraries"]
        ),
        "plugins": record(PluginSign, data["plugins"]),
    }
    return record(Signs, {**data, **own})


class Interfaces(NamedTuple):
    """The plug-in interfaces of a release of NCCL: *oldest* to *newest*, with the
    source."""

    oldest: int
    newest: int
    source: str


def interfaces_of(version: str) -> Interfaces | None:
    """Return the interfaces of NCCL or RCCL of this *version*; None if unknown.

    >>> interfaces_of("2.21.5")[:2]
    (5, 8)
    >>> interfaces_of("1.0") is None
    True
    """
    number = version_number(version)
    releases = [
        e for e in load_signs().interfaces if number >= version_number(e["since"])
    ]
    return record(Interfaces, releases[-1]) if number and releases else None


def is_plugin(path: str) -> bool:
    """Return whether a file has the name of a plug-in for NCCL's network."""
    name = posixpath.basename(path)
    return any(fnmatchcase(name, file) for file in load_signs().plugin_files)


def net_versions(symbols: Sequence[str]) -> list[int]:
    """Return the versions of the interface for networks among exported *symbols*.

    >>> net_versions(["ncclNetPlugin_v10", "ncclTunerPlugin_v2", "ncclNetPlugin_v9"])
    [9, 10]
    """
    return sorted(
        int(symbol[len(_NET) :]) for symbol in symbols if symbol.startswith(_NET)
    )


def is_of_driver(soname: str) -> bool:
    """Return whether *soname* comes with the driver (``--nv``, ``--rocm``)."""
    return any(fnmatchcase(soname, name) for name in load_signs().driver)


def is_of_c_library(soname: str) -> bool:
    """Return whether *soname* is a part of glibc, which fits no other image."""
    return any(fnmatchcase(soname, name) for name in load_signs().c_library)
