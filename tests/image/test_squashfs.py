"""A squashfs shows what the folder shows of which it was made, however it was made."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from made_forms import COMPRESSORS, contents, make_folder, require_attributes, squash

from envcfg.image import compression
from envcfg.image.bounded_file import BoundedFile, FormError
from envcfg.image.squashfs import SquashTree
from envcfg.image.tree import FolderTree


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("folder") / "image")


def opened(image: Path) -> SquashTree:
    return SquashTree(BoundedFile(os.open(image, os.O_RDONLY)))


OPTIONS = {
    "stored": ["-noI", "-noD", "-noF", "-noX"],
    "as enroot makes it": ["-comp", "lzo", "-noD"],
    "as podman-hpc makes it": ["-comp", "lz4"],
    "lz4 hc": ["-comp", "lz4", "-Xhc"],
    "small blocks": ["-b", "4096"],
    "large blocks": ["-b", "1048576", "-comp", "zstd"],
    "xz filters": ["-comp", "xz", "-Xbcj", "x86", "-b", "1048576"],
    "lzo fast": ["-comp", "lzo", "-Xalgorithm", "lzo1x_1"],
    "lzo in large blocks": ["-comp", "lzo", "-b", "1048576"],
    "no fragments": ["-no-fragments"],
    "always fragments": ["-always-use-fragments"],
    "tails": ["-tailends"],
    "no exports, no duplicates": ["-no-exports", "-no-duplicates"],
    **{name: ["-comp", name] for name in COMPRESSORS},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_squashfs_shows_the_folder(name: str, folder: Path, tmp_path: Path) -> None:
    tree = opened(squash(folder, tmp_path / "image.sqfs", *OPTIONS[name]))
    assert contents(tree) == contents(FolderTree(str(folder)))


def test_links_are_followed_inside(folder: Path, tmp_path: Path) -> None:
    tree = opened(squash(folder, tmp_path / "image.sqfs"))
    assert tree.resolve("/bin/sh") == "/usr/bin/sh"
    assert tree.text("/deep") == "ID=busybox\n"
    assert tree.text("/out/os-release") == "ID=busybox\n"
    assert tree.look("/round") is None
    assert tree.look("/lib") is None
    assert tree.look("/etc/os-release/more") is None
    assert tree.read("/etc") is None
    assert list(tree.glob("/u*/bin/s?")) == ["/usr/bin/sh"]
    assert tree.entry("/") is not None


def test_any_part_of_a_file_can_be_read(folder: Path, tmp_path: Path) -> None:
    tree = opened(squash(folder, tmp_path / "image.sqfs", "-b", "4096"))
    data = (folder / "opt/large").read_bytes()
    chance = random.Random(5)
    with tree.open_entry("/opt/large") as file:
        for _ in range(200):
            at, count = chance.randrange(len(data) + 9), chance.randrange(20_000)
            file.seek(at)
            assert file.read(count) == data[at : at + count]
        assert file.seek(-3, os.SEEK_END) == len(data) - 3
        assert file.read() == b"end"


def test_only_what_is_asked_for_is_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = squash(folder, tmp_path / "image.sqfs", "-noI", "-noD", "-noF")
    taken: list[int] = []
    pread = os.pread
    monkeypatch.setattr(
        os, "pread", lambda fd, n, at: taken.append(n) or pread(fd, n, at)
    )
    assert opened(image).text("/etc/os-release") == "ID=busybox\n"
    assert sum(taken) < 300_000 < image.stat().st_size


def test_a_device_0_0_is_a_whiteout(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "plain").touch()
    words = ["-p", "gone c 000 0 0 0 0", "-p", "null c 666 0 0 1 3"]
    tree = opened(squash(folder, tmp_path / "image.sqfs", *words))
    assert tree.names("/") == ["gone", "null", "plain"]
    marks = [name for name in tree.names("/") if tree.is_whiteout(f"/{name}")]
    assert marks == ["gone"]


@pytest.mark.parametrize("options", [[], ["-noX"], ["-no-xattrs"]])
def test_an_attribute_makes_a_folder_opaque(options: list[str], tmp_path: Path) -> None:
    require_attributes(tmp_path)
    folder = tmp_path / "folder"
    for number in range(600):  # more than one block of the table
        (folder / f"other-{number}").mkdir(parents=True)
    for name, attributes in {
        "opaque": {"user.overlay.opaque": b"y", "user.other": b"x" * 3000},
        "odd": {"user.overlay.opaque": b"n"},
        "else": {"user.else": b"y"},
        "plain": {},
    }.items():
        (folder / name).mkdir()
        for attribute, value in attributes.items():
            os.setxattr(folder / name, attribute, value)
    for number in range(600):
        os.setxattr(folder / f"other-{number}", "user.number", b"%d" % number)
    tree = opened(squash(folder, tmp_path / "image.sqfs", *options))
    marked = [name for name in tree.names("/") if tree.has_opaque_mark(f"/{name}")]
    assert marked == ([] if options == ["-no-xattrs"] else ["opaque"])


def test_a_compression_that_python_lacks_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = squash(folder, tmp_path / "image.sqfs", "-comp", "xz")
    absent = {4: ("xz", "no_such_module", compression.reader_of(1))}
    monkeypatch.setattr(compression, "_READERS", absent)
    with pytest.raises(
        FormError, match="compressed by xz, which this Python"
    ) as caught:
        opened(image)
    assert "no_such_module" in caught.value.hint


LIES = {
    "no magic": (0, b"\0\0\0\0", "does not begin as a squashfs"),
    "version 3": (28, b"\3\0", "does not begin as a squashfs"),
    "no compression": (20, b"\x63\0", "no compression of squashfs has the number 99"),
    "odd blocks": (12, b"\1\2\3\0", "blocks of"),
    "larger than the file": (40, b"\xff" * 6, "bytes are missing"),
    "inodes outside": (64, b"\xff" * 7, "is outside"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_superblock_that_lies_is_refused(
    name: str, folder: Path, tmp_path: Path
) -> None:
    image = squash(folder, tmp_path / "image.sqfs")
    place, lie, message = LIES[name]
    data = bytearray(image.read_bytes())
    data[place : place + len(lie)] = lie
    image.write_bytes(data)
    with pytest.raises(FormError, match=message):
        opened(image)
