"""The shared libraries of an image: the choice of the loader, and the content of each
file."""

import posixpath
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import BinaryIO, NamedTuple

from envcfg.common.characters import split_lines
from envcfg.common.findings import Finding, finding_in
from envcfg.image.elf import ElfError, find_words, read_library
from envcfg.image.fact_patterns import LibrarySign, load_signs
from envcfg.image.image_environment import folders_of
from envcfg.image.image_record import Library
from envcfg.image.tree import Tree

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER, _ENTRY = 48, 24
_MOST_CACHED = 8 << 20
_MOST_FOLDERS = 200
# The search paths compiled into the loader of each distribution, as listed by
# ``ld.so --help``. Debian and Ubuntu do not search lib64.
_DEBIAN = ("/lib/{}", "/usr/lib/{}", "/lib", "/usr/lib")
_TRIPLETS = ("x86_64-linux-gnu", "aarch64-linux-gnu", "powerpc64le-linux-gnu")
_OTHERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_DPKG = "/var/lib/dpkg/status"
_MOST_DPKG = 16 << 20
_SYSTEM = ("/usr/lib", "/lib")  # the folders of libraries in Debian's packages


class Location(NamedTuple):
    """The location of a library: its path without resolving links, and the reason."""

    path: str
    why: str


class LibraryIndex:
    """The libraries of one image, found as by the loader under one environment."""

    def __init__(self, tree: Tree, environ: Mapping[str, str]) -> None:
        """Prepare the search paths of the loader for a program with this *environ*."""
        self.tree = tree  # the image
        # The libraries in `LD_PRELOAD`. The loader accepts blanks and colons as
        # separators in this variable.
        self.preloaded = tuple(environ.get("LD_PRELOAD", "").replace(":", " ").split())
        self._library_path = folders_of(environ.get("LD_LIBRARY_PATH", ""))
        self._defaults: tuple[str, ...] = _OTHERS
        for triplet in _TRIPLETS:
            # The place of libc identifies the distribution more reliably than
            # os-release.
            if any(tree.look(f"{folder}/{triplet}/libc.so.6") for folder in _SYSTEM):
                self._defaults = tuple(pattern.format(triplet) for pattern in _DEBIAN)
                break
        self._cache = _read_cache(tree.read("/etc/ld.so.cache", _MOST_CACHED) or b"")
        self.damaged: list[Finding] = []  # libraries that could not be read
        self._libraries: dict[str, Library | None] = {}
        self._packages: dict[str, str] | None = None

    def find(self, soname: str, wanted_by: Library | None = None) -> Location | None:
        """Return the file that the loader uses for *soname*; None if there is none.

        *wanted_by* is the library with this dependency; None: the program itself.
        """
        # The first existing place wins, in the order of the loader.
        for path, why in self._places(soname, wanted_by):
            entry = self.tree.look(path)
            if entry and entry.kind == "file":
                return Location(path, why)
        return None

    def _places(self, soname: str, by: Library | None) -> Iterator[tuple[str, str]]:
        # A preloaded library satisfies later requests for its name.
        for path in self.preloaded:
            if posixpath.basename(path) == soname:
                yield path, "LD_PRELOAD of the image"
        places = [(self._library_path, "LD_LIBRARY_PATH of the image")]
        if by is not None:
            # RPATH is searched before LD_LIBRARY_PATH, RUNPATH after it.
            kind, index = ("RPATH", 0) if by.is_rpath else ("RUNPATH", 1)
            places.insert(index, (list(_own_folders(by)), f"{kind} of {by.path}"))
        for folders, why in places:
            yield from ((f"{folder}/{soname}", why) for folder in folders)
        for path in self._cache.get(soname, ()):
            yield path, "/etc/ld.so.cache"
        for folder in self._defaults:
            yield f"{folder}/{soname}", "default folder of the loader"

    def folders(self) -> list[str]:
        """Return the folders with libraries, for every program of the image."""
        cached = map(posixpath.dirname, chain.from_iterable(self._cache.values()))
        every = dict.fromkeys((*self._library_path, *cached, *self._defaults))
        # The number is limited: a hostile cache could name any number of folders.
        return list(every)[:_MOST_FOLDERS]

    def library(self, path: str) -> Library | None:
        """Return the library at *path*; None if it is not an ELF file."""
        real = self.tree.resolve(path)
        if real is None:
            return None
        if real not in self._libraries:
            # The stored path is the real one, so that two links give the same
            # library.
            self._libraries[real] = None
            with self._opened(real) as file:
                if file:
                    symbols = load_signs().plugins.symbols
                    self._libraries[real] = read_library(file, real, symbols)
        return self._libraries[real]

    def words(self, path: str, pattern: str) -> Iterator[re.Match[bytes]]:
        """Yield the matches of *pattern* in the constants of the file at *path*."""
        with self._opened(path) as file:
            yield from find_words(file, pattern) if file else ()

    def first_words(self, path: str, patterns: Sequence[str]) -> dict[str, str] | None:
        """Return the groups of the first matching pattern in a file, as text."""
        for pattern in patterns:
            for match in self.words(path, pattern):
                groups = match.groupdict(b"").items()
                return {name: text.decode("ascii", "replace") for name, text in groups}
        return None

    def version(self, sign: LibrarySign, path: str) -> str:
        """Return the version of the library at *path*; ``yes`` if it is unknown."""
        real = self.tree.resolve(path) or path
        # pkg-config gives an exact version, and is cheaper than a search in the
        # library.
        for copy in dict.fromkeys((path, real)) if sign.pc else ():
            pc = f"{posixpath.dirname(copy)}/pkgconfig/{sign.pc}.pc"
            text = self.tree.text(pc, 1 << 16) or ""
            if match_ := re.search(r"(?m)^Version:\s*(\d+(?:\.\d+)*)", text):
                return match_[1]
        # Strings come before the file name: sonames such as libnccl.so.2 are too
        # imprecise.
        if groups := self.first_words(path, sign.strings):
            return groups["value"]
        if sign.file and (match_ := re.search(sign.file, real)):
            return match_["value"]
        # A package database knows only files of the system's folders.
        if sign.dpkg and real.startswith(_SYSTEM):
            version = self._dpkg().get(sign.dpkg, "")
            # The epoch before the colon and the revision after the dash are
            # Debian's own.
            if match_ := re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", version):
                return match_[1]
        return "yes"

    def glob(self, pattern: str, sites: Iterator[str] | list[str]) -> Iterator[str]:
        """Yield the paths that match *pattern*, with ``{site}`` and ``{lib}`` filled in."""
        if not pattern.startswith(("{lib}", "{site}")):
            yield from self.tree.glob(pattern)
            return
        start, _, inside = pattern.partition("}")
        for folder in self.folders() if start == "{lib" else list(sites):
            # The folder's name may contain a glob character. It is not part of the
            # pattern.
            yield from self.tree.glob(inside, below=folder, hidden=True)

    def _dpkg(self) -> dict[str, str]:
        if self._packages is None:
            self._packages, name = {}, ""
            for line in split_lines(self.tree.text(_DPKG, _MOST_DPKG) or ""):
                key, _, value = line.partition(": ")
                name = value if key == "Package" else name
                if key == "Version" and name:
                    self._packages[name] = value
        return self._packages

    @contextmanager
    def _opened(self, path: str) -> Iterator[BinaryIO | None]:
        """Yield a file, or None if it does not exist; record a damaged file."""
        try:
            with self.tree.open(path) or nullcontext() as file:
                yield file
        except ElfError as err:
            finding = finding_in("image", "image-library-damaged", path, problem=err)
            # The same file may be opened several times, and needs one finding.
            if finding not in self.damaged:
                self.damaged.append(finding)


