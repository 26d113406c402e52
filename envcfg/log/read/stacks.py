"""Stacks of Python's faulthandler, one after another or mixed.

A process that ends by SIGABRT writes the stacks of all its threads, each from its current
line to that of its module. Ranks do so at the same time, and a launcher may mix their
lines: a mixed stack is not read.
"""

import re
from collections import Counter
from collections.abc import Iterable

from envcfg.log.numbers import count_of
from envcfg.log.read.exceptions import TracebackFrame

_HEAD = re.compile(
    r"(?P<prefix>.{0,200}?)(?P<thread>Current thread|Thread) 0x[0-9a-f]+.{0,200}"
    r"\(most recent call first\):$"
)
_FRAME = re.compile(
    r'(?P<prefix>.{0,200}?)  File "(?P<file>[^"]{1,1000})", line (?P<line>\d{1,9}) '
    r"in (?P<function>.{1,200})"
)
_TOP = "<module>"
_FEW = 8  # places in the message


def describe_stacks(lines: Iterable[str]) -> str:
    """Return the places of the processes in the stacks of *lines*; empty without stacks."""
    # The processes at each line of the user's program, or of Python's if there is none.
    counts: Counter[TracebackFrame] = Counter()
    written = 0  # stacks that were begun; some of them may be torn
    open_: dict[str, list[TracebackFrame]] = {}  # by the prefix of their lines
    for line in lines:
        text = line.rstrip("\r\n")
        if head := _HEAD.match(text):
            open_.pop(head["prefix"], None)
            # Only the current thread shows the program; others are helpers.
            if head["thread"] != "Thread":
                written += 1
                open_[head["prefix"]] = []
        elif match := _FRAME.match(text):
            if (frames := open_.get(match["prefix"])) is None:
                continue
            frame = TracebackFrame(match["file"], int(match["line"]), match["function"])
            frames.append(frame)
            if frame.function == "_bootstrap" and frame.file.endswith("threading.py"):
                # A current thread is not a helper, so a line of another rank is mixed
                # in.
                del open_[match["prefix"]]
            elif frame.function == _TOP:
                own = (frame for frame in frames if not frame.is_library)
                counts[next(own, frames[0])] += 1
                del open_[match["prefix"]]
    most = counts.most_common(_FEW)
    texts = [
        f"{count_of(count, 'rank')} stood at {frame.short} in {frame.function}"
        for frame, count in most
    ]
    if remaining := written - sum(count for _, count in most):
        texts.append(f"{count_of(remaining, 'other stack')} not told")
    return "; ".join(texts)
