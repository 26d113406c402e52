"""What files beside a log say: RAS, the Flight Recorder and the Inspector.

:mod:`envcfg.log.beside` knows them, and :mod:`envcfg.log.diagnosis` makes findings of them.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from envcfg.findings import Evidence
from envcfg.log.beside import read_beside
from envcfg.log.content import decompressed

if TYPE_CHECKING:
    from envcfg.trace.flight import FlightDump
    from envcfg.trace.inspector import Speed
    from envcfg.trace.ras import RasReport

_OPERATIONS = 1 << 20  # of all files of the Inspector that are looked at
_LONGEST = 1 << 20  # bytes of a line
_SLOWEST = 10.0  # seconds between two answers of RAS that tell of a hang


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
    """Return what the files of *kinds* hold, as :mod:`envcfg.log.beside` found them."""
    answers: list[Answer] = []
    dumps: dict[int, tuple[str, FlightDump]] = {}
    inspected = [name for name, kind in kinds.items() if kind == "inspector"]
    unread: dict[str, str] = {}
    nameless = []
    size = 0
    from envcfg.trace.errors import LARGEST, TraceError
    from envcfg.trace.flight import rank_of, read_flight

    for name, kind in kinds.items():
        if kind == "inspector":
            continue
        try:
            data = read_beside(name, LARGEST + 1)
            size += len(data)
            if kind == "ras":
                answers.append(_answer(name, data))
                continue
            rank = rank_of(_bare(name))
            if rank is None:
                nameless.append(name)
            else:
                dumps[rank] = name, read_flight(data, rank)
        except TraceError as err:
            unread[name] = err.message
        except OSError as err:
            unread[name] = err.strerror or str(err)
    from envcfg.trace.inspector import read_operations, speeds_of

    operations = islice(read_operations(_lines(inspected, unread)), _OPERATIONS)
    return Traces(
        answers=tuple(sorted(answers, key=lambda each: each.time or 0.0)),
        dumps=dict(sorted(dumps.items())),
        speeds=speeds_of(operations),
        inspected=len(inspected),
        unread=unread,
        nameless=tuple(nameless),
        size=size + sum(os.path.getsize(each) for each in inspected if each != "-"),
    )


def _bare(name: str) -> str:
    """Return the name of a file before it was compressed."""
    stem, ending = os.path.splitext(os.path.basename(name))
    return stem if ending in (".gz", ".xz", ".zst") else stem + ending


def _answer(name: str, data: bytes) -> Answer:
    from envcfg.trace.ras import read_ras

    text = data.decode("utf-8", "replace")
    report = read_ras(text)
    return Answer(name, text, _time(name, report.time), report)


def _time(name: str, stated: str) -> float | None:
    """Return when an answer was given: as it says, else when its file was written."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(stated).timestamp()
    except (ValueError, OverflowError, OSError):
        return os.path.getmtime(name) if os.path.isfile(name) else None


def are_apart(first: Answer, second: Answer) -> bool:
    """Return whether so much time is between two answers that a rank should have moved."""
    if first.time is None or second.time is None:
        return False
    return second.time - first.time >= _SLOWEST


class _Stream(io.RawIOBase):
    """What :func:`decompressed` gives, for Python's own reader of lines."""

    def __init__(self, stream: Any) -> None:  # noqa: ANN401  # it has readinto
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:  # noqa: ANN401  # a buffer
        return self._stream.readinto(into) or 0


def _lines(names: Sequence[str], unread: dict[str, str]) -> Iterator[str]:
    for name in names:
        raw: Any = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115
        try:
            _, stream, errors = decompressed(name, raw)
            reader = io.BufferedReader(_Stream(stream), 1 << 17)
            while line := reader.readline(_LONGEST):
                yield line.decode("utf-8", "replace")
        except errors as err:
            unread[name] = str(err)
        finally:
            if name != "-":
                raw.close()
