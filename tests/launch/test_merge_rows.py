"""Stores of MIOpen, in the formats of its sources, from several writers."""

from __future__ import annotations

import bz2
import hashlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from envcfg.job.script import merge_rows
from envcfg.job.script.modules import render_module

# kern_db.hpp of ROCm/MIOpen (commit 04017b2).
TABLE = (
    "CREATE TABLE IF NOT EXISTS `kern_db` (`id` INTEGER PRIMARY KEY ASC,`kernel_name` TEXT NOT NULL"
    ",`kernel_args` TEXT NOT NULL,`kernel_blob` BLOB NOT NULL,`kernel_hash` TEXT NOT NULL"
    ",`uncompressed_size` INT NOT NULL);CREATE UNIQUE INDEX IF NOT EXISTS `idx_kern_db` ON "
    "kern_db(kernel_name, kernel_args, kernel_hash, uncompressed_size);"
)
_WRITER = """
import sys
sys.path[:0] = sys.argv[1].split(":")
from test_merge_rows import write
write(sys.argv[2], range(int(sys.argv[3]), int(sys.argv[3]) + 20))
"""


def kernel(number: int) -> bytes:
    return f"kernel {number} ".encode() * 500


def write(path: Path | str, numbers: range, spoil: bytes = b"") -> Path:
    """Store kernels as MIOpen does: compressed, or as they are if that is no gain."""
    Path(path).parent.mkdir(exist_ok=True)
    store = sqlite3.connect(path, timeout=60)
    store.executescript(TABLE)
    for number in numbers:
        code = kernel(number)
        blob, size = (code, 0) if number % 3 == 0 else (bz2.compress(code), len(code))
        digest = hashlib.md5(code).hexdigest()  # noqa: S324  # as MIOpen's
        row = (f"{number}.o", "-O3", blob + spoil, digest, size)
        with store:
            store.execute(
                "INSERT OR REPLACE INTO kern_db(kernel_name, kernel_args, kernel_blob, "
                "kernel_hash, uncompressed_size) VALUES(?, ?, ?, ?, ?)",
                row,
            )
    store.close()
    return Path(path)


def kernels(path: Path) -> dict[str, bytes]:
    """Return the kernels of a whole store, as MIOpen finds them."""
    store = sqlite3.connect(path)
    assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store.executescript(TABLE)  # as MIOpen does when it opens one
    rows = store.execute(
        "SELECT kernel_name, kernel_blob, uncompressed_size FROM kern_db"
    ).fetchall()
    assert len(rows) == len({row[0] for row in rows})
    return {name: bz2.decompress(blob) if size else blob for name, blob, size in rows}


def merge(target: Path, *folders: Path) -> str:
    """Merge as the module does, and return what it prints."""
    target.mkdir(exist_ok=True)
    text = Path(merge_rows.__file__).read_text()
    argv = [sys.executable, "-I", "-S", "-c", text, str(target), *map(str, folders)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_the_module_has_this_text() -> None:
    assert Path(merge_rows.__file__).read_text().rstrip() in render_module("kept_rows")


def test_kernels_of_sixteen_writers_are_merged(tmp_path: Path) -> None:
    """Each node has four processes that write one store at the same time."""
    nodes = [tmp_path / f"node{number}" for number in range(4)]
    for node in nodes:
        node.mkdir()
    here = f"{Path(__file__).parent}:{Path(__file__).parents[2]}"
    writers = [
        subprocess.Popen(
            [
                *(sys.executable, "-c", _WRITER, here),
                *(str(nodes[number % 4] / "gfx90a6e.ukdb"), str(number * 10)),
            ]
        )
        for number in range(16)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 16
    merged = tmp_path / "merged"
    assert merge(merged, *nodes) == "rows 170 0\n"
    assert kernels(merged / "gfx90a6e.ukdb") == {
        f"{number}.o": kernel(number) for number in range(170)
    }
    # A later job adds its own to them.
    write(tmp_path / "later/gfx90a6e.ukdb", range(165, 180))
    assert merge(merged, tmp_path / "later") == "rows 180 0\n"


@pytest.mark.parametrize("kind", ["blob", "cut", "other", "view", "text", "directory"])
def test_a_damaged_or_foreign_store_adds_nothing(tmp_path: Path, kind: str) -> None:
    good = write(tmp_path / "good/a.ukdb", range(5))
    bad = tmp_path / "bad/a.ukdb"
    if kind == "blob":
        write(bad, range(3, 12, 3), spoil=b"x")
    elif kind == "directory":
        bad.mkdir(parents=True)
    else:
        write(bad, range(100, 400))
    if kind == "cut":
        bad.write_bytes(bad.read_bytes()[:-8192])
    elif kind == "text":
        bad.write_text("no store")
    elif kind in {"other", "view"}:
        store = sqlite3.connect(bad)
        store.execute("CREATE TABLE x (y)")
        if kind == "view":
            store.executescript(
                "DROP TABLE x; ALTER TABLE kern_db RENAME TO k; CREATE VIEW kern_db AS SELECT * FROM k"
            )
        store.commit()
        store.close()
    merged = tmp_path / "merged"
    assert merge(merged, good.parent, bad.parent) == "rows 5 1\n"
    assert len(kernels(merged / "a.ukdb")) == 5


def test_a_store_of_a_process_that_was_killed_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "node/a.ukdb", range(50))
    text = (
        "import os, sqlite3, sys\nstore = sqlite3.connect(sys.argv[1])\n"
        "store.execute('PRAGMA cache_size = 1')\n"
        "store.execute('UPDATE kern_db SET kernel_blob = zeroblob(9000)')\nos._exit(1)\n"
    )
    subprocess.run([sys.executable, "-c", text, str(path)], check=False)
    assert (tmp_path / "node/a.ukdb-journal").stat().st_size
    assert merge(tmp_path / "merged", path.parent) == "rows 50 0\n"
    assert kernels(tmp_path / "merged/a.ukdb")["7.o"] == kernel(7)


def test_lines_of_text_stores_are_merged_by_key_and_solver(tmp_path: Path) -> None:
    for name, text in {
        "one": "64-56-1x1=ConvAsm:1,2;ConvOcl:3\nno line\n",
        "two": "64-56-1x1=ConvOcl:9;ConvHip:4,5\n64-28-3x3=ConvAsm:7\n64-14=Conv:1",
        "bad": "\0\0\0",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "gfx90a6e.HIP.updb.txt").write_text(text)
    merged = tmp_path / "merged"
    folders = [tmp_path / name for name in ("one", "two", "bad")]
    assert merge(merged, *folders) == "rows 4 1\n"
    assert (merged / "gfx90a6e.HIP.updb.txt").read_text() == (
        "64-56-1x1=ConvOcl:3;ConvHip:4,5;ConvAsm:1,2\n64-28-3x3=ConvAsm:7\n"
    )
