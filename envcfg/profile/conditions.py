"""When a setting applies: facts, the tests on them, and what is decided when.

A fact is something known of the container, the host or the allocation. Most are known
when the bash is generated; those in ``IN_JOB`` only in the job, where they become an
``if``. A fact that nobody stated is unknown, and is never guessed.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

# What a condition may ask for. The kind decides how values compare.
FACTS: Mapping[str, str] = {
    "container": "text",  # file name of the image, or its URI
    "cuda": "version",
    "launcher": "text",
    "libfabric": "version",
    "nccl": "version",
    "nodes": "integer",  # nodes of the job
    "plugin": "version",  # aws-ofi-nccl or aws-ofi-rccl in the image
    "rccl": "version",
    "rocm": "version",
    "torch": "version",
}
IN_JOB = frozenset({"nodes"})

_ORDER_TEST = re.compile(r"(<=|>=|==|!=|<|>)\s*(.+)")
_VERSION = re.compile(r"\d+(\.\d+)*")


class Truth(enum.Enum):
    """What is known of a condition."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    IN_JOB = "in job"


class Test(NamedTuple):
    """One comparison of one fact: ``operator`` is ``== != < <= > >=`` or ``glob``."""

    fact: str
    operator: str
    operand: str

    def holds_for(self, value: str) -> bool:
        """Compare *value*, which is of the fact's kind, with the operand."""
        if self.operator == "glob":
            negated = self.operand.startswith("!")
            globs = self.operand.removeprefix("!").split("|")
            return any(fnmatchcase(value, glob.strip()) for glob in globs) != negated
        left, right = _numbers(value), _numbers(self.operand)
        if self.operator == "prefix":
            return left[: len(right)] == right
        width = max(len(left), len(right))
        left += (0,) * (width - len(left))
        right += (0,) * (width - len(right))
        return {
            "==": left == right,
            "!=": left != right,
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }[self.operator]


Condition = tuple[Test, ...]
ALWAYS: Condition = ()


def parse_tests(fact: str, text: str) -> list[Test]:
    """Read the tests on one fact: ``<6.2``, ``>=6.2,<7``, ``7``, ``lumi-*|!other*``.

    Versions and integers take comma-separated comparisons; a bare version stands for
    all that begin with it. Texts take a glob, ``|`` between alternatives, ``!`` first to
    negate.

    Raises:
        ValueError: with a sentence, if *text* is none of these.
    """
    kind = FACTS[fact]
    if kind == "text":
        return [Test(fact, "glob", text)]
    tests = []
    for part in text.split(","):
        match = _ORDER_TEST.fullmatch(part.strip())
        operator, operand = match.groups() if match else (None, part.strip())
        check_fact(fact, operand)
        if operator is None:
            operator = "==" if kind == "integer" else "prefix"
        tests.append(Test(fact, operator, operand))
    return tests


def check_fact(fact: str, value: str) -> None:
    """Raise ValueError, with a sentence, if *value* is not of the fact's kind."""
    kind = FACTS[fact]
    if kind == "version" and not _VERSION.fullmatch(value):
        msg = f"{value!r} is no version: expected numbers and dots, as in 6.2.4"
        raise ValueError(msg)
    if kind == "integer" and not (value.isascii() and value.isdigit()):
        msg = f"{value!r} is no whole number"
        raise ValueError(msg)


def judge(
    condition: Condition, facts: Mapping[str, str]
) -> tuple[Truth, list[str], Condition]:
    """Judge *condition* by *facts*: the truth, the unknown facts, what is left to test.

    One false test is enough for ``NO``, whatever else is unknown.
    """
    unknown: list[str] = []
    left: list[Test] = []
    for test in condition:
        if test.fact in facts:
            if not test.holds_for(facts[test.fact]):
                return Truth.NO, [], ALWAYS
        elif test.fact in IN_JOB:
            left.append(test)
        else:
            unknown.append(test.fact)
    if unknown:
        return Truth.UNKNOWN, list(dict.fromkeys(unknown)), ALWAYS
    return (Truth.IN_JOB if left else Truth.YES), [], tuple(left)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
