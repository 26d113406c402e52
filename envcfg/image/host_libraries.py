"""The libraries that containers get from their host, recorded and read again."""

import os
import posixpath
import re
from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

from envcfg.common.errors import UsageError
from envcfg.common.foreign_data import ForeignDataError, read_json, read_record
from envcfg.image.communication import plugin_files, provider_facts
from envcfg.image.fact_patterns import load_signs
from envcfg.image.image_record import ImageFact, Library
from envcfg.image.layers import RecordedTree
from envcfg.image.library_chain import follow
from envcfg.image.library_index import LibraryIndex
from envcfg.image.tree import FolderTree, Tree

SCHEMA_VERSION = 1


class Host(NamedTuple):
    """The properties of a machine that matter to an image."""

    name: str
    architecture: str  # `x86_64`, `aarch64`
    drivers: Mapping[str, str]  # versions of the loaded drivers
    # Libfabric, libcxi, glibc ... with their paths.
    facts: tuple[ImageFact, ...]
    libraries: tuple[Library, ...]  # these libraries, and their dependencies
    links: Mapping[str, str]  # other names of these libraries, with their paths

    def tree(self) -> Tree:
        """Return the recorded files."""
        return RecordedTree(
            {library.path: library for library in self.libraries}, self.links
        )


def read_host(root: str = "/") -> Host:
    """Return the libraries of the machine below *root*; nothing is executed."""
    tree = FolderTree(root)
    environ = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    index = LibraryIndex(tree, environ)
    facts, starts = _facts(index)
    chain = follow(index, [(path, "") for path in starts])
    links = {path: real for path, real in starts.items() if path != real}
    for link in chain.links:
        own = link.library.path
        for name in (link.asked, link.library.soname):
            twin = f"{own.rpartition('/')[0]}/{name}"
            if name and "/" not in name and tree.resolve(twin) == own:
                links[twin] = own
        if (location := index.find(link.asked)) and location.path != own:
            links[location.path] = own
    machine = os.uname()
    return Host(
        name=machine.nodename,
        architecture=machine.machine,
        drivers={
            name: text
            for name, path in load_signs().drivers.items()
            for text in [(tree.text(path, 200) or "").strip()]
            if re.fullmatch(r"[\w.+~-]{1,60}", text)
        },
        facts=facts,
        libraries=tuple(link.library for link in chain.links),
        links={name: real for name, real in links.items() if name != real},
    )


def _facts(index: LibraryIndex) -> tuple[tuple[ImageFact, ...], dict[str, str]]:
    """Return a fact for each library of the chain, and the paths that led to it.

    The file behind each path has one fact, from the first path that leads to it. The
    loader's own choice comes before all others.
    """
    facts: list[ImageFact] = []
    starts: dict[str, str] = {}
    for sign in (library for library in load_signs().libraries if library.in_chain):
        paths = [location.path] if (location := index.find(sign.soname)) else []
        for pattern in sign.also:
            paths += index.glob(pattern, [])
        for path in dict.fromkeys(paths):
            real = index.tree.resolve(path)
            if real is None or index.library(path) is None or real in starts.values():
                starts.setdefault(path, real or path)
                continue
            starts[path] = real
            value = index.version(sign, path)
            facts.append(ImageFact(sign.fact, value, path, taken=path == paths[0]))
    facts += provider_facts(index, facts)
    for path in plugin_files(index):
        real = index.tree.resolve(path)
        groups = index.first_words(path, load_signs().plugins.strings)
        if real is None or real in starts.values() or not groups:
            continue
        starts[path] = real
        facts.append(ImageFact("plugin", groups["value"], path, why=groups["kind"]))
    return tuple(facts), starts


def parse_host(text: str, name: str) -> Host:
    """Return the host that *text* describes, a file of ``envcfg inspect --host``.

    Raises:
        UsageError: it is not such a file.
    """
    try:
        return _host(read_json(text))
    except ValueError as err:
        why = str(err) if isinstance(err, ForeignDataError) else "it is not JSON"
        msg = f"{name}: no record of a host: {why}"
        hint = "make one on a compute node: envcfg inspect --host -o host.json"
        raise UsageError(msg, hint=hint) from err


def _host(value: object) -> Host:
    if isinstance(value, dict) and value.get("schema_version") != SCHEMA_VERSION:
        raise ForeignDataError(f"schema_version is not {SCHEMA_VERSION}")  # noqa: EM102
    host: Host = read_record(Host, value, "host")
    own = (library.path for library in host.libraries)
    for path in chain(own, host.links, host.links.values()):
        if not path.startswith("/") or posixpath.normpath(path) != path or "\0" in path:
            raise ForeignDataError(f"{path[:80]!r} is not a path")  # noqa: EM102
    return host
