"""Stacks that Python's faulthandler has written, one after another or between each other.

Who is ended by SIGABRT writes the stacks of all its threads, each from the line that it was
in to that of its module. Ranks do so at once, and what starts them may put lines of one
between those of another: such a stack is not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from envcfg.log.numbers import count_of
from envcfg.log.thrown import Frame

_HEAD = re.compile(
    r"(?P<prefix>.{0,200}?)(?P<thread>Current thread|Thread) 0x[0-9a-f]+.{0,200}"
    r"\(most recent call first\):$"
)
_FRAME = re.compile(
    r'(?P<prefix>.{0,200}?)  File "(?P<file>[^"]{1,1000})", line (?P<line>\d{1,9}) '
    r"in (?P<function>.{1,200})"
)
_TOP = "<module>"
_FEW = 8  # places that are said


class Places(NamedTuple):
    """Where processes were that wrote their stacks.

    Attributes:
        counts: of each line of the user's program, or of Python's where there is none, how
            many processes were in it.
        written: how many stacks were begun; some of them may be torn.
    """

    counts: Counter[Frame]
    written: int

    @property
    def said(self) -> str:
        """Return them in words; empty where there are none."""
        most = self.counts.most_common(_FEW)
        said = [
            f"{count_of(count, 'rank')} stood at {frame.short} in {frame.function}"
            for frame, count in most
        ]
        if left := self.written - sum(count for _, count in most):
            said.append(f"{count_of(left, 'other stack')} not told")
        return "; ".join(said)


def places(lines: Iterable[str]) -> Places:
    """Return where the processes were whose stacks stand in *lines*."""
    counts: Counter[Frame] = Counter()
    written = 0
    open_: dict[str, list[Frame]] = {}  # by what stands in front of a line
    for line in lines:
        text = line.rstrip("\r\n")
        if head := _HEAD.match(text):
            open_.pop(head["prefix"], None)
            if head["thread"] != "Thread":
                written += 1
                open_[head["prefix"]] = []
        elif found := _FRAME.match(text):
            if (frames := open_.get(found["prefix"])) is None:
                continue
            frame = Frame(found["file"], int(found["line"]), found["function"])
            frames.append(frame)
            if frame.function == "_bootstrap" and frame.file.endswith("threading.py"):
                del open_[found["prefix"]]  # it is of a thread, and so of another rank
            elif frame.function == _TOP:
                own = (each for each in frames if not each.is_library)
                counts[next(own, frames[0])] += 1
                del open_[found["prefix"]]
    return Places(counts, written)
