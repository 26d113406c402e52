"""Jobs without names: hashes replace users, accounts, names and paths."""

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from envcfg.common.errors import OutputError
from envcfg.jobs.job_record import JobRecord

_BYTES = 32
_EXCEPTION = re.compile(r"\b[\w.]*(?:Error|Exception|Exit|Interrupt)\b")
# Quoted texts, paths, and places in programs.
_PRIVATE = re.compile(r"'[^']*'|\"[^\"]*\"|[\w.~-]*/[^\s),;]*|\([^()\s]+:\d+\)")
_NAMES = ("user", "account", "name")
_TEXTS = ("cause", "title", "fingerprint")


def read_key(store: str) -> bytes:
    """Return the key of the hashes, in the file next to the *store*; empty: a new key.

    Raises:
        OutputError: the file cannot be read or made.
    """
    key = os.urandom(_BYTES)
    if not store:
        return key
    path = f"{store}.key"
    try:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            with open(path, "rb") as file:
                return file.read(_BYTES)
        with open(handle, "wb") as file:
            file.write(key)
    except OSError as err:
        msg = f"{path}: {err.strerror}"
        raise OutputError(msg, hint="it keeps the hashes of --anonymous equal") from err
    return key


def without_names(records: Iterable[JobRecord], key: bytes) -> Iterator[JobRecord]:
    """Yield *records* with hashes instead of names; nodes and ids of jobs stay."""
    hashed = partial(_hash, key=key)
    for record in records:
        names = {name: hashed(getattr(record, name)) for name in _NAMES}
        hidden = partial(_without_private, names=names, record=record)
        fields: dict[str, Any] = {
            **names,
            **{name: hidden(getattr(record, name)) for name in _TEXTS},
            "key": hashed(record.key),
            "files": tuple(map(hashed, record.files)),
            "notes": tuple(map(hidden, record.notes)),
            "history": (),
        }
        yield record._replace(**fields)


def _without_private(text: str, names: dict[str, str], record: JobRecord) -> str:
    # The message of an exception may contain anything.
    if exception := _EXCEPTION.search(text):
        return exception[0]
    text = _PRIVATE.sub("…", text)
    for name, value in names.items():
        if own := getattr(record, name):
            text = re.sub(rf"(?<!\w){re.escape(own)}(?!\w)", value, text)
    return text


def _hash(text: str, key: bytes) -> str:
    from hashlib import blake2b

    data = text.encode("utf-8", "replace")
    return blake2b(data, key=key, digest_size=6).hexdigest() if text else ""
