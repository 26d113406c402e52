"""Files beside a log that tell of a hang or of speed: which of several are such.

They are known by their first bytes, as RAS, the Flight Recorder and the Inspector write
them; :mod:`envcfg.log.traces` reads them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from envcfg.log.content import decompressed, head_of, is_compressed

_HEAD = 512  # bytes by which a file is known
_LONG = 1 << 20  # bytes in which a log goes on behind an answer
# How what may be one of them begins; of all else nothing more is loaded.
_BEGINNINGS = (
    b"{",
    b"\x80",
    b"NCCL version ",
    b"Job summary",
    b"SERVER PROTOCOL ",
    b"OK\n",
)


def kinds_of(files: Sequence[str]) -> dict[str, str]:
    """Return those of *files* that are no log: ``ras``, ``flight`` or ``inspector``."""
    kinds = {name: _kind(name) for name in files}
    return {name: kind for name, kind in kinds.items() if kind}


def may_be_beside(name: str) -> bool:
    """Return whether the first bytes of a file that is written now may be of such a one."""
    try:
        head = _head(name).lstrip()
    except OSError:
        return False
    return any(each.startswith(head[: len(each)]) for each in _BEGINNINGS)


def _kind(name: str) -> str:
    try:
        head = _head(name)
    except OSError:
        return ""  # whoever reads it says so
    if not head.lstrip().startswith(_BEGINNINGS):
        return ""
    from envcfg.trace.flight import is_flight
    from envcfg.trace.inspector import is_inspector
    from envcfg.trace.ras import is_ras

    text = head.decode("utf-8", "replace")
    if is_inspector(text):
        return "inspector"
    if is_flight(head):
        return "flight"
    return "ras" if is_ras(text) and not _goes_on(name) else ""


def _goes_on(name: str) -> bool:
    """Return whether a file that begins with an answer of RAS is a log, by what follows."""
    from envcfg.trace.ras import is_log

    if not os.path.isfile(name):  # what a pipe gives cannot be read again
        return False
    return is_log(read_beside(name, _LONG).decode("utf-8", "replace"))


def _head(name: str) -> bytes:
    if name == "-":
        return head_of(sys.stdin.buffer)[:_HEAD]
    if not os.path.isfile(name):  # what a pipe gives cannot be read again
        return b""
    with open(name, "rb") as raw:
        head = raw.peek(_HEAD)[:_HEAD]
    return read_beside(name, _HEAD) if is_compressed(head) else head


def read_beside(name: str, most: int) -> bytes:
    """Return the first *most* bytes of a file, unpacked.

    Raises:
        OSError: it cannot be read.
    """
    raw: Any = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115
    try:
        _, stream, errors = decompressed(name, raw)
        found = bytearray()
        piece = bytearray(1 << 16)
        while len(found) < most:
            count = stream.readinto(piece)
            if not count:
                break
            found += piece[:count]
        return bytes(found[:most])
    except errors as err:
        raise OSError(str(err)) from err
    finally:
        if name != "-":
            raw.close()
