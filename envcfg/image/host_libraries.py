"""The libraries that containers get from their host, recorded and read again."""

import os
import posixpath
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from envcfg.common.errors import UsageError
from envcfg.common.nesting import read_json
from envcfg.image.communication import plugin_files, provider_facts
from envcfg.image.fact_patterns import load_signs
from envcfg.image.image_record import ImageFact, Library
from envcfg.image.layers import RecordedTree
from envcfg.image.library_chain import follow
from envcfg.image.library_index import LibraryIndex
from envcfg.image.tree import FolderTree, Tree

_T = TypeVar("_T", dict[str, Any], list[Any], str)
SCHEMA_VERSION = 1
_MOST = 2000  # libraries of one host
_LONGEST = 4096  # characters of a text in a record
_MOST_TEXTS = 1000  # texts in a list


class Host(NamedTuple):
    """The properties of a machine that matter to an image."""

    name: str  # the machine's name
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
        why = str(err) if isinstance(err, _NoHostError) else "it is not JSON"
        msg = f"{name}: no record of a host: {why}"
        hint = "make one on a compute node: envcfg inspect --host -o host.json"
        raise UsageError(msg, hint=hint) from err


class _NoHostError(ValueError):
    """The error for a record with the wrong form."""


def _host(value: object) -> Host:
    data = _checked(value, dict, _MOST, "host")
    if data.get("schema_version") != SCHEMA_VERSION:
        raise _NoHostError(f"schema_version is not {SCHEMA_VERSION}")  # noqa: EM102
    host: Host = _checked_as(Host, data, "host")
    own = (library.path for library in host.libraries)
    for path in chain(own, host.links, host.links.values()):
        if not path.startswith("/") or posixpath.normpath(path) != path or "\0" in path:
            raise _NoHostError(f"{path[:80]!r} is not a path")  # noqa: EM102
    return host


def _checked_as(kind: Any, value: object, place: str) -> Any:  # noqa: ANN401  # of that kind
    """Return *value* as *kind*, by its annotations: a record, or a part of one."""
    inner = get_args(kind)
    if kind is bool:
        return value is True
    if kind is str:
        return _checked(value, str, _LONGEST, place)
    if get_origin(kind) is tuple:
        most = _MOST_TEXTS if inner[0] is str else _MOST
        each_of = enumerate(_checked(value, list, most, place))
        return tuple(_checked_as(inner[0], e, f"{place}[{n}]") for n, e in each_of)
    data = _checked(value, dict, _MOST, place)
    if inner:
        return {
            _checked_as(str, k, place): _checked_as(inner[1], v, f"{place}.{k:.80}")
            for k, v in data.items()
        }
    hints = get_type_hints(kind).items()
    return kind(*(_checked_as(h, data.get(n), f"{place}.{n}") for n, h in hints))


def _checked(value: object, kind: type[_T], most: int, place: str) -> _T:
    """Return *value* if it is of this *kind* and no longer than *most*."""
    if not isinstance(value, kind) or len(value) > most:
        name = {dict: "an object", list: "a list"}.get(kind, "a text")
        raise _NoHostError(f"{place} is not {name} of at most {most}")  # noqa: EM102
    return value
