"""The user's decisions to trust files: their content, in a folder of the user.

A record is a JSON file, named by a hash of the path and the content of the files that
count by their place. It stores this content, and that of the files they name. Therefore
other content, or the same in another folder, has no record, and the difference from the
trusted content can be shown.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from envcfg.common.provenance import sha256_of

# A text, with surrogates for bytes that are not UTF-8; size in bytes and
# modification time in nanoseconds of a large file; None: missing.
Content: TypeAlias = "str | list[int] | None"
_MOST_RECORDS = 10  # records of the same files: branches of a repository


class FileSet(NamedTuple):
    """Files that are trusted together.

    Attributes:
        root: real path of a project's folder, or of a single file.
        own: content of the files that count by their place, by path below *root*; the
            path of a single file is empty.
        named: content of the files named by these.
    """

    root: str
    own: Mapping[str, Content]
    named: Mapping[str, Content] = {}

    @property
    def contents(self) -> dict[str, Content]:
        """Return the content of all files."""
        return {**self.named, **self.own}


def single_file(path: str, data: bytes) -> FileSet:
    """Return the set of a file that is trusted alone."""
    return FileSet(path, {"": text_of(data)})


def text_of(data: bytes) -> str:
    """Return the stored form of a file's content."""
    return data.decode("utf-8", "surrogateescape")


def load_record(records: str, files: FileSet) -> FileSet | None:
    """Return the record of these files; None if they are not trusted.

    The files named by *files* may have changed: the record holds their content.
    """
    path = os.path.join(records, _record_name(files))
    try:
        owner = os.lstat(path).st_uid
    except OSError:
        return None
    # A record that another user could have written is not a decision of this user.
    if owner != os.geteuid() or folder_problem(records):
        return None
    record = _read_record(path)
    # The name is only a hash, so the content is compared too.
    if record is None or (record.root, record.own) != (files.root, files.own):
        return None
    return record


def last_record(records: str, root: str) -> FileSet | None:
    """Return the newest record of the files at *root*."""
    if folder_problem(records):
        return None
    paths = [path for path, owner in recorded_roots(records).items() if owner == root]
    return _read_record(max(paths, key=_time_of)) if paths else None


def record(records: str, files: FileSet) -> None:
    """Record that the user trusts *files*, and forget the oldest of many records.

    Raises:
        OSError: the record cannot be written.
    """
    import json

    from envcfg.common.atomic_write import put_private

    os.makedirs(records, mode=0o700, exist_ok=True)
    data = json.dumps(files._asdict()).encode()
    put_private(os.path.join(records, _record_name(files)), data)
    # Old records are removed, or each switch between branches would add one
    # forever.
    paths = [p for p, root in recorded_roots(records).items() if root == files.root]
    for path in sorted(paths, key=_time_of)[:-_MOST_RECORDS]:
        with suppress(OSError):
            os.unlink(path)


def recorded_roots(records: str) -> dict[str, str]:
    """Return the root of each record, by the record's own path."""
    return dict(_roots(records))


def _roots(records: str) -> Iterator[tuple[str, str]]:
    try:
        names = sorted(os.listdir(records))
    except OSError:  # there are no records
        return
    for name in names:
        path = os.path.join(records, name)
        if file_set := _read_record(path):
            yield path, file_set.root


def folder_problem(records: str) -> str | None:
    """Return the reason to ignore all records of this folder: others could have written
    them."""
    try:
        folder = os.stat(records)
    except OSError:  # there are no records
        return None
    if folder.st_uid != os.geteuid():
        return f"{records} is not yours"
    if folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write {records}"
    return None


def _record_name(files: FileSet) -> str:
    """Return the name of the record, by root and own content."""
    import json

    key = json.dumps([files.root, sorted(files.own.items())])
    return sha256_of(key.encode())


def _read_record(path: str) -> FileSet | None:
    """Return the content of a record; None if it is damaged or missing."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            return FileSet(**json.load(file))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _time_of(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:  # another process removed it
        return 0.0
