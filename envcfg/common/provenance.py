"""The mark of envcfg's own files, which also shows later changes."""

# OpenSSL is avoided: loading it takes longer than making a script.
try:  # CPython 3.12 and later
    from _sha2 import sha256
except ImportError:
    try:  # older versions of CPython
        from _sha256 import sha256
    except ImportError:  # any other Python
        from hashlib import sha256

# The first line of each kind, and the second line with the hash of all following
# lines.
_KINDS = {
    "script": ("#!/usr/bin/env bash", "# envcfg:script {}"),
    "job": ("#!/bin/bash", "# envcfg:job {}"),
    "page": ("<!DOCTYPE html>", "<!-- envcfg:page {} -->"),
    "converted": ("", "# envcfg:converted {}"),  # the first line is the script's own
    "probe": ("{", ' "envcfg:probe": "{}",'),
}


def marked(kind: str, body: str, *, first: str = "") -> str:
    """Return *body* after a first line and the mark; *first* replaces the usual line."""
    usual, mark = _KINDS[kind]
    first = first or usual
    # Arguments that are not UTF-8 are hashed as their bytes.
    digest = sha256_of(body.encode("utf-8", "surrogateescape"))
    return f"{first}\n{mark.format(digest)}\n{body}"


def has_mark(data: bytes) -> bool:
    """Return whether envcfg wrote *data*; the beginning of a file is enough."""
    second = data.partition(b"\n")[2]
    marks = (mark.partition("{")[0].encode() for _, mark in _KINDS.values())
    return second.startswith(tuple(marks))


def is_untouched(data: bytes) -> bool:
    """Return whether *data* is unchanged since envcfg wrote it."""
    head, _, rest = data.partition(b"\n")
    mark, _, body = rest.partition(b"\n")
    digest = sha256_of(body)
    return any(
        (first.encode() or head, form.format(digest).encode()) == (head, mark)
        for first, form in _KINDS.values()
    )


def sha256_of(data: bytes) -> str:
    """Return the digest of *data*, in hexadecimal."""
    return str(sha256(data).hexdigest())


def now_text() -> str:
    """Return the current time in UTC, in the form of RFC 3339."""
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
