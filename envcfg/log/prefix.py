"""Lines to records: what launchers and services put in front is taken off, NCCL's is read.

A line is ``[wrappers] [time] HOST:PID:TID [DEV] [WHERE] NCCL LEVEL MESSAGE``; every part
but the message may be missing. ``[DEV]`` is the index of a GPU in its process, never the
rank.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
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
        where: what stands between the prefix and NCCL: a place in its source.
        certain: who wrote it is certain: the line begins with NCCL's own prefix, or with
            that of libfabric, Slurm or the C++ part of PyTorch. A program that quotes a
            line, or says the same words, does not begin so.
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
    where: str = ""
    certain: bool = False


_FILE = os.path.join(os.path.dirname(__file__), "prefixes.yaml")
# Bounded: a long word must not be tried from each letter.
_HOST = r"[\w<][\w.<>-]{0,127}"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-6]\d"
_BEGIN = r"(?<![\w<])"  # of a host: inside a long word there is none
_TAKEN_OFF = r"(?<!\S):?"  # it may be, before a log is shown to others
# A time of day has the form of HOST:PID:TID.
_NO_CLOCK = rf"(?!(?:[\d/.-]{{1,16}}[T_])?{_CLOCK}(?!\d))"
_TIME = r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d[.,\d]{0,16}(?:Z|[+-]\d\d:?\d\d)?"
_LEVEL = r"NCCL (?P<level>INFO|WARN|CALL|TRACE)(?: |$)"
_WHERE = r"(?:(?P<where>\S.{0,400}?) )??"  # lazy: it must not swallow a record

# The common line, tried first: nothing in front, nothing between.
_PLAIN = re.compile(
    rf"{_NO_CLOCK}({_HOST}):(\d{{1,11}}):\d+ \[(-?\d{{1,9}})\] NCCL (INFO) (.*)",
    re.DOTALL,
)

# NCCL's own, then those of patched, redacted and stripped logs; the first that fits counts.
_OWN = (
    rf"(?:\[(?P<time>{_TIME}[^\]]{{0,80}})\] )?"
    rf"(?:{_BEGIN}{_NO_CLOCK}(?P<host>{_HOST})|{_TAKEN_OFF})"
    rf":(?P<pid>\d+):\d+ (?:\[(?P<device>-?\d+)\] )?{_WHERE}{_LEVEL}"
)
_PATCHED = (
    rf"\[(?P<label>\d{{1,9}})/\d+\]\[(?P<time>{_TIME})\] \[[^\]]*\] "
    rf"\[(?P<host>{_HOST}):pid=(?P<pid>\d+)\] {_LEVEL}"
)
_REDACTED = (
    rf"(?<!\S)(?P<host>[A-Za-z<][\w.<>-]*) \[(?P<device>-?\d+)\] {_WHERE}{_LEVEL}"
)
_STRIPPED = rf"(?:\[(?P<device>-?\d+)\] )?(?:(?<!\S)\S+:\d+(?: \([\w ]*\))? )?{_LEVEL}"
_PREFIXES = tuple(map(re.compile, (_OWN, _PATCHED, _REDACTED, _STRIPPED)))
# Before NCCL 2.3 its name was not said.
_OLDEST = re.compile(
    rf"{_NO_CLOCK}(?P<host>{_HOST}):(?P<pid>\d{{1,11}}):\d+ \[(?P<device>-?\d{{1,9}})\] "
    r"(?:(?P<where>[\w./+-]{1,200}\.(?:c[cu]?|h):\d+) )?(?P<level>INFO|WARN) "
)
_NEXT = re.compile(
    rf"(?:\[{_TIME}[^\]]{{0,80}}\] )?{_BEGIN}{_HOST}:\d+:\d+ "
    r"(?:\[-?\d+\] )?(?:[^ ].{0,400}? )??"
    r"NCCL (?:INFO|WARN|CALL|TRACE)(?: |$)"
)

_COPY, _RANK, _SOURCE = "copy", "rank", "source"
_JSON = re.compile(r'"(?:log|message|msg)": ?("(?:[^"\\]|\\.)*")')
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|.)")
_GLUE = re.compile(r"[\w.-]|[=:/%,](?=\d)")  # what may run on into a host
_QUOTES = "'\"`"
_ENDS = ("<br>", "<br/>", "<br >", "<br />", "\\n")  # in a web page, or in quoted text
_REPEATED = re.compile(r" ?\[repeated (\d+)x across cluster\].*", re.DOTALL)
_SOURCES = re.compile(r"libfabric:\d+:|slurmstepd: error: |srun: error: ")
_FRONT = 512  # characters: what launchers put in front of a line is shorter
_BOX_ENDS = ("│", "┃", "║")


@cache
def prefixes(kind: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """Return the patterns of *kind* in ``prefixes.yaml``, and what each of them means."""
    from envcfg.datafile import load_kept

    known: Sequence[Mapping[str, str]] = load_kept("prefixes", [_FILE])[0][kind]
    return [(re.compile(each["pattern"]), each.get("means", "")) for each in known]


def parse(line: str) -> Record:
    """Return the first record of *line*; a line of someone else is a record too."""
    return next(records(line))


def records(line: str) -> Iterator[Record]:
    """Yield the records of *line*: more than one where writers ran into each other."""
    line = _without_ends(line)
    if record := plain_record(line):
        yield record
        return
    if line.startswith('{"'):
        line = said_in_json(line)
    line = without_colours(line)
    repeated = 0
    if (found := _REPEATED.search(line)) is not None:
        repeated = int(found[1][:9])
        line = line[: found.start()]
    line = line.rstrip()
    if line.endswith(_BOX_ENDS):
        line = line[:-1].rstrip()
    line, label, meant = _unwrap(line)
    is_rank = _RANK in meant
    known = _SOURCE in meant or _SOURCES.match(line) is not None
    glued = False
    # Pieces, where another record begins in the line.
    many = line.count("NCCL ") > 1
    starts = [found.start() for found in _NEXT.finditer(line)][1:] if many else []
    parts = [line[a:b] for a, b in pairwise((0, *starts, len(line)))]
    for number, part in enumerate(parts, 1):
        # A table shows a line twice, with a bar between.
        torn = number < len(parts) and not part.endswith(" | ")
        text = part.removesuffix(" | ")
        record, begins = _record(text, label, is_rank, repeated, torn=torn)
        certain = (begins if record.level else known) and _COPY not in meant
        certain = certain and not glued and not torn
        yield record._replace(glued=record.glued or glued, certain=certain)
        label, glued = None, True  # the label belongs to the first


def plain_record(line: str) -> Record | None:
    """Return the record of a line of NCCL in which nothing else stands; None of others."""
    found = _PLAIN.match(line)
    if found is None or line.endswith(_ENDS) or "\x1b" in line or "[rep" in line:
        return None
    host, pid, device, level, message = found.groups()
    if " NCCL " in message:
        return None
    said = message.rstrip()
    return Record(host, int(pid), int(device), level, said, certain=True)


def without_colours(line: str) -> str:
    """Return *line* without what tells a terminal how to show it."""
    return _COLOUR.sub("", line) if "\x1b" in line else line


def _without_ends(line: str) -> str:
    """Return *line* without what ends it where it is quoted or shown, however often."""
    end = len(line)
    while line.endswith(_ENDS, 0, end):
        end -= next(len(each) for each in _ENDS if line.endswith(each, 0, end))
    return line[:end]


def _unwrap(line: str) -> tuple[str, int | None, set[str]]:
    """Take off what stands in front; return the rest, its label, and what that means."""
    label, meant = None, set()
    for _ in range(8):  # a wrapper around a wrapper, but not for ever
        for pattern, meaning in prefixes("front"):
            found = pattern.match(line, 0, _FRONT)
            if found and found.end():
                line = line[found.end() :]
                if "label" in pattern.groupindex and len(found["label"]) < 10:
                    label = int(found["label"])
                    meant.discard(_RANK)  # of another number
                meant.add(meaning)
                break
        else:
            break
    return line, label, meant


def said_in_json(line: str) -> str:
    """Return what a line of JSON, as a container engine writes it, holds."""
    import json

    found = _JSON.search(line)
    if found is None:
        return line
    try:
        return str(json.loads(found[1]))
    except ValueError:
        return line


def _record(
    text: str, label: int | None, is_rank: bool, repeated: int, *, torn: bool
) -> tuple[Record, bool]:
    """Return the record of *text*, and whether that begins with NCCL's prefix."""
    bare = Record("", None, None, "", text.strip(), label, is_rank, "", repeated, torn)
    for pattern in _PREFIXES if "NCCL " in text else ():
        if found := _last(pattern, text):
            front = text[: found.start()]
            message = text[found.end() :]
            if front and front[-1] in _QUOTES:
                message = _without_ends(message.rpartition(front[-1])[0] or message)
            record = _filled(bare, found, message)
            glued = front != "" and _GLUE.match(text, len(front) - 1) is not None
            begins = record.pid is not None and not front.strip()
            return record._replace(glued=glued), begins
    if old := _OLDEST.match(bare.message):
        return _filled(bare, old, bare.message[old.end() :]), False
    return bare, False


def _filled(bare: Record, found: re.Match[str], message: str) -> Record:
    part = found.groupdict()
    if part.get("label"):
        bare = bare._replace(label=int(part["label"]), is_rank=True)
    return bare._replace(
        host=part.get("host") or "",
        pid=_number(part.get("pid")),
        device=_number(part.get("device")),
        level=part["level"] or "",
        message=message.strip(),
        time=part.get("time") or "",
        where=part.get("where") or "",
    )


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
