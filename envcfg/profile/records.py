"""The user's word that a profile counts: a record on its content, in a folder of theirs.

A record is a file named by the SHA-256 of the profile's real path and content, so that
another content, or the same in another place, has none. It holds the path, for a person
and for taking it back.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from envcfg.provenance import sha256_of


def record_name(real: str, data: bytes) -> str:
    """Return the name of the record on *data* at the path *real*."""
    return sha256_of(os.fsencode(real) + b"\0" + data)


def is_recorded(records: str, real: str, data: bytes) -> bool:
    """Tell whether the user has given their word on *data* at the path *real*."""
    try:
        said = os.lstat(os.path.join(records, record_name(real, data)))
    except OSError:
        return False
    return said.st_uid == os.geteuid() and not folder_problem(records)


def folder_problem(records: str) -> str | None:
    """Return why no record in this folder counts: others could have put them there."""
    try:
        folder = os.stat(records)
    except OSError:  # then there is none
        return None
    if folder.st_uid != os.geteuid():
        return f"{records} is not yours"
    if folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write {records}"
    return None


def record(records: str, real: str, data: bytes) -> None:
    """Record the user's word on *data* at the path *real*.

    Raises:
        OSError: it cannot be written.
    """
    from envcfg.atomic_write import put_private

    os.makedirs(records, mode=0o700, exist_ok=True)
    path = os.path.join(records, record_name(real, data))
    put_private(path, os.fsencode(real) + b"\n")


def recorded_paths(records: str) -> dict[str, str]:
    """Return of which path each record speaks, by the record's own path."""
    try:
        names = sorted(os.listdir(records))
    except OSError:  # then there is none
        return {}
    found = dict.fromkeys((f"{records}/{name}" for name in names), "")
    for each in found:
        with suppress(OSError), open(each, "rb") as file:
            found[each] = os.fsdecode(file.read().removesuffix(b"\n"))
    return found
