"""ELF files: their needed libraries, provided symbols, and strings.

The files come from images of unknown origin. Reading always ends, with bounded time and
memory, in a record or an ``ElfError``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from envcfg.image.fact_patterns import load_signs
from envcfg.image.image_record import Library

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

MOST_SCANNED = 96 << 20  # bytes of constants that are searched for a version
_MOST_READS = 400_000  # PyTorch's largest library needs a tenth
_MOST_BYTES = 64 << 20
_MOST_SYMBOLS = 60_000
_CHUNK = 1 << 20
_HOLE = bytes(_CHUNK)
_PAGE = 1 << 17  # the usual block of squashfs
_MOST_PAGES = 128
_LONGEST = 256  # bytes of one searched word
_BASE = 1  # flag of the version that only names the library itself (VER_FLG_BASE)
# Exceptions of pyelftools for damaged files, besides its own.
_DAMAGE = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(NotImplementedError, RecursionError, TypeError, ValueError),
)


class ElfError(ValueError):
    """A file that is not an ELF, or a damaged one; the message is readable."""

    def __init__(self, damage: str = "a damaged ELF file") -> None:
        """Keep the description of the damage."""
        super().__init__(damage)


def read_library(file: BinaryIO, path: str, symbols: str = "") -> Library:
    """Return the dependencies and symbols of the ELF file at *path*.

    *symbols* is the pattern of the wanted exported symbols; empty: none.

    Raises:
        ElfError: it is not an ELF file, or a damaged one.
        OSError: it cannot be read.
    """
    # pyelftools is imported late: most commands read no library.
    from elftools.elf.dynamic import DynamicSegment

    elf = _open(file)
    with _mended():
        machine = str(elf["e_machine"]).removeprefix("EM_")
        soname, needed, runpath, is_rpath = "", [], "", False
        for segment in elf.iter_segments("PT_DYNAMIC"):
            tags = segment.iter_tags() if isinstance(segment, DynamicSegment) else ()
            for tag in tags:
                kind = str(tag.entry.d_tag).removeprefix("DT_")  # or a number
                value = str(getattr(tag, kind.lower(), ""))
                if kind == "NEEDED":
                    needed.append(value)
                elif kind == "SONAME":
                    soname = value
                elif kind == "RUNPATH" or (kind == "RPATH" and not runpath):
                    # the loader ignores RPATH if RUNPATH exists
                    runpath, is_rpath = value, kind == "RPATH"
        requires, provides = _versions(elf)
        return Library(
            path=path,
            soname=soname,
            machine=load_signs().machines.get(machine, machine.lower()),
            needed=tuple(needed),
            requires=requires,
            provides=provides,
            # An empty entry means the current folder, which is never the library's.
            runpath=tuple(filter(None, runpath.split(":"))),
            is_rpath=is_rpath,
            # The symbols are read only if needed: large libraries have tens of
            # thousands.
            symbols=tuple(sorted(_symbols(elf, symbols))) if symbols else (),
        )


def find_words(file: BinaryIO, pattern: str) -> Iterator[re.Match[bytes]]:
    """Yield the matches of the ASCII *pattern* in the constants of an ELF file.

    Only ``.rodata`` is read, not the code of GPUs. Without sections, the beginning of
    the file is read. At most ``MOST_SCANNED`` bytes are read, in pieces.

    Raises:
        ElfError: it is not an ELF file, or a damaged one.
        OSError: it cannot be read.
    """
    elf = _open(file)
    with _mended():
        section = elf.get_section_by_name(".rodata")
        start, size = (section["sh_offset"], section["sh_size"]) if section else (0, 0)
        file.seek(start)
    expression = re.compile(pattern.encode("ascii"))
    remaining = min(size or MOST_SCANNED, MOST_SCANNED)
    tail = b""
    while remaining > 0 and (piece := file.read(min(_CHUNK, remaining))):
        remaining -= len(piece)
        if piece == _HOLE[: len(piece)]:  # a hole of a sparse file
            tail = b""
            continue
        text = tail + piece
        is_last = remaining <= 0 or len(piece) < _CHUNK
        # A match that begins in the last bytes is found completely with the next
        # piece.
        end = len(text) if is_last else len(text) - _LONGEST
        yield from (match for match in expression.finditer(text) if match.start() < end)
        tail = text[end:]


def _open(file: BinaryIO) -> ELFFile:
    from elftools.elf.elffile import ELFFile

    file.seek(0)
    if file.read(4) != b"\x7fELF":
        raise ElfError("no ELF file")  # noqa: EM101
    file.seek(0)
    with _mended():
        return ELFFile(cast("IO[bytes]", _LimitedFile(file)))


def _versions(
    elf: ELFFile,
) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the versions that *elf* requires, by library, and those that it provides."""
    from elftools.elf.gnuversions import GNUVerDefSection, GNUVerNeedSection

    needs = elf.get_section_by_name(".gnu.version_r")
    has = elf.get_section_by_name(".gnu.version_d")
    needs_versions = (
        needs.iter_versions() if isinstance(needs, GNUVerNeedSection) else ()
    )
    has_versions = has.iter_versions() if isinstance(has, GNUVerDefSection) else ()
    requires = {
        str(library.name): tuple(str(version.name) for version in versions)
        for library, versions in needs_versions
    }
    # The first name of a version is its own; the following names are its
    # predecessors.
    names = (
        islice(names, 1)
        for version, names in has_versions
        # The base version names only the file, and no symbol requires it.
        if not version["vd_flags"] & _BASE
    )
    return requires, tuple(
        str(version_auxiliary.name) for some in names for version_auxiliary in some
    )


