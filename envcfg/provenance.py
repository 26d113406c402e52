"""The mark by which envcfg knows its own files, and whether they were changed since."""

from __future__ import annotations

# Without OpenSSL, which takes longer to load than a script takes to make.
try:  # CPython 3.12 and later
    from _sha2 import sha256
except ImportError:
    try:  # CPython before
        from _sha256 import sha256
    except ImportError:  # any other Python
        from hashlib import sha256

# The first line of each kind, and the second, with the hash of all that follows.
_KINDS = {
    "script": ("#!/usr/bin/env bash", "# envcfg:script {}"),
    "job": ("#!/bin/bash", "# envcfg:job {}"),
    "nodes": ("# Nodes by envcfg preflight, for srun", "# envcfg:nodes {}"),
    "page": ("<!DOCTYPE html>", "<!-- envcfg:page {} -->"),
    "converted": ("", "# envcfg:converted {}"),  # its first line is its own
    "probe": ("{", ' "envcfg:probe": "{}",'),
    "junit": ('<?xml version="1.0" encoding="UTF-8"?>', "<!-- envcfg:junit {} -->"),
}


def marked(kind: str, body: str, *, first: str = "") -> str:
    """Return *body* behind the first line of its kind, or its own, and the mark."""
    usual, mark = _KINDS[kind]
    first = first or usual
    # Arguments that are not UTF-8 are hashed byte for byte.
    digest = sha256_of(body.encode("utf-8", "surrogateescape"))
    return f"{first}\n{mark.format(digest)}\n{body}"


def has_mark(data: bytes) -> bool:
    """Tell whether *data*, or what begins like it, was written by envcfg."""
    second = data.partition(b"\n")[2]
    marks = (mark.partition("{")[0].encode() for _, mark in _KINDS.values())
    return second.startswith(tuple(marks))


def is_untouched(data: bytes) -> bool:
    """Tell whether *data* is as envcfg wrote it."""
    head, _, rest = data.partition(b"\n")
    mark, _, body = rest.partition(b"\n")
    digest = sha256_of(body)
    return any(
        (first.encode() or head, form.format(digest).encode()) == (head, mark)
        for first, form in _KINDS.values()
    )


def sha256_of(data: bytes) -> str:
    """Return the digest of *data*, hexadecimal."""
    return str(sha256(data).hexdigest())
