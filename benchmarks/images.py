"""What it costs to read some files of an image of 5 GB, against `unsquashfs -cat`.

The image is a SIF with 100,000 small files and three large libraries, real ones with noise
behind, as images of PyTorch have them. Of these, 40 files and 9 places in the libraries are
asked for; and `envcfg inspect` says what is in it.
"""

from __future__ import annotations

import json
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
MOST_INSPECT_SECONDS = 10.0
MOST_INSPECT_MEMORY = 120.0  # MB
SITE = "usr/lib/python3.12/site-packages"
NAMES = ("libtorch_cpu.so", "libtorch_cuda.so", "libnccl.so.2")
FACTS = {"torch": "2.9.1", "nccl": "2.27.5", "python": "3.12"}


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
    told = _inspected(image, env)
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
        *told,
    ]


def _inspected(image: Path, env: dict[str, str]) -> list[Row]:
    """Return rows for ``envcfg inspect``, which must find what is in the image."""
    words = [sys.executable, "-m", "envcfg", "inspect", "--json", str(image)]
    bare = [sys.executable, "-c", "import argparse, elftools.elf.elffile"]
    commands = {"inspect": Command(words, env), "bare": Command(bare, env)}
    taken = best(commands, rounds=ROUNDS)
    ours, floor = taken["inspect"], taken["bare"]
    facts = {
        each["name"]: each["value"]
        for each in json.loads(ours.stdout)["facts"]
        if each["taken"]
    }
    if facts | FACTS != facts:
        msg = f"inspect says {facts}"
        raise RuntimeError(msg)
    what = "envcfg inspect of the same SIF"
    return [
        Row(
            what=f"{what}: time",
            measured=ours.seconds,
            peer=floor.seconds,
            against="Python with argparse and elftools",
            unit="s",
            target=f"< {MOST_INSPECT_SECONDS:.0f} s",
            met=ours.seconds < MOST_INSPECT_SECONDS,
        ),
        Row(
            what=f"{what}: memory",
            measured=ours.megabytes,
            peer=floor.megabytes,
            against="Python with argparse and elftools",
            unit="MB",
            target=f"<= {MOST_INSPECT_MEMORY:.0f} MB",
            met=ours.megabytes <= MOST_INSPECT_MEMORY,
        ),
    ]


def _make(folder: Path, image: Path) -> None:
    """Write the image; its libraries never lie on the disk but in it."""
    root = folder / "root"
    noise = os.urandom(4096)
    (root / SITE / "torch").mkdir(parents=True)
    (root / SITE / "torch/version.py").write_text("__version__ = '2.9.1+cu129'\n")
    (root / "usr/bin").mkdir()
    for name in ("python3.12", "sh", "bash", "mkdir", "env"):
        (root / "usr/bin" / name).touch(mode=0o755)
    (root / "bin").symlink_to("usr/bin")
    (root / "usr/bin/python3").symlink_to("python3.12")
    libraries = _libraries(folder)
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
    for library in libraries:
        made = f"cat {library}; head -c {LIBRARY} /dev/urandom"
        place = f"{SITE}/torch/lib/{library.name}"
        words += ["-p", f"{place} f 755 0 0 {made}"]
    (root / SITE / "torch/lib").mkdir()
    subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(root)
    _write_header(image)


def _libraries(folder: Path) -> list[Path]:
    """Compile the beginnings of the libraries."""
    made = []
    for name in reversed(NAMES):
        code = 'const char *said = "NCCL version 2.27.5+cuda12.9";'
        needed = made if name == "libtorch_cuda.so" else []
        source = code if name == "libnccl.so.2" else "int nothing;"
        gcc = [
            "gcc",
            "-shared",
            "-nostdlib",
            "-fPIC",
            "-x",
            "c",
            "-",
            "-x",
            "none",
            *needed,
        ]
        link = ["-Wl,--no-as-needed,-rpath,$ORIGIN", f"-Wl,-soname,{name}"]
        target = folder / name
        subprocess.run(
            [*map(str, gcc), *link, "-o", str(target)],
            input=source.encode(),
            check=True,
        )
        made.append(target)
    return made


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
