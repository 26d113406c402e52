"""Lines to records: what launchers and services put in front is taken off, NCCL's is read.

A line is ``[wrappers] [time] HOST:PID:TID [DEV] [WHERE] NCCL LEVEL MESSAGE``; every part
but the message may be missing. ``[DEV]`` is the index of a GPU in its process, never the
rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Record(NamedTuple):
    """One message of one process.

    Attributes:
        host: node as NCCL names it; empty where the line does not tell.
        pid: process; None where the line does not tell.
        device: GPU index in the process; None where the line does not tell.
        level: ``INFO``, ``WARN``, ``CALL``, ``TRACE``; empty for a line of someone else.
        message: the rest of the line.
        label: number that a launcher put in front; None where none did.
        is_rank: whether the label is the rank (and not a task or a local rank).
        time: time stamp of the line, as text; empty where there is none.
        repeated: how many more such lines Ray left out.
        torn: another process's line begins in the middle of this one.
        glued: it begins behind other text, of which the host may hold the end.
    """

    host: str
    pid: int | None
    device: int | None
    level: str
    message: str
    label: int | None = None
    is_rank: bool = False
    time: str = ""
    repeated: int = 0
    torn: bool = False
    glued: bool = False


_HOST = (
    r"[\w<][\w.<>-]{0,127}"  # bounded: a long word must not be tried from each letter
)
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-6]\d"
# A time of day has the form of HOST:PID:TID.
_NO_CLOCK = rf"(?!(?:[\d/.-]{{1,16}}[T_])?{_CLOCK}(?!\d))"
_TIME = r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d)?"
_LEVEL = r"NCCL (?P<level>INFO|WARN|CALL|TRACE)(?: |$)"
_WHERE = r"(?:(?P<where>\S.{0,400}?) )??"  # lazy: it must not swallow a record

# The common line, tried first: nothing in front, nothing between.
_PLAIN = re.compile(
    rf"{_NO_CLOCK}({_HOST}):(\d{{1,11}}):\d+ \[(-?\d{{1,9}})\] NCCL (INFO) (.*)",
    re.DOTALL,
)

# NCCL's own, then those of patched, redacted and stripped logs; the first that fits counts.
_OWN = (
    rf"(?:\[(?P<time>{_TIME}[^\]]*)\] )?(?<!\d){_NO_CLOCK}(?P<host>{_HOST}):(?P<pid>\d+)"
    rf":\d+ (?:\[(?P<device>-?\d+)\] )?{_WHERE}{_LEVEL}"
)
_PATCHED = (
    rf"\[(?P<label>\d{{1,9}})/\d+\]\[(?P<time>{_TIME})\] \[[^\]]*\] "
    rf"\[(?P<host>{_HOST}):pid=(?P<pid>\d+)\] {_LEVEL}"
)
_REDACTED = (
    rf"(?<!\S)(?P<host>[A-Za-z<][\w.<>-]*) \[(?P<device>-?\d+)\] {_WHERE}{_LEVEL}"
)
_STRIPPED = rf"(?:\[(?P<device>-?\d+)\] )?(?:\S+:\d+(?: \([\w ]*\))? )?{_LEVEL}"
_PREFIXES = tuple(map(re.compile, (_OWN, _PATCHED, _REDACTED, _STRIPPED)))
_NEXT = re.compile(
    rf"(?:\[{_TIME}[^\]]*\] )?{_HOST}:\d+:\d+ (?:\[-?\d+\] )?(?:[^ ].{{0,400}}? )??"
    r"NCCL (?:INFO|WARN|CALL|TRACE)(?: |$)"
)

_DATE = r"(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d "
_YEAR = r"\d{4}(?:<std(?:out|err)>: ?| |(?=\[))"
_PROGRAM = r"[\w.-]+ [A-Za-z][\w./@-]*(?:\[\d+\])?"  # with its node in front
_WORDS = "DEBUG|INFO|WARNING|ERROR|CRITICAL"
# What stands in front of a line, and whether its number is the rank.
_WRAPPERS: tuple[tuple[re.Pattern[str], bool], ...] = tuple(
    (re.compile(pattern), is_rank)
    for pattern, is_rank in (
        (r"[│┃║] ?", False),  # a box around the text
        (rf"\s*\| {_TIME} ?\|? ?", False),  # table of CloudWatch
        (r"# MAGIC ?", False),  # notebook
        (r"[\w./@+-]+\.(?:log|out|err|txt)(?:-\w+)?:(?:\d+:)?", False),  # grep
        (rf"{_TIME}:? (?!I )", False),  # time in front, by ts or a container engine
        (rf"{_DATE}{_CLOCK} {_YEAR}", False),  # Open MPI with times
        (rf"{_DATE}{_CLOCK}[.,\d]*(?: {_PROGRAM}: | )", False),  # syslog, journald, ts
        (rf"(?:\d[\d/.-]{{5,9}} )?(?:{_CLOCK}[.,\d]*|\[{_CLOCK}[.,\d]*\]) ", False),
        (rf"{_TIME}(?:(?<=Z)|(?<=[+-]\d\d:\d\d))(?=[A-Za-z<])", False),  # and no blank
        (rf"(?:{_WORDS}):[\w.]+:", False),  # logging of Python
        (r"(?:\([A-Za-z]\w*[^()]*? pid=\d+(?:, ip=[\d.]+)?\) ?)+", False),  # Ray
        (r"\[\d+,(?P<label>\d+)\]<std(?:out|err|diag)>: ?", True),  # Open MPI
        (
            r" *(?P<label>\d+): (?!\d+:)",
            False,
        ),  # srun --label: a task, not always a rank
        (r"\[(?P<label>\d+)\] (?=\S+:\d+:\d+ )", True),  # MPICH
        (r"\[rank(?P<label>\d+)\]: ?", True),  # torch.distributed
        (r"\[[A-Za-z_]+(?P<label>\d+)(?:\|\d+)?\]: ?", False),  # torchrun: a local rank
        (r"\[\d+\] (?=\[rank)", False),  # a counter of lines
        (r"\[[EWIF]\d{3,4} \d\d:\d\d:\d\d[\d.]* [\w.]+:\d+\] ", False),  # PyTorch, C++
        (
            r"[\w.-]*[A-Za-z][\w.-]* (?P<label>\d+): (?=\S+:\d+:\d+ |NCCL |NET/|#)",
            True,
        ),  # PALS
        (r"[\w.-]+: (?=(?:[\w.-]+: )?[\w.<>-]+:\d+:\d+ )", False),  # pdsh
    )
)
_JSON = re.compile(r'"(?:log|message|msg)": ?("(?:[^"\\]|\\.)*")')
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|.)")
_GLUE = re.compile(r"[\w.-]|[=:/%,](?=\d)")  # what may run on into a host
_QUOTES = "'\"`"
_END = re.compile(r"(?:<br ?/?>|\\n)+$")  # of a line in a web page, or in quoted text
_REPEATED = re.compile(r" ?\[repeated (\d+)x across cluster\].*", re.DOTALL)
_BOX_END = re.compile(r"\s*[│┃║]\s*$")


def parse(line: str) -> Record:
    """Return the first record of *line*; a line of someone else is a record too."""
    return next(records(line))


def records(line: str) -> Iterator[Record]:
    """Yield the records of *line*: more than one where writers ran into each other."""
    if line.endswith(("<br>", "/>", "\\n")):
        line = _END.sub("", line)
    plain = _PLAIN.match(line)
    if plain and " NCCL " not in plain[5] and "\x1b" not in line and "[rep" not in line:
        host, pid, device, level, message = plain.groups()
        yield Record(host, int(pid), int(device), level, message.rstrip())
        return
    if line.startswith('{"'):
        line = _said(line)
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    repeated = 0
    if (found := _REPEATED.search(line)) is not None:
        repeated = int(found[1][:9])
        line = line[: found.start()]
    line = _BOX_END.sub("", line)
    line, label, is_rank = _unwrap(line.rstrip())
    glued = False
    while True:
        head, rest = _split_off(line)
        torn = rest is not None and not head.endswith(" | ")  # as tables repeat a line
        head = head.removesuffix(" | ")
        record = _record(head, label, is_rank, repeated, torn=torn)
        yield record._replace(glued=True) if glued else record
        if rest is None:
            return
        glued = True
        line, label = rest, None  # the label belongs to the line that was torn


def _unwrap(line: str) -> tuple[str, int | None, bool]:
    """Take off what stands in front; return the rest, its label, and if that is a rank."""
    label, is_rank = None, False
    for _ in range(8):  # a wrapper around a wrapper, but not for ever
        for pattern, names_rank in _WRAPPERS:
            found = pattern.match(line)
            if found and found.end():
                line = line[found.end() :]
                if "label" in pattern.groupindex and len(found["label"]) < 10:
                    label, is_rank = int(found["label"]), names_rank
                break
        else:
            break
    return line, label, is_rank


def _said(line: str) -> str:
    """Return what a line of JSON, as a container engine writes it, holds."""
    import json

    found = _JSON.search(line)
    if found is None:
        return line
    try:
        return str(json.loads(found[1]))
    except ValueError:
        return line


def _split_off(line: str) -> tuple[str, str | None]:
    """Return the first record of *line* and the rest, where another begins in it."""
    if line.count("NCCL ") < 2:
        return line, None
    first = _NEXT.search(line)
    second = _NEXT.search(line, first.end()) if first else None
    if second is None:
        return line, None
    return line[: second.start()], line[second.start() :]


def _record(
    text: str, label: int | None, is_rank: bool, repeated: int, *, torn: bool
) -> Record:
    if "NCCL " in text:
        for pattern in _PREFIXES:
            if found := _last(pattern, text):
                part = found.groupdict()
                if part.get("label"):
                    label, is_rank = int(part["label"]), True
                before = text[: found.start()][-1:]
                message = text[found.end() :]
                if before and before in _QUOTES:
                    message = _END.sub("", message.rpartition(before)[0] or message)
                return Record(
                    part.get("host") or "",
                    _number(part.get("pid")),
                    _number(part.get("device")),
                    part["level"] or "",
                    message.strip(),
                    label,
                    is_rank,
                    part.get("time") or "",
                    repeated,
                    torn,
                    found.start() > 0
                    and _GLUE.match(text, found.start() - 1) is not None,
                )
    return Record("", None, None, "", text.strip(), label, is_rank, "", repeated, torn)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the match whose host is nearest to NCCL: other words may look like one."""
    found = pattern.search(text)
    while found and "where" in pattern.groupindex and found["where"]:
        nearer = pattern.search(text, found.start("where"), found.end())
        if nearer is None:
            break
        found = nearer
    return found


def _number(text: str | None) -> int | None:
    return int(text) if text and len(text) < 12 else None
