"""Times, sizes and lists of numbers in the forms of schedulers; pure."""

from __future__ import annotations

import re

_TIME = re.compile(
    r"(?:(?P<days>[0-9]{1,4})-)?(?P<first>[0-9]{1,6})(?::(?P<second>[0-9]{1,2}))?(?::(?P<third>[0-9]{1,2}))?"
)
_UNIT = r"([1-9][0-9]{0,2}) ?(m|min|minutes?|h|hours?|d|days?)"
_FORMS = {"m": "", "h": ":00:00", "d": "-00:00:00"}
_SIZE = re.compile(r"(?P<number>[0-9]{1,9})(?P<unit>[KMGT]?)B?", re.IGNORECASE)
_RANGE = re.compile(
    r"(?P<first>[0-9]{1,7})(?:-(?P<last>[0-9]{1,7})(?::(?P<step>[1-9][0-9]{0,6}))?)?"
)
_KIB = {"K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}


def seconds(text: str) -> int:
    """Read a time limit of Slurm: ``90`` (minutes), ``1:30:00``, ``2-12:00:00``.

    Raises:
        ValueError: it is not a time, or it is zero.
    """
    match = _TIME.fullmatch(text)
    if not match:
        msg = f"{text!r} is not a time, as in 30 (minutes), 24:00:00 or 2-00:00:00"
        if unit := re.fullmatch(_UNIT, text):
            msg = f"{text!r} is not a time: write {unit[1]}{_FORMS[unit[2][0]]}"
        raise ValueError(msg)
    days = int(match["days"] or 0)
    parts = [int(match[name] or 0) for name in ("first", "second", "third")]
    if match["days"] is None and match["third"] is None:
        parts = [0, *parts[:2]]  # minutes, or minutes:seconds
    hours, minutes, rest = parts
    total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    if total == 0:
        msg = f"{text!r} is not a time at all"
        raise ValueError(msg)
    return total


def time_text(total: int) -> str:
    """Return *total* seconds as ``days-hours:minutes:seconds``, without zero days."""
    minutes, rest = divmod(total, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    clock = f"{hours:02}:{minutes:02}:{rest:02}"
    return f"{days}-{clock}" if days else clock


def mebibytes(text: str) -> int:
    """Read a size of Slurm, in MiB: ``60G``, ``29440M``, ``512`` (MiB).

    Raises:
        ValueError: it is not a size, or less than one MiB.
    """
    match = _SIZE.fullmatch(text)
    size = 0
    if match:
        size = int(match["number"]) * _KIB[match["unit"].upper() or "M"] >> 10
    if size == 0:
        msg = f"{text!r} is not a size, as in 60G or 29440M"
        raise ValueError(msg)
    return size


def size_text(size: int) -> str:
    """Return *size* MiB in Slurm's form, in GiB if that is exact."""
    return f"{size}M" if size % 1024 else f"{size // 1024}G"


def array_tasks(text: str) -> int:
    """Return the number of jobs of an array, as *array_marks* reads it."""
    return array_marks(text).count(1)


def array_marks(text: str) -> bytearray:
    """Return 1 for each index of an array: ``0-9``, ``1,3,5-7``, ``0-15:4%2``.

    Raises:
        ValueError: it is not a list in Slurm's form.
    """
    listed, percent, at_once = text.partition("%")
    marks = bytearray()  # by number: a set of ten million numbers takes 600 MB
    for part in listed.split(","):
        match = _RANGE.fullmatch(part)
        first = int(match["first"]) if match else 1
        last = int(match["last"] or first) if match else 0
        if not match or last < first or (percent and not _RANGE.fullmatch(at_once)):
            msg = f"{text!r} is not an array, as in 0-9, 1,3,7 or 0-99%10"
            raise ValueError(msg)
        marks.extend(bytes(max(0, last + 1 - len(marks))))
        step = int(match["step"] or 1)
        marks[first : last + 1 : step] = b"\1" * len(range(first, last + 1, step))
    return marks