def _own_folders(library: Library) -> Iterator[str]:
    """Yield the folders in the library's own search path, with ``$ORIGIN`` filled in."""
    origin = posixpath.dirname(library.path)
    for name in library.runpath:
        folder = name.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
        # A relative folder depends on the current folder of the program, which is
        # unknown.
        if folder.startswith("/"):
            yield posixpath.normpath(folder)


def _read_cache(data: bytes) -> dict[str, tuple[str, ...]]:
    """Return the paths of each soname in an ``ld.so.cache``; empty if the cache is
    damaged.

    Source: glibc, ``sysdeps/generic/dl-cache.h`` (``struct cache_file_new``), 2.32.
    """
    # An old cache may precede the new one in the same file, so the magic is
    # searched.
    start = data.find(_MAGIC)
    if start < 0 or len(data) < start + _HEADER:
        return {}
    (count,) = struct.unpack_from("<I", data, start + len(_MAGIC))
    table = data[start + _HEADER : start + _HEADER + count * _ENTRY]
    # A cut table ends within an entry; the rest is dropped.
    table = table[: len(table) - len(table) % _ENTRY]
    entries: dict[str, list[str]] = {}
    for _, key, value, _, _ in struct.iter_unpack("<iIIIQ", table):
        soname, path = _text(data, start + key), _text(data, start + value)
        if soname and path.startswith("/"):
            entries.setdefault(soname, []).append(path)
    return {soname: tuple(dict.fromkeys(paths)) for soname, paths in entries.items()}


def _text(data: bytes, position: int) -> str:
    # The length is limited, because a damaged offset may point into other data.
    end = data.find(b"\0", position, position + 4096)
    return data[position:end].decode("utf-8", "replace") if end > position else ""
