"""Files beside a log: recognise and read RAS answers and Flight Recorder dumps."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from envcfg.common.findings import EvidenceLine
from envcfg.log.read.content import decompressed, head_of, is_compressed

if TYPE_CHECKING:
    from envcfg.log.collective.flight_recorder import FlightDump
    from envcfg.log.collective.ras_records import RasReport

_HEAD = 512  # bytes that identify a file
_LONG = 1 << 20  # bytes to search for a log that follows an answer of RAS
# First bytes of such files; for other files no reader is loaded.
_BEGINNINGS = (
    b"{",
    b"\x80",
    b"NCCL version ",
    b"Job summary",
    b"SERVER PROTOCOL ",
    b"OK\n",
)
_ENDING = re.compile(r"(?<=.)\.(?:gz|xz|zst)$")  # endings of compressed files
_SLOWEST = 10.0  # seconds between two RAS answers that can prove a hang


def kinds_of(files: Sequence[str]) -> dict[str, str]:
    """Return the kind of each file that is not a log: ``ras`` or ``flight``."""
    kinds = {name: _kind(name) for name in files}
    return {name: kind for name, kind in kinds.items() if kind}


def may_begin_sidecar(name: str) -> bool:
    """Return whether a growing file may become evidence, by its first bytes."""
    try:
        head = _head(name).lstrip()
    except OSError:
        return False
    # The file may hold fewer bytes than a beginning so far.
    return any(
        beginning.startswith(head[: len(beginning)]) for beginning in _BEGINNINGS
    )


def _kind(name: str) -> str:
    try:
        head = _head(name)
    except OSError:
        return ""  # its reader reports the error
    if not head.lstrip().startswith(_BEGINNINGS):
        return ""
    from envcfg.log.collective.flight_recorder import is_flight
    from envcfg.log.collective.ras import is_log, is_ras

    if is_flight(head):
        return "flight"
    if not is_ras(head.decode("utf-8", "replace")):
        return ""
    # A log may begin with an answer. A pipe cannot be read again to find that out.
    full_text = (
        _read_head(name, _LONG).decode("utf-8", "replace")
        if os.path.isfile(name)
        else ""
    )
    return "" if is_log(full_text) else "ras"


def _head(name: str) -> bytes:
    if name == "-":
        return head_of(sys.stdin.buffer)[:_HEAD]
    if not os.path.isfile(name):  # bytes of a pipe cannot be read again
        return b""
    with open(name, "rb") as raw:
        head = raw.peek(_HEAD)[:_HEAD]
    return _read_head(name, _HEAD) if is_compressed(head) else head


def _read_head(name: str, most: int) -> bytes:
    """Return the first *most* bytes of a file, decompressed; OSError: it cannot be read."""
    with _unpacked(name) as stream:
        return stream.read(most)


def read_edges(name: str, most: int) -> bytes:
    """Return up to *most* bytes from each end of a regular file; of a compressed file, from
    its beginning only."""
    if not os.path.isfile(name):  # bytes of a pipe cannot be read again
        return b""
    head = _read_head(name, most)
    with open(name, "rb") as raw:
        if is_compressed(raw.peek(_HEAD)):
            return head
        raw.seek(max(len(head), os.path.getsize(name) - most))
        return head + raw.read(most)


@contextmanager
def _unpacked(name: str) -> Iterator[io.BufferedReader]:
    """Yield a stream of the decompressed content; damage is raised as an OSError."""
    raw: Any = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115
    # Each format of compression has its own errors, and callers handle one kind.
    errors: tuple[type[Exception], ...] = ()
    reader = None
    try:
        _, stream, errors = decompressed(name, raw)
        reader = io.BufferedReader(stream, 1 << 17)
        yield reader
    except errors as err:
        raise OSError(str(err)) from err
    finally:
        if reader:
            reader.detach()  # closing the reader would close the standard input
        if name != "-":
            raw.close()


class RasReply(NamedTuple):
    """An answer of RAS: file, text, time (seconds), and content."""

    name: str
    text: str
    time: float | None
    report: RasReport


class TraceFinding(NamedTuple):
    """A finding before it has its rule's words."""

    rule: str
    subject: str  # ranks, processes, or a communicator
    message: str
    evidence: EvidenceLine | None = None  # place of the line that shows it
    doubt: str = ""  # open question that it leaves, if any
    cause: bool = True  # False if it follows from another finding


class Traces(NamedTuple):
    """The contents of trace files."""

    answers: tuple[RasReply, ...]  # of RAS, the oldest first
    # Of the Flight Recorder, with the file of each, by rank.
    dumps: Mapping[int, tuple[str, FlightDump]]
    unread: Mapping[str, str]  # unreadable files of these kinds, with the reasons
    nameless: tuple[str, ...]  # dumps with an unknown rank
    size: int  # bytes of all of them
    # Time of the first change of a dump, in seconds; None without dumps.
    written: float | None = None


def load_traces(kinds: Mapping[str, str]) -> Traces:
    """Return the contents of the files that :func:`kinds_of` classified."""
    from datetime import datetime

    answers: list[RasReply] = []
    dumps: dict[int, tuple[str, FlightDump]] = {}
    unread: dict[str, str] = {}
    nameless = []
    size = 0
    # Imports are here, because most logs have no such files.
    from envcfg.log.collective.flight_recorder import rank_of, read_flight
    from envcfg.log.collective.ras import read_ras
    from envcfg.log.collective.trace_fields import LARGEST, TraceError

    for name, kind in kinds.items():
        try:
            # One byte more than allowed shows that a file is too large.
            data = _read_head(name, LARGEST + 1)
            size += len(data)
            if kind == "ras":
                text = data.decode("utf-8", "replace")
                report = read_ras(text)
                # The time in the answer, else that of the last change of its file.
                time = os.path.getmtime(name) if os.path.isfile(name) else None
                with suppress(ValueError, OverflowError, OSError):
                    time = datetime.fromisoformat(report.time).timestamp()
                answers.append(RasReply(name, text, time, report))
            elif (rank := rank_of(_ENDING.sub("", os.path.basename(name)))) is None:
                nameless.append(name)
            else:
                dumps[rank] = name, read_flight(data, rank)
        except TraceError as err:  # noqa: PERF203  # one file, not all of them
            unread[name] = err.message
        except OSError as err:
            unread[name] = err.strerror or str(err)
    return Traces(
        answers=tuple(sorted(answers, key=lambda answer: answer.time or 0.0)),
        dumps=dict(sorted(dumps.items())),
        unread=unread,
        nameless=tuple(nameless),
        written=min(
            (
                os.path.getmtime(name) if os.path.isfile(name) else 0.0
                for name, _ in dumps.values()
            ),
            default=None,
        ),
        size=size,
    )


def are_apart(first: RasReply, second: RasReply) -> bool:
    """Return whether a running rank would have moved between two answers."""
    # Without times nothing can be concluded from two answers.
    if first.time is None or second.time is None:
        return False
    return second.time - first.time >= _SLOWEST
