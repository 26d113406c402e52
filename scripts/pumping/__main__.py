"""Print the slowest patterns, each with the text that it takes longest for."""

from __future__ import annotations

import argparse
import sys
import time
from typing import NamedTuple

from envcfg.common.budget import Budget, SpentError
from scripts.pumping.patterns import Found, find_patterns
from scripts.pumping.texts import Hostile, hostile_texts

_MOST = 1.0  # seconds of processor time that a pattern may take at its reader's cap
_MEMORY = 2000.0  # MB
_SHORT = 2048  # characters of the texts that are tried first
_FEW = 3  # of them that are tried at the length of the cap


class Row(NamedTuple):
    """What a pattern took at most, and for which text."""

    seconds: float
    stopped: bool
    found: Found
    hostile: Hostile | None


def main() -> int:
    """Return 0 where no pattern takes longer than it may, else 1."""
    parser = argparse.ArgumentParser(
        prog="scripts/pump-patterns",
        description="Search hostile texts, as long as readers let them be, by every "
        "regular expression of envcfg. Prints processor time, where it stands, its text.",
        epilog=f"exit code: 1 if one takes more than {_MOST:g} s",
    )
    parser.add_argument("-n", type=int, default=20, help="how many to print")
    parser.add_argument("--only", default="", help="places with this in their name")
    parser.add_argument("--stop", type=float, default=5.0, help="seconds for one text")
    options = parser.parse_args()
    unread: list[str] = []
    rows = [
        _worst(each, options.stop)
        for each in find_patterns(unread)
        if options.only in each.place
    ]
    rows.sort(key=lambda row: -row.seconds)
    print(f"{len(rows)} patterns, the slowest {options.n}:")
    for row in rows[: options.n]:
        sign = ">" if row.stopped else " "
        shown = row.hostile.words() if row.hostile else ""
        print(
            f"{sign}{row.seconds:7.3f} s  {row.found.cap:6} {row.found.place}  {shown}"
        )
    print(f"not looked at, as they are made when they are used: {len(unread)}")
    for place in unread:
        print(f"  {place}")
    return int(any(row.seconds > _MOST for row in rows))


def _worst(found: Found, stop: float) -> Row:
    """Return what *found* takes at most: of short texts the worst are made long."""
    short = min(_SHORT, found.cap)
    rows = []
    for hostile in hostile_texts(found.pattern, line=found.is_line):
        rows.append(_time(found, hostile, short, stop / 10))
        if rows[-1].stopped:
            break
    rows.sort(key=lambda row: -row.seconds)
    long = [_time(found, row.hostile, found.cap, stop) for row in rows[:_FEW]]
    return max(long, key=lambda row: row.seconds, default=Row(0.0, False, found, None))


def _time(found: Found, hostile: Hostile, size: int, stop: float) -> Row:
    text = hostile.text(size)
    given = text.encode("latin-1", "replace") if found.is_bytes else text
    before = time.thread_time()
    stopped = False
    try:
        with Budget(found.place, seconds=stop, megabytes=_MEMORY):
            for way in found.ways:
                getattr(found.pattern, way)(given)
    except SpentError:
        stopped = True
    return Row(time.thread_time() - before, stopped, found, hostile)


if __name__ == "__main__":
    sys.exit(main())
