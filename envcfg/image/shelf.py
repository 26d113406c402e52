"""The shared libraries of an image: each file is read once, and damage is remembered."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from envcfg.findings import Finding
from envcfg.image.elf import ElfError, find_words, read_library
from envcfg.image.loader import Loader
from envcfg.image.overlay import Overlay
from envcfg.image.record import Library
from envcfg.image.signs import LibrarySign, load_signs
from envcfg.image.tree import Tree

_DPKG = "/var/lib/dpkg/status"
_MOST_DPKG = 16 << 20
_SYSTEM = ("/usr/lib", "/lib")  # where Debian's packages put libraries


class Shelf:
    """The libraries of *tree*, as a program with *environ* finds them."""

    def __init__(self, tree: Tree, environ: Mapping[str, str]) -> None:
        """Look at nothing yet but what the loader reads."""
        self.tree = tree
        self.loader = Loader(tree, environ)
        self.damaged: list[Finding] = []
        self._libraries: dict[str, Library | None] = {}
        self._packages: dict[str, str] | None = None

    def library(self, path: str) -> Library | None:
        """Return what the file at *path* says; None where it is no ELF file."""
        real = self.tree.resolve(path)
        if real is None:
            return None
        if real not in self._libraries:
            self._libraries[real] = self._read(real)
        return self._libraries[real]

    def _read(self, path: str) -> Library | None:
        if isinstance(self.tree, Overlay) and (found := self.tree.recorded(path)):
            return found._replace(path=path)
        file = self.tree.open(path)
        if file is None:
            return None
        try:
            with file:
                return read_library(file, path, load_signs().plugins.symbols)
        except ElfError as err:
            self._note(path, err)
            return None

    def words(self, path: str, pattern: str) -> Iterator[re.Match[bytes]]:
        """Yield where *pattern* stands in the constants of the file at *path*."""
        real = self.tree.resolve(path) or path
        if isinstance(self.tree, Overlay) and self.tree.recorded(real):
            return  # its words were left where it is
        file = self.tree.open(path)
        if file is None:
            return
        try:
            with file:
                yield from find_words(file, pattern)
        except ElfError as err:
            self._note(path, err)

    def version(self, sign: LibrarySign, path: str) -> tuple[str, str] | None:
        """Return the version of the library at *path* and what shows it, or None."""
        real = self.tree.resolve(path) or path
        if sign.pc:
            for each in dict.fromkeys((path, real)):
                pc = f"{posixpath.dirname(each)}/pkgconfig/{sign.pc}.pc"
                text = self.tree.text(pc, 1 << 16) or ""
                if match_ := re.search(r"(?m)^Version:\s*(\d+(?:\.\d+)*)", text):
                    return match_[1], pc
        for pattern in sign.strings:
            for match in self.words(path, pattern):
                return match["value"].decode("ascii", "replace"), "its own words"
        if sign.file and (match_ := re.search(sign.file, real)):
            return match_["value"], "the name of its file"
        if sign.dpkg and real.startswith(_SYSTEM):
            version = self._dpkg().get(sign.dpkg, "")
            if match_ := re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", version):
                return match_[1], f"{_DPKG}: {sign.dpkg}"
        return None

    def glob(self, pattern: str, sites: Iterator[str] | list[str]) -> Iterator[str]:
        """Yield the paths that fit *pattern*, with ``{site}`` and ``{lib}`` filled in."""
        if "{lib}" in pattern:
            folders = self.loader.folders()
        elif "{site}" in pattern:
            folders = list(sites)
        else:
            yield from self.tree.glob(pattern)
            return
        for folder in folders:
            rest = re.sub(r"^\{(lib|site)\}", "", pattern)
            head, _, last = rest.rpartition("/")
            if any(sign in head for sign in "*?["):
                # The folder's own name may hold a sign of patterns: it is no pattern.
                yield from self._below(folder, rest.strip("/").split("/"))
            else:
                yield from self._named(f"{folder}{head}", last)

    def _below(self, folder: str, parts: list[str]) -> Iterator[str]:
        if len(parts) == 1:
            yield from self._named(folder, parts[0])
            return
        for name in self.tree.names(folder):
            if fnmatchcase(name, parts[0]):
                yield from self._below(f"{folder}/{name}", parts[1:])

    def _named(self, folder: str, pattern: str) -> Iterator[str]:
        if not any(sign in pattern for sign in "*?["):
            if self.tree.look(f"{folder}/{pattern}") is not None:
                yield f"{folder}/{pattern}"
            return
        for name in self.tree.names(folder):
            if fnmatchcase(name, pattern):
                yield f"{folder}/{name}"

    def _dpkg(self) -> dict[str, str]:
        if self._packages is None:
            self._packages = {}
            name = ""
            for line in (self.tree.text(_DPKG, _MOST_DPKG) or "").splitlines():
                key, _, value = line.partition(": ")
                if key == "Package":
                    name = value
                elif key == "Version" and name:
                    self._packages[name] = value
        return self._packages

    def _note(self, path: str, err: ElfError) -> None:
        found = Finding("image-library-damaged", "note", path, f"cannot be read: {err}")
        if found not in self.damaged:
            self.damaged.append(found)
