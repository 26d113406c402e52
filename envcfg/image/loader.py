"""How the dynamic loader of an image finds a library, and why there; as ld.so(8) says."""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

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


class Found(NamedTuple):
    """Where a library is: its path, links not followed, and what leads there."""

    path: str
    why: str


class Loader:
    """The search of one image under one environment."""

    def __init__(self, tree: Tree, environ: Mapping[str, str]) -> None:
        """Read what is the same for every library.

        Args:
            tree: the image.
            environ: of the program: ``LD_LIBRARY_PATH`` and ``LD_PRELOAD`` count.
        """
        self._tree = tree
        self.preloaded = tuple(environ.get("LD_PRELOAD", "").replace(":", " ").split())
        self.library_path = _folders(environ.get("LD_LIBRARY_PATH", ""))
        self.defaults = _defaults(tree)
        self.cache = read_cache(tree.read("/etc/ld.so.cache", _MOST_CACHED) or b"")

    def find(self, soname: str, wanted_by: Library | None = None) -> Found | None:
        """Return the file that is loaded for *soname*; None where there is none.

        Args:
            soname: as ``DT_NEEDED`` or ``dlopen`` name it.
            wanted_by: the library that needs it; None: the program itself.
        """
        for path, why in self._places(soname, wanted_by):
            entry = self._tree.look(path)
            if entry and entry.kind == "file":
                return Found(path, why)
        return None

    def _places(self, soname: str, by: Library | None) -> Iterator[tuple[str, str]]:
        for path in self.preloaded:
            if posixpath.basename(path) == soname:
                yield path, "LD_PRELOAD of the image"
        own = [] if by is None else list(own_folders(by))
        if by is not None and by.is_rpath:
            for folder in own:
                yield f"{folder}/{soname}", f"RPATH of {by.path}"
        for folder in self.library_path:
            yield f"{folder}/{soname}", "LD_LIBRARY_PATH of the image"
        if by is not None and not by.is_rpath:
            for folder in own:
                yield f"{folder}/{soname}", f"RUNPATH of {by.path}"
        for path in self.cache.get(soname, ()):
            yield path, "/etc/ld.so.cache"
        for folder in self.defaults:
            yield f"{folder}/{soname}", "default folder of the loader"

    def folders(self) -> list[str]:
        """Return the folders in which libraries lie, for every program of the image."""
        cached = (
            posixpath.dirname(each) for all_ in self.cache.values() for each in all_
        )
        every = dict.fromkeys((*self.library_path, *cached, *self.defaults))
        return list(every)[:_MOST_FOLDERS]


def _defaults(tree: Tree) -> tuple[str, ...]:
    for triplet in _TRIPLETS:
        if tree.look(f"/usr/lib/{triplet}/libc.so.6") or tree.look(
            f"/lib/{triplet}/libc.so.6"
        ):
            return tuple(each.format(triplet) for each in _DEBIAN)
    return _OTHERS


def own_folders(library: Library) -> Iterator[str]:
    """Yield the folders that *library* itself names, ``$ORIGIN`` filled in."""
    origin = posixpath.dirname(library.path)
    for each in library.runpath:
        folder = each.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
        if folder.startswith("/"):
            yield posixpath.normpath(folder)


def read_cache(data: bytes) -> dict[str, tuple[str, ...]]:
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


def _folders(path: str) -> Sequence[str]:
    return [each.rstrip("/") for each in path.split(":") if each.startswith("/")]