def _symbols(elf: ELFFile, pattern: str) -> Iterator[str]:
    from elftools.elf.sections import SymbolTableSection

    section = elf.get_section_by_name(".dynsym")
    if not isinstance(section, SymbolTableSection):
        return
    # A table above the limit is not read: its entries could not be trusted.
    is_sane = section.num_symbols() <= _MOST_SYMBOLS
    for symbol in section.iter_symbols() if is_sane else ():
        name = str(symbol.name)
        if symbol["st_shndx"] != "SHN_UNDEF" and re.fullmatch(pattern, name):
            yield name


@contextmanager
def _mended() -> Iterator[None]:
    """Turn every exception caused by damage into an ``ElfError``."""
    from elftools.common.exceptions import ELFError

    try:
        yield
    except ElfError:
        raise
    except (ELFError, *_DAMAGE) as err:
        raise ElfError from err


class _LimitedFile:
    """A file with a limit on reads: the tables of a hostile file may never end.

    Pages are kept in memory, because tables are read in no order. Each read of a
    compressed image would decompress its block again.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._reads = self._bytes = self._at = 0
        self._end = file.seek(0, 2)
        self._page = lru_cache(_MOST_PAGES)(self._read_page)

    def read(self, size: int = -1) -> bytes:
        self._reads += 1
        # A negative size means the whole file, which no table needs.
        if size < 0 or self._reads > _MOST_READS or self._bytes + size > _MOST_BYTES:
            raise ElfError("an ELF file with tables without end")  # noqa: EM101
        size = max(0, min(size, self._end - self._at))
        first, last = self._at // _PAGE, (self._at + size) // _PAGE
        data = b"".join(self._page(number) for number in range(first, last + 1))
        start = self._at - first * _PAGE
        self._at += size
        self._bytes += size
        return data[start : start + size]

    def _read_page(self, number: int) -> bytes:
        self._file.seek(number * _PAGE)
        return self._file.read(_PAGE)

    def seek(self, offset: int, whence: int = 0) -> int:
        position = offset + (0, self._at, self._end)[whence]
        # seek() of a real file fails for larger offsets, with another exception.
        if not 0 <= position < 1 << 62:
            raise ElfError("an ELF file with places outside of it")  # noqa: EM101
        self._at = position
        return position

    def tell(self) -> int:
        return self._at
