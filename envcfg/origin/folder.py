"""Profiles from a plain folder: each file is read once, and no link is followed."""

from __future__ import annotations

import os
import stat

from envcfg.errors import OutputError
from envcfg.origin.fetched import (
    FOLDERS,
    Entry,
    Fetched,
    no_profiles,
    profiles_among,
)
from envcfg.profile.read.nodes import MAX_BYTES


def read_folder(path: str, folder: str | None) -> Fetched:
    """Return the profiles in *folder* below *path*, or in the first usual one.

    Raises:
        OutputError: there are none, or not all can be read.
    """
    try:
        for each in FOLDERS if folder is None else (folder,):
            where = os.path.join(path, each).rstrip("/")
            if os.path.realpath(where) != f"{os.path.realpath(path)}/{each}".rstrip(
                "/"
            ):
                continue  # a link, which could lead out of it
            if names := profiles_among(_entries(where), where):
                return Fetched({name: _read(where, name) for name in names}, each)
    except OSError as err:
        msg = f"{err.filename or path}: cannot be read: {err.strerror}"
        raise OutputError(msg, hint="who owns it may let you") from err
    raise no_profiles(path, folder)


def _entries(folder: str) -> list[Entry]:
    try:
        found = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        Entry(
            each.name,
            each.stat().st_size if each.is_file(follow_symlinks=False) else None,
        )
        for each in found
    ]


def _read(folder: str, name: str) -> bytes:
    path = os.path.join(folder, name)
    # It may be another by now: neither a link nor a pipe is opened.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        data = file.read(MAX_BYTES + 1)
        if not stat.S_ISREG(os.fstat(handle).st_mode) or len(data) > MAX_BYTES:
            msg = f"{path}: has changed while it was read"
            raise OutputError(msg, hint="try again")
    return data
