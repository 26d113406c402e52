"""Every ending that a rule knows, and it without each capture that the rule does not need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from checking import rulebook

from envcfg.log.read.endings import ENDS
from envcfg.log.read.prefix import parse
from envcfg.log.read.rulebook import RAISED, LogRule, load_rules

TRACEBACK = 'Traceback (most recent call last):\n  File "/u/t.py", line 3, in <module>\n    f()\n'


class Ending(NamedTuple):
    """One line that tells of an end, and the rule that reads it."""

    rule: LogRule
    line: str

    @property
    def text(self) -> str:
        """The line as a log has it: exceptions are at the end of a traceback."""
        head = TRACEBACK if self.rule.event == RAISED else ""
        return f"{head}{self.line}\n"


def variants(rule: LogRule, sample: str) -> Iterator[str]:
    """Yield *sample*, and it without each capture that the rule does not need."""
    yield sample
    message = parse(sample).message
    match = next((e for e in rulebook().matches(message) if e.rule == rule), None)
    for value in match.fields.values() if match else ():
        shorter = sample.replace(value, "", 1) if value else sample
        for line in (shorter, shorter.replace("  ()", ""), shorter.replace(" ()", "")):
            if line != sample and any(
                e.rule == rule for e in rulebook().matches(parse(line).message)
            ):
                yield line
                break


ENDINGS = [
    Ending(rule, line)
    for rule in load_rules()
    if rule.ends or rule.event in {*ENDS, RAISED}
    for sample in rule.samples
    for line in dict.fromkeys(variants(rule, sample))
]
NAMES = [f"{each.rule.id}-{number}" for number, each in enumerate(ENDINGS)]
