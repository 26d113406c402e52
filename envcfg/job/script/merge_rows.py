"""Merge the stores of MIOpen that several nodes have written.

The module ``kept_rows`` contains the text of this file. It runs in the container, and
needs only Python 3.8. Arguments: the folder of the merged stores, and folders whose
stores are added to those of the same name. What a merged store has stays in it. The
output is the number of kernels and lines, and the stores that are damaged or foreign.
"""

from __future__ import annotations

import bz2
import os
import re
import sqlite3
import sys

TABLE = """
CREATE TABLE `kern_db` (`id` INTEGER PRIMARY KEY ASC, `kernel_name` TEXT NOT NULL,
 `kernel_args` TEXT NOT NULL, `kernel_blob` BLOB NOT NULL, `kernel_hash` TEXT NOT NULL,
 `uncompressed_size` INT NOT NULL);
CREATE UNIQUE INDEX `idx_kern_db` ON kern_db
 (kernel_name, kernel_args, kernel_hash, uncompressed_size);
"""
SCHEMA = [("idx_kern_db", "index"), ("kern_db", "table")]
FIELDS = "kernel_name, kernel_args, kernel_hash, uncompressed_size, kernel_blob"
SELECT = f"SELECT {FIELDS} FROM kern_db"  # noqa: S608
INSERT = f"INSERT INTO kern_db ({FIELDS}) VALUES (?, ?, ?, ?, ?)"  # noqa: S608
# KEY=SOLVER:VALUES;SOLVER:VALUES
LINE = re.compile(r"([^\s=][^=]*)=([^:;=]+:[^;]*(?:;[^:;=]+:[^;]*)*)\n")


def is_right(blob: bytes, digest: str, size: int) -> bool:
    """Return whether *blob* is a kernel with an MD5 *digest*; *size* 0: uncompressed."""
    import hashlib

    if size:
        unpacking = bz2.BZ2Decompressor()
        blob = unpacking.decompress(blob, size + 1)
        if len(blob) != size:
            return False
    return hashlib.md5(blob).hexdigest() == digest  # noqa: S324  # as MIOpen writes it


def open_store(path: str) -> sqlite3.Connection:
    """Return a store; raise ``ValueError`` unless it is a whole one of MIOpen."""
    store = sqlite3.connect(path)
    store.execute("PRAGMA trusted_schema = OFF")
    schema = store.execute("SELECT name, type FROM sqlite_master ORDER BY name")
    if schema.fetchall() != SCHEMA:
        msg = f"{path}: not a store of MIOpen"
        raise ValueError(msg)
    if store.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        msg = f"{path}: damaged"
        raise ValueError(msg)
    return store


def add_rows(source: str, target: str) -> None:
    """Add the kernels of one store to another."""
    new = open_store(source)
    if not os.path.exists(target):
        store = sqlite3.connect(target)
        store.executescript(TABLE)
        store.close()
    merged = open_store(target)
    with merged:  # all of its kernels, or none
        names = {*merged.execute("SELECT kernel_name, kernel_args FROM kern_db")}
        for row in new.execute(SELECT):
            if row[:2] in names:
                continue
            if not is_right(row[4], row[2], row[3]):
                msg = f"{source}: a damaged kernel"
                raise ValueError(msg)
            merged.execute(INSERT, row)


def read_lines(path: str) -> dict[str, dict[str, str]]:
    """Return the values of a text store, by key and solver, without damaged lines."""
    lines: dict[str, dict[str, str]] = {}
    if os.path.exists(path):
        with open(path, encoding="latin-1", newline="\n") as file:
            for match in filter(None, map(LINE.fullmatch, file)):
                solvers = dict(part.split(":", 1) for part in match[2].split(";"))
                lines[match[1]] = {**solvers, **lines.get(match[1], {})}
    return lines


def add_lines(source: str, target: str) -> None:
    """Add the lines of one text store to another."""
    lines, new = read_lines(target), read_lines(source)
    if not new:
        msg = f"{source}: not a store of MIOpen"
        raise ValueError(msg)
    for key, solvers in new.items():
        lines[key] = {**solvers, **lines.get(key, {})}
    with open(target, "w", encoding="latin-1", newline="\n") as file:
        for key, solvers in lines.items():
            values = ";".join(f"{name}:{text}" for name, text in solvers.items())
            file.write(f"{key}={values}\n")


def count(path: str) -> int:
    """Return the number of kernels or lines of a store."""
    if path.endswith(".txt"):
        return sum(map(len, read_lines(path).values()))
    (row,) = open_store(path).execute("SELECT count(*) FROM kern_db")
    return int(row[0])


def main(target: str, *folders: str) -> None:
    """Merge the stores in *folders*."""
    damaged = 0
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            path, merged = os.path.join(folder, name), os.path.join(target, name)
            try:
                if name.endswith(".ukdb"):
                    add_rows(path, merged)
                elif name.endswith(".txt"):
                    add_lines(path, merged)
            except (ValueError, TypeError, OSError, sqlite3.Error) as err:
                print(err, file=sys.stderr)
                damaged += 1
    stores = [os.path.join(target, name) for name in os.listdir(target)]
    print("rows", sum(map(count, stores)), damaged)


if __name__ == "__main__":
    main(*sys.argv[1:])
