"""The shared libraries of an image: where its loader finds each, and what its file says."""

import posixpath
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import BinaryIO, NamedTuple

from envcfg.datafile import finding_in
from envcfg.findings import Finding
from envcfg.image.elf import ElfError, find_words, read_library
from envcfg.image.environment import folders_of
from envcfg.image.fact_patterns import LibrarySign, load_signs
from envcfg.image.layers import Overlay
from envcfg.image.record import Library
from envcfg.image.tree import Tree

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER, _ENTRY = 48, 24
_MOST_CACHED = 8 << 20
_MOST_FOLDERS = 200
# What the loader of each distribution was built with; ``ld.so --help`` lists them. Debian's
# and Ubuntu's do not look into lib64.
_DEBIAN = ("/lib/{}", "/usr/lib/{}", "/lib", "/usr/lib")
_TRIPLETS = ("x86_64-linux-gnu", "aarch64-linux-gnu", "powerpc64le-linux-gnu")
_OTHERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_DPKG = "/var/lib/dpkg/status"
_MOST_DPKG = 16 << 20
_SYSTEM = ("/usr/lib", "/lib")  # where Debian's packages put libraries


class Found(NamedTuple):
    """Where a library is: its path, links not followed, and what leads there."""

    path: str
    why: str


class LibraryIndex:
    """The libraries of one image, as the loader finds them under one environment.

    Attributes:
        tree: the image.
        preloaded: what ``LD_PRELOAD`` names.
        damaged: libraries that could not be read.
    """

    def __init__(self, tree: Tree, environ: Mapping[str, str]) -> None:
        """Look at nothing yet but what the loader reads: *environ* is the program's."""
        self.tree = tree
        self.preloaded = tuple(environ.get("LD_PRELOAD", "").replace(":", " ").split())
        self._library_path = folders_of(environ.get("LD_LIBRARY_PATH", ""))
        self._defaults: tuple[str, ...] = _OTHERS
        for triplet in _TRIPLETS:
            if any(tree.look(f"{each}/{triplet}/libc.so.6") for each in _SYSTEM):
                self._defaults = tuple(each.format(triplet) for each in _DEBIAN)
                break
        self._cache = _read_cache(tree.read("/etc/ld.so.cache", _MOST_CACHED) or b"")
        self.damaged: list[Finding] = []
        self._libraries: dict[str, Library | None] = {}
        self._packages: dict[str, str] | None = None

    def find(self, soname: str, wanted_by: Library | None = None) -> Found | None:
        """Return the file that is loaded for *soname*; None where there is none.

        *wanted_by* is the library that needs it; None: the program itself.
        """
        for path, why in self._places(soname, wanted_by):
            entry = self.tree.look(path)
            if entry and entry.kind == "file":
                return Found(path, why)
        return None

    def _places(self, soname: str, by: Library | None) -> Iterator[tuple[str, str]]:
        for path in self.preloaded:
            if posixpath.basename(path) == soname:
                yield path, "LD_PRELOAD of the image"
        places = [(self._library_path, "LD_LIBRARY_PATH of the image")]
        if by is not None:
            kind, at = ("RPATH", 0) if by.is_rpath else ("RUNPATH", 1)
            places.insert(at, (list(_own_folders(by)), f"{kind} of {by.path}"))
        for folders, why in places:
            yield from ((f"{folder}/{soname}", why) for folder in folders)
        for path in self._cache.get(soname, ()):
            yield path, "/etc/ld.so.cache"
        for folder in self._defaults:
            yield f"{folder}/{soname}", "default folder of the loader"

    def folders(self) -> list[str]:
        """Return the folders in which libraries lie, for every program of the image."""
        cached = map(posixpath.dirname, chain.from_iterable(self._cache.values()))
        every = dict.fromkeys((*self._library_path, *cached, *self._defaults))
        return list(every)[:_MOST_FOLDERS]

    def library(self, path: str) -> Library | None:
        """Return what the file at *path* says; None where it is not an ELF file."""
        real = self.tree.resolve(path)
        if real is None:
            return None
        if real not in self._libraries:
            known = self._recorded(real)
            self._libraries[real] = known and known._replace(path=real)
            with nullcontext() if known else self._opened(real) as file:
                if file:
                    symbols = load_signs().plugins.symbols
                    self._libraries[real] = read_library(file, real, symbols)
        return self._libraries[real]

    def _recorded(self, path: str) -> Library | None:
        """Return what was written down of a file of a host that is not here."""
        return self.tree.recorded(path) if isinstance(self.tree, Overlay) else None

    def words(self, path: str, pattern: str) -> Iterator[re.Match[bytes]]:
        """Yield where *pattern* stands in the constants of the file at *path*."""
        real = self.tree.resolve(path) or path
        if self._recorded(real):
            return  # it is left where the words are
        with self._opened(path) as file:
            yield from find_words(file, pattern) if file else ()

    def first_words(self, path: str, patterns: Sequence[str]) -> dict[str, str] | None:
        """Return the groups of the first of *patterns* that stands in a file, as text."""
        for pattern in patterns:
            for match in self.words(path, pattern):
                groups = match.groupdict(b"").items()
                return {name: text.decode("ascii", "replace") for name, text in groups}
        return None

    def version(self, sign: LibrarySign, path: str) -> str:
        """Return the version of the library at *path*; ``yes`` where nothing tells it."""
        real = self.tree.resolve(path) or path
        for each in dict.fromkeys((path, real)) if sign.pc else ():
            pc = f"{posixpath.dirname(each)}/pkgconfig/{sign.pc}.pc"
            text = self.tree.text(pc, 1 << 16) or ""
            if match_ := re.search(r"(?m)^Version:\s*(\d+(?:\.\d+)*)", text):
                return match_[1]
        if said := self.first_words(path, sign.strings):
            return said["value"]
        if sign.file and (match_ := re.search(sign.file, real)):
            return match_["value"]
        if sign.dpkg and real.startswith(_SYSTEM):
            version = self._dpkg().get(sign.dpkg, "")
            if match_ := re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", version):
                return match_[1]
        return "yes"

    def glob(self, pattern: str, sites: Iterator[str] | list[str]) -> Iterator[str]:
        """Yield the paths that fit *pattern*, with ``{site}`` and ``{lib}`` filled in."""
        if not pattern.startswith(("{lib}", "{site}")):
            yield from self.tree.glob(pattern)
            return
        start, _, inside = pattern.partition("}")
        for folder in self.folders() if start == "{lib" else list(sites):
            # The folder's own name may hold a sign of patterns: it is not a pattern.
            yield from self.tree.glob(inside, below=folder, hidden=True)

    def _dpkg(self) -> dict[str, str]:
        if self._packages is None:
            self._packages, name = {}, ""
            for line in (self.tree.text(_DPKG, _MOST_DPKG) or "").splitlines():
                key, _, value = line.partition(": ")
                name = value if key == "Package" else name
                if key == "Version" and name:
                    self._packages[name] = value
        return self._packages

    @contextmanager
    def _opened(self, path: str) -> Iterator[BinaryIO | None]:
        """Yield a file, or None where there is none; note it where it is damaged."""
        try:
            with self.tree.open(path) or nullcontext() as file:
                yield file
        except ElfError as err:
            found = finding_in("image", "image-library-damaged", path, problem=err)
            if found not in self.damaged:
                self.damaged.append(found)


