"""What it costs to read some files of an image of 5 GB, against `unsquashfs -cat`.

The image is a SIF with 100,000 small files and three large libraries of noise, as images
of PyTorch have them. Of these, 40 files and 9 places in the libraries are asked for.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from benchmarks.race import Command, best
from benchmarks.read_image import HEAD
from benchmarks.rows import Row, ratio_row

FOLDERS, FILES = 1_000, 100  # of small files, and in each
LIBRARIES, LIBRARY = 3, 1_700_000_000  # and bytes of each
ASKED = 40
START = 32_768  # bytes of the SIF before its squashfs
ROOM = 7_000_000_000
ROUNDS = 5
MOST_SECONDS = 1.0
MOST_MEMORY = 60.0  # MB
SITE = "usr/lib/python3/site-packages"


def measure(folder: Path) -> list[Row]:
    """Return rows for time and memory.

    Raises:
        OSError: the disk has no room for the image, or mksquashfs is not there.
    """
    if shutil.disk_usage(folder).free < ROOM:
        msg = f"images needs {ROOM // 10**9} GB on the disk: {folder}; set TMPDIR elsewhere"
        raise OSError(msg)
    image = folder / "image.sif"
    try:
        _make(folder, image)
        return _rows(image)
    finally:
        image.unlink(missing_ok=True)


def _rows(image: Path) -> list[Row]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parent.parent)}
    read = [sys.executable, "-m", "benchmarks.read_image", str(image)]
    same = [f"{SITE}/package-{each:04}.dist-info/METADATA" for each in range(ASKED)]
    unsquashfs = shutil.which("unsquashfs") or "/usr/bin/unsquashfs"
    commands = {
        "envcfg": Command([*read, f"/{SITE}/package-00[0-3]?.dist-info"], env),
        "unsquashfs": Command(
            [unsquashfs, "-quiet", "-offset", str(START), "-cat", str(image), *same],
            env,
        ),
    }
    taken = best(commands, rounds=ROUNDS)
    ours, peer = taken["envcfg"], taken["unsquashfs"]
    form, total = ours.stdout.decode().split()
    if (form, int(total)) != ("sif", len(peer.stdout) + 3 * LIBRARIES * HEAD):
        msg = f"{total} bytes were read, and {len(peer.stdout)} by unsquashfs"
        raise RuntimeError(msg)
    size = image.stat().st_size / 1e9
    what = f"SIF of {size:.1f} GB, {FOLDERS * FILES:,} files: read {ASKED} and 9 places"
    memory = ratio_row(
        f"{what}: memory",
        measured=ours.megabytes,
        peer=peer.megabytes,
        against="unsquashfs -cat of the 40",
        unit="MB",
    )
    return [
        Row(
            what=f"{what}: time",
            measured=ours.seconds,
            peer=peer.seconds,
            against="unsquashfs -cat of the 40",
            unit="s",
            target=f"< {MOST_SECONDS:.0f} s",
            met=ours.seconds < MOST_SECONDS,
        ),
        Row(
            what=memory.what,
            measured=memory.measured,
            peer=memory.peer,
            against=memory.against,
            unit="MB",
            target=f"<= {MOST_MEMORY:.0f} MB",
            met=ours.megabytes <= MOST_MEMORY,
        ),
    ]


def _make(folder: Path, image: Path) -> None:
    """Write the image; its libraries never lie on the disk but in it."""
    root = folder / "root"
    noise = os.urandom(4096)
    for number in range(FOLDERS):
        package = root / SITE / f"package-{number:04}.dist-info"
        package.mkdir(parents=True)
        (package / "METADATA").write_text(f"Name: package-{number}\nVersion: 1.0\n")
        for file in range(FILES - 1):
            data = noise[: 200 + (number * 7 + file * 31) % 3000]
            (package / f"file-{file:03}.py").write_bytes(data + str(file).encode())
    words = [
        "mksquashfs",
        root,
        image,
        "-quiet",
        "-no-progress",
        "-noD",
        "-offset",
        START,
    ]
    for number in range(LIBRARIES):
        made = f"head -c {LIBRARY} /dev/urandom"
        words += ["-p", f"usr/lib/libtorch.so.{number} f 755 0 0 {made}"]
    subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(root)
    _write_header(image)


def _write_header(image: Path) -> None:
    size = image.stat().st_size - START
    header = struct.pack(
        "<32s10s3s3s16s8q", b"#!/usr/bin/env run-singularity\n", b"SIF_MAGIC\0", b"01\0",
        b"02\0", b"", 0, 0, 0, 1, 4096, 585, START, size,
    )  # fmt: skip
    partition = struct.pack("<ii3s", 1, 2, b"02\0")
    numbers = (START, size, size, 0, 0, 0, 0)
    descriptor = struct.pack(
        "<i?III7q128s384s", 0x4004, True, 1, 0xF0000001, 0, *numbers, b"root", partition
    )
    with image.open("r+b") as file:
        file.write(header.ljust(4096, b"\0") + descriptor)
