"""ELF files: what the compiler made is read as it is; any other bytes end in an error."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from envcfg.image.elf import ElfError, find_words, read_library
from imaging import Image


def made(folder: Path) -> bytes:
    image = Image(folder / "elf")
    image.library(
        "lib.so",
        soname="libfabric.so.1",
        needs=["libcxi.so.1"],
        uses={"libefa.so.1": {"efa_open": "EFA_1.1", "efa_new": "EFA_1.2"}},
        provides={
            "FABRIC_1.0": ["fi_a"],
            "FABRIC_1.7": ["fi_b"],
            "N": ["ncclNetPlugin_v8"],
        },
        words="NCCL version 2.21.5+cuda12.4",
        runpath="$ORIGIN:/opt/lib",
    )
    return (image.root / "lib.so").read_bytes()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return made(tmp_path_factory.mktemp("elf"))


def test_a_library_is_read_as_it_was_made(data: bytes) -> None:
    found = read_library(io.BytesIO(data), "/lib.so", r"ncclNetPlugin_v\d+")
    assert found.soname == "libfabric.so.1"
    assert found.machine == "x86_64"
    assert found.needed == ("libcxi.so.1", "libefa.so.1")
    assert {k: sorted(v) for k, v in found.requires.items()} == {
        "libefa.so.1": ["EFA_1.1", "EFA_1.2"]
    }
    assert found.provides == ("FABRIC_1.0", "FABRIC_1.7", "N")
    assert found.runpath == ("$ORIGIN", "/opt/lib")
    assert not found.is_rpath
    assert found.symbols == ("ncclNetPlugin_v8",)


def test_an_rpath_is_told_from_a_runpath(tmp_path: Path) -> None:
    image = Image(tmp_path / "image")
    image.library("lib.so", rpath="/a:/b")
    with (image.root / "lib.so").open("rb") as file:
        found = read_library(file, "/lib.so")
    assert (found.runpath, found.is_rpath) == (("/a", "/b"), True)


def test_words_are_found_where_they_stand(data: bytes) -> None:
    (found,) = find_words(io.BytesIO(data), r"NCCL version (?P<value>[\d.]+)")
    assert found["value"] == b"2.21.5"


def test_words_across_two_pieces_are_found_once(tmp_path: Path) -> None:
    image = Image(tmp_path / "image")
    size = (1 << 20) - 10
    code = f'NCCL version 2.1.1", fill[{size}] = "x", more[] = "NCCL version 2.2.2'
    image.library("lib.so", words=code)
    with (image.root / "lib.so").open("rb") as file:
        found = [match[1] for match in find_words(file, r"NCCL version ([\d.]+)")]
    assert sorted(found) == [b"2.1.1", b"2.2.2"]


@given(st.binary(max_size=400))
@example(b"")
@example(b"\x7fELF")
@example(b"\x7fELF\x02\x01\x01" + bytes(57))
def test_any_bytes_end_in_a_library_or_an_error(data: bytes) -> None:
    for head in (b"", b"\x7fELF\x02\x01\x01", b"\x7fELF\x01\x02\x01"):
        for read in (
            lambda file: read_library(file, "/x", ".*"),
            lambda file: list(find_words(file, "x")),
        ):
            with suppress(ElfError):
                read(io.BytesIO(head + data))


@settings(deadline=None)
@given(st.data())
def test_a_spoilt_library_ends_in_a_library_or_an_error(
    data: bytes, draw: st.DataObject
) -> None:
    spoilt = bytearray(data)
    for at in draw.draw(st.lists(st.integers(0, len(data) - 1), max_size=12)):
        spoilt[at] = draw.draw(st.sampled_from((0, 1, 0x7F, 0x80, 0xFF)))
    end = draw.draw(st.integers(0, len(data)))
    for bytes_ in (bytes(spoilt), data[:end], bytes(spoilt[:end])):
        with suppress(ElfError):
            read_library(io.BytesIO(bytes_), "/x", ".*")
            list(find_words(io.BytesIO(bytes_), "x+"))


def test_a_hole_of_a_sparse_file_is_not_searched(tmp_path: Path) -> None:
    """A file of 50 GB takes some kB of an image, and its holes would take seconds."""
    image = Image(tmp_path / "image")
    path = (
        tmp_path
        / "image"
        / image.library("lib.so", words="NCCL version 2.1").lstrip("/")
    )
    data = bytearray(path.read_bytes())
    data[0x28:0x30] = bytes(8)  # no sections, so that all of it is searched
    data[0x3C:0x40] = bytes(4)
    path.write_bytes(data)
    os.truncate(path, 8 << 20)
    with path.open("rb+") as file:
        file.seek(6 << 20)
        file.write(b"NCCL version 2.2")
        assert [m["v"] for m in find_words(file, "version (?P<v>[0-9.]+)")] == [
            b"2.1",
            b"2.2",
        ]
        holes = list(find_words(file, r"\x00{1048576}"))
        assert holes == []