def _own_folders(library: Library) -> Iterator[str]:
    """Yield the folders that *library* itself names, ``$ORIGIN`` filled in."""
    origin = posixpath.dirname(library.path)
    for each in library.runpath:
        folder = each.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
        if folder.startswith("/"):
            yield posixpath.normpath(folder)


def _read_cache(data: bytes) -> dict[str, tuple[str, ...]]:
    """Return the paths of each soname in an ``ld.so.cache``; nothing of a damaged one.

    Source: glibc, ``sysdeps/generic/dl-cache.h`` (``struct cache_file_new``), 2.32.
    """
    start = data.find(_MAGIC)
    if start < 0 or len(data) < start + _HEADER:
        return {}
    (count,) = struct.unpack_from("<I", data, start + len(_MAGIC))
    table = data[start + _HEADER : start + _HEADER + count * _ENTRY]
    table = table[: len(table) - len(table) % _ENTRY]
    found: dict[str, list[str]] = {}
    for _, key, value, _, _ in struct.iter_unpack("<iIIIQ", table):
        soname, path = _text(data, start + key), _text(data, start + value)
        if soname and path.startswith("/"):
            found.setdefault(soname, []).append(path)
    return {soname: tuple(dict.fromkeys(paths)) for soname, paths in found.items()}


def _text(data: bytes, at: int) -> str:
    end = data.find(b"\0", at, at + 4096)
    return data[at:end].decode("utf-8", "replace") if end > at else ""
