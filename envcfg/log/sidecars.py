"""Files beside a log: which of several are answers of RAS or dumps, and what they hold."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from envcfg.findings import Evidence
from envcfg.log.content import decompressed, head_of, is_compressed

if TYPE_CHECKING:
    from envcfg.trace.flight import FlightDump
    from envcfg.trace.inspector import Speed
    from envcfg.trace.ras_records import RasReport

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
_OPERATIONS = 1 << 20  # of all files of the Inspector that are looked at
_LONGEST = 1 << 20  # bytes of a line
_ENDING = re.compile(r"(?<=.)\.(?:gz|xz|zst)$")  # of a file that is compressed
_SLOWEST = 10.0  # seconds between two answers of RAS that tell of a hang


def kinds_of(files: Sequence[str]) -> dict[str, str]:
    """Return those of *files* that are not logs: ``ras``, ``flight`` or ``inspector``."""
    kinds = {name: _kind(name) for name in files}
    return {name: kind for name, kind in kinds.items() if kind}


def may_begin_sidecar(name: str) -> bool:
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
    from envcfg.trace.ras import is_log, is_ras

    text = head.decode("utf-8", "replace")
    if is_inspector(text):
        return "inspector"
    if is_flight(head):
        return "flight"
    if not is_ras(text):
        return ""
    # A log may begin with an answer. What a pipe gives cannot be read again to see that.
    whole = (
        _read(name, _LONG).decode("utf-8", "replace") if os.path.isfile(name) else ""
    )
    return "" if is_log(whole) else "ras"


def _head(name: str) -> bytes:
    if name == "-":
        return head_of(sys.stdin.buffer)[:_HEAD]
    if not os.path.isfile(name):  # what a pipe gives cannot be read again
        return b""
    with open(name, "rb") as raw:
        head = raw.peek(_HEAD)[:_HEAD]
    return _read(name, _HEAD) if is_compressed(head) else head


def _read(name: str, most: int) -> bytes:
    """Return the first *most* bytes of a file, unpacked; OSError: it cannot be read."""
    with _unpacked(name) as stream:
        return stream.read(most)


@contextmanager
def _unpacked(name: str) -> Iterator[io.BufferedReader]:
    """Give a stream of what is in a file; whatever damages it becomes an OSError."""
    raw: Any = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115
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
            reader.detach()  # it would close the standard input
        if name != "-":
            raw.close()


class Answer(NamedTuple):
    """An answer of RAS: file, text, when it was given (seconds), and what it says."""

    name: str
    text: str
    time: float | None
    report: RasReport


class Said(NamedTuple):
    """A finding before it has its rule's words.

    Attributes:
        rule: whose words it gets.
        subject: ranks, processes, a communicator.
        message: what is said of them.
        evidence: where it stands.
        doubt: the question that it leaves open, if any.
        cause: False where it follows from another.
    """

    rule: str
    subject: str
    message: str
    evidence: Evidence | None = None
    doubt: str = ""
    cause: bool = True


class Traces(NamedTuple):
    """What such files hold.

    Attributes:
        answers: of RAS, the oldest first.
        dumps: of the Flight Recorder, with the file of each, by rank.
        speeds: of the Inspector.
        inspected: files of the Inspector.
        unread: files that look like one, and why they cannot be read.
        nameless: dumps whose rank is not known.
        size: bytes of all of them.
    """

    answers: tuple[Answer, ...]
    dumps: Mapping[int, tuple[str, FlightDump]]
    speeds: tuple[Speed, ...]
    inspected: int
    unread: Mapping[str, str]
    nameless: tuple[str, ...]
    size: int


def load_traces(kinds: Mapping[str, str]) -> Traces:
    """Return what the files of *kinds* hold, as :func:`kinds_of` found them."""
    from datetime import datetime

    answers: list[Answer] = []
    dumps: dict[int, tuple[str, FlightDump]] = {}
    inspected = [name for name, kind in kinds.items() if kind == "inspector"]
    unread: dict[str, str] = {}
    nameless = []
    size = 0
    from envcfg.trace.fields import LARGEST, TraceError
    from envcfg.trace.flight import rank_of, read_flight
    from envcfg.trace.inspector import read_operations, speeds_of
    from envcfg.trace.ras import read_ras

    for name, kind in kinds.items():
        if kind == "inspector":
            continue
        try:
            data = _read(name, LARGEST + 1)
            size += len(data)
            if kind == "ras":
                text = data.decode("utf-8", "replace")
                report = read_ras(text)
                # As it says, else when its file was written.
                time = os.path.getmtime(name) if os.path.isfile(name) else None
                with suppress(ValueError, OverflowError, OSError):
                    time = datetime.fromisoformat(report.time).timestamp()
                answers.append(Answer(name, text, time, report))
            elif (rank := rank_of(_ENDING.sub("", os.path.basename(name)))) is None:
                nameless.append(name)
            else:
                dumps[rank] = name, read_flight(data, rank)
        except TraceError as err:
            unread[name] = err.message
        except OSError as err:
            unread[name] = err.strerror or str(err)
    lines = (line for name in inspected for line in _lines(name, unread))
    operations = islice(read_operations(lines), _OPERATIONS)
    return Traces(
        answers=tuple(sorted(answers, key=lambda each: each.time or 0.0)),
        dumps=dict(sorted(dumps.items())),
        speeds=speeds_of(operations),
        inspected=len(inspected),
        unread=unread,
        nameless=tuple(nameless),
        size=size + sum(os.path.getsize(each) for each in inspected if each != "-"),
    )


def are_apart(first: Answer, second: Answer) -> bool:
    """Return whether so much time is between two answers that a rank should have moved."""
    if first.time is None or second.time is None:
        return False
    return second.time - first.time >= _SLOWEST


def _lines(name: str, unread: dict[str, str]) -> Iterator[str]:
    try:
        with _unpacked(name) as stream:
            while line := stream.readline(_LONGEST):
                yield line.decode("utf-8", "replace")
    except OSError as err:
        unread[name] = str(err)
