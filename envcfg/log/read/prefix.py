"""From lines to records: strip the prefixes of launchers and services, parse NCCL's
prefix.

A line is ``[wrappers] [time] HOST:PID:TID [DEV] [WHERE] NCCL LEVEL MESSAGE``; every part
but the message may be missing. ``[DEV]`` is the index of a GPU in its process, never the
rank.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from envcfg.log.tables import load_table


class Record(NamedTuple):
    """One message of one process."""

    host: str  # node as NCCL names it; empty if the line has none
    pid: int | None  # process; None if the line has none
    device: int | None  # GPU index in the process; None if the line has none
    level: str  # `INFO`, `WARN`, `CALL`, `TRACE`; empty for a line of another writer
    message: str  # the rest of the line
    # Number that a launcher put in front; None if there is none.
    label: int | None = None
    # True if the label is the rank, and not a task or a local rank.
    is_rank: bool = False
    time: str = ""  # time stamp of the line, as text; empty if there is none
    repeated: int = 0  # number of equal lines that Ray left out
    # True if another process's line begins in the middle of this one.
    torn: bool = False
    # True if it begins after other text, which may hold a part of the host.
    glued: bool = False
    where: str = ""  # text between the prefix and NCCL: a place in its source
    # True if the writer is certain: the line begins with the prefix of NCCL, libfabric,
    # Slurm or the C++ part of PyTorch. A program that quotes a line, or prints the same
    # words, does not begin so.
    certain: bool = False
    # True if other text than the prefix of a launcher precedes NCCL's own: a program, a
    # shell or a person prints the line again.
    quoted: bool = False
    # True if a person or program prints the line again, with or without NCCL's prefix.
    copy: bool = False
    # The launcher's name of the writer, as text; empty if there is none.
    writer: str = ""
    form: str = ""  # the launcher's form of that name


# Bounded, so that a long word is not tried again from each of its letters. Lines around a
# match of grep have the file, the number and the line with dashes between them.
_HOST = (
    r"(?![\w.-]{1,200}\.(?:log|out|err|txt)-\d+-)(?:<[\w.-]{1,126}>|\w[\w.<>-]{0,127})"
)
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-6]\d"
_BEGIN = r"(?<![\w<])"  # the beginning of a host, which never follows a letter
_TAKEN_OFF = r"(?<!\S):?"  # a host may be removed before a log is published
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

# NCCL's own prefix, then those of patched, redacted and stripped logs; the first wins.
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
# NCCL before 2.3 did not print its name.
_OLDEST = re.compile(
    rf"{_NO_CLOCK}(?P<host>{_HOST}):(?P<pid>\d{{1,11}}):\d+ \[(?P<device>-?\d{{1,9}})\] "
    r"(?:(?P<where>[\w./+-]{1,200}\.(?:c[cu]?|h):\d+) )?(?P<level>INFO|WARN) "
)
_NEXT = re.compile(
    rf"(?:\[{_TIME}[^\]]{{0,80}}\] )?{_BEGIN}{_HOST}:\d+:\d+ "
    r"(?:\[-?\d+\] )?(?:[^ ].{0,400}? )??"
    r"NCCL (?:INFO|WARN|CALL|TRACE)(?: |$)"
)

_COPY, _RANK, _SOURCE, _BAR = "copy", "rank", "source", "bar"
_WRITERS = frozenset((_RANK, "task", "local", "node", "actor"))
_STREAM = re.compile(r'"stream": ?"std(?:out|err)"')  # in the JSON of container engines
_JSON = re.compile(r'"(?:log|message|msg)": ?("(?:[^"\\]|\\.)*")')
_RESET = re.compile(r"\x1b\[(?:0|39)?m")
_ERASE = re.compile(r"\x1b\[[02]?K")  # the rest of the line, or all of it
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|.)")
_GLUE = re.compile(r"[\w.-]|[=:/%,](?=\d)")  # characters that may run into a host
_QUOTES = "'\"`"
_ENDS = ("<br>", "<br/>", "<br >", "<br />", "\\n")  # ends in web pages or quoted text
_REPEATED = re.compile(r" ?\[repeated (\d+)x across cluster\].*", re.DOTALL)
_FRONT = 512  # characters; prefixes of launchers are shorter
_BOX_ENDS = ("│", "┃", "║", " |")


@cache
def prefixes(kind: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """Return the patterns of *kind* in ``prefixes.yaml``, each with its meaning."""
    entries = load_table("read/prefixes")[kind]
    return [(re.compile(entry["pattern"]), entry.get("means", "")) for entry in entries]


def _begins_as_source(line: str) -> bool:
    """Return whether *line* begins with the words of a launcher or of libfabric."""
    return any(pattern.match(line) for pattern, _ in prefixes("sources"))


def quotes_launcher(text: str) -> bool:
    """Return whether *text* contains the words of a launcher."""
    return any(pattern.search(text) for pattern, _ in prefixes("sources"))


def parse(line: str) -> Record:
    """Return the first record of *line*; a line without any prefix is a record too."""
    return next(records(line))


def records(line: str) -> Iterator[Record]:
    """Yield the records of *line*: more than one if writers ran into each other.

    Wrappers are removed from the outside in: JSON, Ray's count of repetitions, colours,
    the edge of a box, the launcher's label. The rest is split where another record begins.
    """
    line = _without_ends(line)
    # The plain form is nearly every line, and needs none of the steps below.
    if record := plain_record(line):
        yield record
        return
    is_copy = False
    if line.startswith('{"'):
        is_copy = _STREAM.search(line) is None
        line = said_in_json(line)
    repeated = 0
    if (match := _REPEATED.search(line)) is not None:
        repeated = int(match[1][:9])
        line = line[: match.start()]
    coloured = line
    # Colours split words, so they go before all patterns.
    line = without_colours(line).rstrip()
    if line.endswith(_BOX_ENDS):
        line = line[:-1].rstrip()
    line, label, meant, names = _unwrap(line)
    is_rank = _RANK in meant
    is_known = _SOURCE in meant or _begins_as_source(line)
    is_copy = is_copy or _COPY in meant or _has_own_colour(coloured, line)
    writer, form = names[0], names[1]
    glued = False
    # Another record may begin inside the line.
    many = line.count("NCCL ") > 1
    starts = [match.start() for match in _NEXT.finditer(line)][1:] if many else []
    parts = [line[a:b] for a, b in pairwise((0, *starts, len(line)))]
    for number, part in enumerate(parts, 1):
        # A table shows a line twice, with a bar between the copies.
        torn = number < len(parts) and not part.endswith(" | ")
        text = part.removesuffix(" | ")
        record, begins = _record(text, label, is_rank, repeated, torn=torn)
        # A copy of a line has another writer, and so has the text inside that copy.
        # A progress bar has no end of its line, so that another message follows it; NCCL's
        # own lines begin on a new line.
        is_copy = is_copy or (record.level != "" and (_BAR in meant or not begins))
        certain = (record.pid is not None if record.level else is_known) and not is_copy
        yield record._replace(
            glued=record.glued or glued,
            certain=certain and not glued and not torn,
            quoted=is_copy and record.level != "",
            copy=is_copy,
            writer=writer,
            form=form,
        )
        # The label belongs to the first record.
        label, writer, form, glued = None, "", "", True


def plain_record(line: str) -> Record | None:
    """Return the record of a line with NCCL's plain form only; None for other lines."""
    match = _PLAIN.match(line)
    if match is None or line.endswith(_ENDS) or "\x1b" in line or "[rep" in line:
        return None
    host, pid, device, level, message = match.groups()
    if " NCCL " in message:
        return None
    text = message.rstrip()
    return Record(host, int(pid), int(device), level, text, certain=True)


