"""Images in every form, made for the tests."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from envcfg.image.tree import Tree
from support import require

COMPRESSORS = ("gzip", "lzma", "lzo", "lz4", "xz", "zstd")
AMD64, ARM64 = b"02\0", b"04\0"
LABELS, PARTITION, SIGNATURE, OCI_INDEX, OCI_BLOB = (
    0x4003,
    0x4004,
    0x4005,
    0x400A,
    0x400B,
)
SQUASHFS, EXT3, ENCRYPTED = 1, 2, 5
ROOT, DATA, OVERLAY = 2, 3, 4


def make_folder(root: Path) -> Path:
    """Make a small image with everything that a tree can hold."""
    for folder in ("usr/bin", "etc", "opt/empty", ".singularity.d", "many"):
        (root / folder).mkdir(parents=True)
    (root / "etc/os-release").write_text("ID=busybox\n")
    (root / "etc/nothing").touch()
    program = root / "usr/bin/sh"
    program.write_bytes(b"\x7fELF" + bytes(range(256)) * 40)
    program.chmod(0o755)
    (root / "bin").symlink_to("usr/bin")
    (root / "lib").symlink_to("/usr/lib")  # leads nowhere
    (root / "round").symlink_to("round")
    (root / "out").symlink_to("../../../etc")
    (root / "deep").symlink_to("/opt/../etc/./os-release")
    (root / "usr/größe \n'name'").write_text("ä")
    os.link(root / "etc/os-release", root / "etc/again")
    os.mkfifo(root / "opt/fifo")
    labels = {"org.envcfg.name": "small", "number": 3}
    (root / ".singularity.d/labels.json").write_text(json.dumps(labels))
    # Repeated and not, so that blocks are compressed and stored; a hole; several blocks.
    noise = bytes(range(7, 256, 3)) * 1000 + os.urandom(300_000) + b"end" * 70_000
    (root / "opt/large").write_bytes(noise)
    with (root / "opt/sparse").open("wb") as file:
        file.write(b"first")
        file.seek(3 << 20)
        file.write(b"last")
    (root / "opt/exact").write_bytes(b"0123456789abcdef" * (1 << 14))  # blocks, no end
    for number in range(700):  # a folder whose list takes several blocks, and an index
        (root / f"many/a-rather-long-name-of-a-module-{number:04}.py").write_text(
            f"number = {number}\n" * (number % 50)
        )
    return root


def require_attributes(folder: Path) -> None:
    """Skip where files have no attributes of users, as on an old tmpfs."""
    try:
        os.setxattr(folder, "user.tried", b"y")
    except OSError:
        pytest.skip(f"{folder} takes no extended attributes")


def squash(folder: Path, image: Path, *options: str) -> Path:
    """Make a squashfs of *folder*."""
    require("mksquashfs")
    words = ["mksquashfs", str(folder), str(image), "-noappend", "-no-progress"]
    subprocess.run(
        [*words, "-processors", "1", *options], check=True, capture_output=True
    )
    return image


class Part(NamedTuple):
    """A descriptor of a SIF, and its data."""

    kind: int
    data: bytes
    extra: bytes = b""
    used: bool = True


def root_part(data: bytes, kind: int = SQUASHFS, machine: bytes = AMD64) -> Part:
    return Part(PARTITION, data, struct.pack("<ii3s", kind, ROOT, machine))


def make_sif(image: Path, parts: Sequence[Part], *, alignment: int = 4096) -> Path:
    """Put a SIF together byte by byte, as Apptainer's library lays it out."""
    total = 48
    start = 32768
    descriptors, data = [], b""
    for number, part in enumerate(parts, 1):
        data += bytes(-len(data) % alignment)
        numbers = (start + len(data), len(part.data), len(part.data), 0, 0, 0, 0)
        head = (part.kind, part.used, number, 0xF0000001, 0)
        descriptors.append(
            struct.pack("<i?III7q128s384s", *head, *numbers, b"part", part.extra)
        )
        data += part.data
    header = struct.pack(
        "<32s10s3s3s16s8q", b"#!/usr/bin/env run-singularity\n", b"SIF_MAGIC\0", b"01\0",
        AMD64, bytes(range(16)), 0, 0, total - len(parts), total, 4096, total * 585,
        start, len(data),
    )  # fmt: skip
    table = b"".join(descriptors).ljust(total * 585, b"\0")
    image.write_bytes((header.ljust(4096, b"\0") + table).ljust(start, b"\0") + data)
    return image


def make_store(
    store: Path,
    layers: Sequence[Path],
    *,
    names: Sequence[str] = ("localhost/small:latest",),
    config: Mapping[str, object] | None = None,
) -> str:
    """Make a store of Podman with one image of *layers*, lowest first; returns its ID."""
    import base64

    image = "ab" * 32
    ids = [f"{number:064x}" for number in range(1, len(layers) + 1)]
    for folder in ("overlay-images", "overlay-layers", "overlay/l"):
        (store / folder).mkdir(parents=True)
    listed = []
    for number, (layer, folder) in enumerate(zip(ids, layers, strict=True)):
        shutil.copytree(folder, store / "overlay" / layer / "diff", symlinks=True)
        (store / "overlay" / layer / "link").write_text(f"LINK{number}")
        listed.append({"id": layer} | ({"parent": ids[number - 1]} if number else {}))
    (store / "overlay-layers/layers.json").write_text(json.dumps(listed))
    entry = {"id": image, "names": list(names), "layer": ids[-1]}
    (store / "overlay-images/images.json").write_text(json.dumps([entry]))
    (store / "overlay-images" / image).mkdir()
    key = "=" + base64.b64encode(f"sha256:{image}".encode()).decode()
    (store / "overlay-images" / image / key).write_text(json.dumps(config or {}))
    return image


def contents(tree: Tree, folder: str = "/") -> dict[str, object]:
    """Return all that a tree shows, by its paths."""
    found: dict[str, object] = {}
    for name in tree.children(folder):
        path = folder.rstrip("/") + "/" + name
        entry = tree.entry(path)
        assert entry is not None
        if entry.kind == "folder":
            found[path] = "folder"
            found |= contents(tree, path)
        elif entry.kind == "file":
            with tree.open_entry(path) as file:
                data = file.read()
            assert len(data) == entry.size
            found[path] = (data, entry.executable)
        else:
            found[path] = (entry.kind, entry.target)
    return found
