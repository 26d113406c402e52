"""ELF files: what a shared library needs and provides, and the words that stand in it.

They come from images of anybody. Whatever their bytes say, reading them ends, takes
bounded time and memory, and gives a record or an ``ElfError``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from envcfg.image.fact_patterns import load_signs
from envcfg.image.record import Library

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

MOST_SCANNED = 96 << 20  # bytes of constants in which a version is looked for
_MOST_READS = 400_000  # PyTorch's largest library takes a tenth
_MOST_BYTES = 64 << 20
_MOST_SYMBOLS = 60_000
_CHUNK = 1 << 20
_HOLE = bytes(_CHUNK)
_PAGE = 1 << 17  # the usual block of squashfs
_MOST_PAGES = 128
_LONGEST = 256  # bytes of one word that is looked for
_BASE = 1  # flag of the version that only names the library itself (VER_FLG_BASE)
# What damaged files make pyelftools raise, beside its own errors.
_DAMAGE = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(NotImplementedError, RecursionError, TypeError, ValueError),
)


class ElfError(ValueError):
    """A file that is not an ELF, or a damaged one; says so in words for people."""

    def __init__(self, what: str = "a damaged ELF file") -> None:
        """Keep *what* it is."""
        super().__init__(what)


def read_library(file: BinaryIO, path: str, symbols: str = "") -> Library:
    """Return what the ELF file at *path* says of itself.

    *symbols* is the pattern of the exported symbols that are wanted; empty: none.

    Raises:
        ElfError: it is not an ELF file, or a damaged one.
        OSError: it cannot be read.
    """
    from elftools.elf.dynamic import DynamicSegment

    elf = _open(file)
    with _mended():
        machine = str(elf["e_machine"]).removeprefix("EM_")
        soname, needed, runpath, is_rpath = "", [], "", False
        for segment in elf.iter_segments("PT_DYNAMIC"):
            tags = segment.iter_tags() if isinstance(segment, DynamicSegment) else ()
            for tag in tags:
                kind = str(tag.entry.d_tag).removeprefix("DT_")  # unknown: a number
                value = str(getattr(tag, kind.lower(), ""))
                if kind == "NEEDED":
                    needed.append(value)
                elif kind == "SONAME":
                    soname = value
                elif kind == "RUNPATH" or (kind == "RPATH" and not runpath):
                    # where both stand, RPATH is not looked at
                    runpath, is_rpath = value, kind == "RPATH"
        requires, provides = _versions(elf)
        return Library(
            path=path,
            soname=soname,
            machine=load_signs().machines.get(machine, machine.lower()),
            needed=tuple(needed),
            requires=requires,
            provides=provides,
            runpath=tuple(filter(None, runpath.split(":"))),
            is_rpath=is_rpath,
            symbols=tuple(sorted(_symbols(elf, symbols))) if symbols else (),
        )


def find_words(file: BinaryIO, pattern: str) -> Iterator[re.Match[bytes]]:
    """Yield where *pattern*, in ASCII, stands in the constants of an ELF file.

    Only ``.rodata`` is read, the code of GPUs is not; where there are no sections, the
    beginning of the file. At most ``MOST_SCANNED`` bytes, in pieces.

    Raises:
        ElfError: it is not an ELF file, or a damaged one.
        OSError: it cannot be read.
    """
    elf = _open(file)
    with _mended():
        section = elf.get_section_by_name(".rodata")
        start, size = (section["sh_offset"], section["sh_size"]) if section else (0, 0)
        file.seek(start)
    wanted = re.compile(pattern.encode("ascii"))
    left = min(size or MOST_SCANNED, MOST_SCANNED)
    kept = b""
    while left > 0 and (piece := file.read(min(_CHUNK, left))):
        left -= len(piece)
        if piece == _HOLE[: len(piece)]:  # of a sparse file, which costs no disk
            kept = b""
            continue
        text = kept + piece
        is_last = left <= 0 or len(piece) < _CHUNK
        # What begins in the last bytes is seen whole with the next piece.
        end = len(text) if is_last else len(text) - _LONGEST
        yield from (each for each in wanted.finditer(text) if each.start() < end)
        kept = text[end:]


def _open(file: BinaryIO) -> ELFFile:
    from elftools.elf.elffile import ELFFile

    file.seek(0)
    if file.read(4) != b"\x7fELF":
        raise ElfError("no ELF file")  # noqa: EM101
    file.seek(0)
    with _mended():
        return ELFFile(cast("IO[bytes]", _Metered(file)))


def _versions(
    elf: ELFFile,
) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the versions that it requires, by library, and those that it provides."""
    from elftools.elf.gnuversions import GNUVerDefSection, GNUVerNeedSection

    needs = elf.get_section_by_name(".gnu.version_r")
    has = elf.get_section_by_name(".gnu.version_d")
    wanted = needs.iter_versions() if isinstance(needs, GNUVerNeedSection) else ()
    there = has.iter_versions() if isinstance(has, GNUVerDefSection) else ()
    requires = {
        str(library.name): tuple(str(each.name) for each in versions)
        for library, versions in wanted
    }
    names = (islice(names, 1) for each, names in there if not each["vd_flags"] & _BASE)
    return requires, tuple(str(each.name) for some in names for each in some)


def _symbols(elf: ELFFile, pattern: str) -> Iterator[str]:
    from elftools.elf.sections import SymbolTableSection

    section = elf.get_section_by_name(".dynsym")
    if not isinstance(section, SymbolTableSection):
        return
    is_sane = section.num_symbols() <= _MOST_SYMBOLS
    for symbol in section.iter_symbols() if is_sane else ():
        name = str(symbol.name)
        if symbol["st_shndx"] != "SHN_UNDEF" and re.fullmatch(pattern, name):
            yield name


@contextmanager
def _mended() -> Iterator[None]:
    """Turn whatever damage raises into an ``ElfError``."""
    from elftools.common.exceptions import ELFError

    try:
        yield
    except ElfError:
        raise
    except (ELFError, *_DAMAGE) as err:
        raise ElfError from err


class _Metered:
    """A file that gives only so much: tables of a hostile file may never end.

    Pages are kept: tables are read here and there, and each read of a compressed image
    would unpack its block once more.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._reads = self._bytes = self._at = 0
        self._end = file.seek(0, 2)
        self._page = lru_cache(_MOST_PAGES)(self._read_page)

    def read(self, size: int = -1) -> bytes:
        self._reads += 1
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
        at = offset + (0, self._at, self._end)[whence]
        if not 0 <= at < 1 << 62:
            raise ElfError("an ELF file with places outside of it")  # noqa: EM101
        self._at = at
        return at

    def tell(self) -> int:
        return self._at