def without_colours(line: str) -> str:
    """Return *line* without terminal colours."""
    return _COLOUR.sub("", line) if "\x1b" in line else line


def _without_ends(line: str) -> str:
    """Return *line* without repeated trailing quotes and markers."""
    end = len(line)
    while line.endswith(_ENDS, 0, end):
        end -= next(len(ending) for ending in _ENDS if line.endswith(ending, 0, end))
    return line[:end]


def _has_own_colour(coloured: str, line: str) -> bool:
    """Return whether a program coloured *line*, which NCCL and launchers never do.

    Launchers colour their prefix only, and reset the colour after it.
    """
    if "\x1b" not in coloured:
        return False
    front, _, text = coloured.partition(line[:4])
    front = _ERASE.sub("", front)
    *_, last = [match[0] for match in _COLOUR.finditer(front)] or ["\x1b[0m"]
    # Codes after the last letter may belong to Ray's count of equal lines.
    return not _RESET.match(last) or without_colours(text) not in text


def _unwrap(line: str) -> tuple[str, int | None, set[str], tuple[str, str]]:
    """Strip the prefix.

    Returns:
        The rest, its label, the properties of the prefix, and the launcher's name of the
        writer with its form.
    """
    label, meant = None, set()
    writer = form = ""
    for _ in range(8):  # wrappers nest, but a limit stops repeated patterns
        for pattern, meaning in prefixes("front"):
            match = pattern.match(line, 0, _FRONT)
            if match and match.end():
                line = line[match.end() :]
                if "label" in pattern.groupindex and len(match["label"]) < 10:
                    label = int(match["label"])
                    meant.discard(_RANK)  # the meaning of the earlier label
                meant.add(meaning)
                if meaning in _WRITERS:
                    writer, form = writer + match[0], f"{form} {meaning}"
                break
        else:
            break
    return line, label, meant, (writer, form)


def said_in_json(line: str) -> str:
    """Return the text in a JSON line of a container engine."""
    import json

    match = _JSON.search(line)
    if match is None:
        return line
    try:
        return str(json.loads(match[1]))
    except ValueError:
        return line


def _record(
    text: str, label: int | None, is_rank: bool, repeated: int, *, torn: bool
) -> tuple[Record, bool]:
    """Return the record of *text*, and whether that begins with NCCL's prefix."""
    bare = Record("", None, None, "", text.strip(), label, is_rank, "", repeated, torn)
    # The order of patterns matters: a stripped form matches inside the full form.
    for pattern in _PREFIXES if "NCCL " in text else ():
        if match := _last(pattern, text):
            front = text[: match.start()]
            message = text[match.end() :]
            # A quoted record ends with its quote, and the text after it is another's.
            if front and front[-1] in _QUOTES:
                message = _without_ends(message.rpartition(front[-1])[0] or message)
            record = _filled(bare, match, message)
            # Text directly before the host may be a part of its name.
            glued = front != "" and _GLUE.match(text, len(front) - 1) is not None
            return record._replace(glued=glued), not front
    if old := _OLDEST.match(text):
        return _filled(bare, old, text[old.end() :]), True
    return bare, False


def _filled(bare: Record, match: re.Match[str], message: str) -> Record:
    part = match.groupdict()
    # Only the patched form carries a label, and there it is the rank.
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
    """Return the match with the host nearest to NCCL; other words may look like a host."""
    match = pattern.search(text)
    while match and "where" in pattern.groupindex and match["where"]:
        nearer = pattern.search(text, match.start("where"), match.end())
        if nearer is None:
            break
        match = nearer
    return match


def _number(text: str | None) -> int | None:
    # A longer number is torn or invented, because no process id is so long.
    return int(text) if text and len(text) < 12 else None
