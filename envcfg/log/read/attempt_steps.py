"""The steps of each attempt of a job, in the forms of any program."""

import re
from collections.abc import Iterable, Sequence

from envcfg.log.read.exceptions import STAMP
from envcfg.log.read.process_facts import Spot

_WORDS = (b"tep", b"poch", b"iter", b"Iter", b"atch", b"_count", b"%|")
_STEP = re.compile(
    rb"(?i)(?<!\w)(?<!\* )(?:global[_ ]?|train[_ ]?)?(epoch|step|iter|batch|samples)"
    rb"(?:ation|_num|_count)?[\"']?[ \t:=|#\[(]{0,14}(\d{1,9}(?:\.\d{1,6})?)(?![\d:%])"
    rb"|\|[ \t]*(\d{1,9})/\d+ \["
)
_HEAD = 1 << 12  # bytes in which the first time is searched
_MOST = 1 << 10


class Stretch:
    """The lines of a file between two attempts."""

    def __init__(self, spot: Spot) -> None:
        """Begin without a step."""
        self.spot = spot  # its first line
        self.first = self.last = ""  # such as `epoch 2 step 50`; empty without a step
        self.time = ""  # the time at its begin; empty without one


class AttemptSteps:
    """Finds the first and the last step of each attempt, in the order of lines."""

    def __init__(self, marks: Sequence[bytes]) -> None:
        """Begin without steps; *marks* are texts of lines that end an attempt."""
        self.stretches: list[Stretch] = []
        self._marks = marks

    def take(self, text: bytes, spot: Spot) -> None:
        """Read a block."""
        ends = [len(text)]
        for mark in self._marks:
            found = re.finditer(re.escape(mark) + b".*\n", text) if mark in text else ()
            ends += [match.end() for match in found]
        start = 0
        for end in sorted(ends):
            is_new = not self.stretches or self.stretches[-1].spot[0] != spot[0]
            if (start or is_new) and len(self.stretches) < _MOST:
                own = Stretch(spot._replace(line=text.count(b"\n", 0, start)))
                match = STAMP.search(
                    str(text[start : start + _HEAD], "utf-8", "replace")
                )
                own.time = match[0] if match else ""
                self.stretches.append(own)
            part, own = text[start:end], self.stretches[-1]
            lines = part.splitlines() if any(word in part for word in _WORDS) else []
            if last := step_in(reversed(lines)):
                own.last, own.first = last, own.first or step_in(lines)
            start = end


def step_in(lines: Iterable[bytes]) -> str:
    """Return the step in the first of *lines* with one; empty without one."""
    for line in lines:
        if parts := {
            ("step", "epoch")[name.lower() == b"epoch"]: (number or of_bar).decode()
            for name, number, of_bar in reversed(_STEP.findall(line))
        }:
            return " ".join(
                f"{name} {number}" for name, number in sorted(parts.items())
            )
    return ""


def order_of(step: str) -> tuple[float, float]:
    """Return the order of *step* among those of all attempts.

    >>> order_of("epoch 2 step 50") > order_of("epoch 1 step 900") > order_of("")
    True
    """
    words = step.split()
    numbers = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    return numbers.get("epoch", -1.0), numbers.get("step", -1.0)
