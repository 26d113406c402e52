"""When a setting applies: facts, the tests on them, and what is decided when.

A fact is something known of the container, the host or the allocation. Most are known
when the bash is generated; those in ``IN_JOB`` only in the job, where they become an
``if``. A fact that nobody stated is unknown, and is never guessed.
"""

import enum
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from envcfg import runtimes
from envcfg.characters import whole_number
from envcfg.launchers import LAUNCHERS


class Asked(NamedTuple):
    """What a condition may ask for.

    Attributes:
        kind: ``version``, ``integer`` or ``text``; it decides how values compare.
        about: what it is, and how a test on it looks, for editors and pages.
        example: a value of it, for hints.
    """

    kind: str
    about: str
    example: str = "6.2.4"


FACTS: Mapping[str, Asked] = {
    "architecture": Asked(
        "text", "Globs on the image's architecture: x86_64, aarch64.", "aarch64"
    ),
    "container": Asked(
        "text",
        "Globs on the image's file name: lumi-multitorch*, a*|b*, !other*.",
        "NAME",
    ),
    "cuda": Asked("version", "CUDA of the image.", "12.8"),
    "launcher": Asked(
        "text", "Globs on the launcher, such as srun or torchrun|accelerate.", "NAME"
    ),
    "libfabric": Asked("version", "libfabric of the image."),
    "nccl": Asked("version", "NCCL of the image.", "2.24.3"),
    "nodes": Asked(
        "integer", "Nodes of the job: 1, >1. Decided in the job, unless stated.", "2"
    ),
    "plugin": Asked(
        "version",
        "The plugin between NCCL or RCCL and libfabric: aws-ofi-nccl, aws-ofi-rccl.",
        "1.14.2",
    ),
    "rccl": Asked("version", "RCCL of the image.", "2.22.3"),
    "rocm": Asked(
        "version", "ROCm of the image: <6.2, >=6,<7; 7 stands for every 7.x."
    ),
    "runtime": Asked(
        "text",
        "Globs on the kind of runtime: pyxis, ce|apptainer; apptainer is singularity, too.",
        "NAME",
    ),
    "slurm": Asked("version", "Slurm of the system, where lint asks.", "24.05"),
    "torch": Asked("version", "PyTorch of the image.", "2.6.0"),
}
VERSIONS = frozenset(name for name, each in FACTS.items() if each.kind == "version")
IN_JOB = frozenset({"nodes"})
CHOSEN = ("launcher", "runtime")  # by options, so that nobody states them
# Texts of which only some are known.
_NAMES: Mapping[str, Callable[[], Collection[str]]] = {
    "launcher": LAUNCHERS.keys,
    "runtime": lambda: (*runtimes.kinds(), "none"),
}

_VERSION = Asked("version", "")  # how what is no fact is read
_COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")  # the longer ones first


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

    def holds_for(self, value: str) -> bool | None:
        """Compare *value* with the operand; None where it is not precise enough.

        ``rocm=6`` may be 6.1 or 6.4, so it does not decide ``<6.2``.
        """
        if self.operator == "glob":
            negated = self.operand.startswith("!")
            globs = self.operand.removeprefix("!").split("|")
            return any(_fits(value, glob.strip()) for glob in globs) != negated
        left, right = _numbers(value), _numbers(self.operand)
        if self.operator == "prefix" and len(left) >= len(right):
            return left[: len(right)] == right
        while len(right) > len(left) and right[-1] == 0:
            right = right[:-1]
        if len(left) < len(right) and left == right[: len(left)]:
            return None
        right += (0,) * (len(left) - len(right))
        return {
            "prefix": False,
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
    kind = FACTS[fact].kind
    if kind == "text":
        test = Test(fact, "glob", text)
        names = _NAMES[fact]() if fact in _NAMES else ()
        for glob in map(str.strip, text.removeprefix("!").split("|")):
            if names and not any(_fits(name, glob) for name in names):
                msg = f"{glob!r} fits no {fact}: they are {', '.join(names)}"
                raise ValueError(msg)
        return [test]
    return parse_comparisons(fact, text)


def parse_comparisons(fact: str, text: str) -> list[Test]:
    """Read comma-separated comparisons of a version or a number; of what is no fact, too.

    Raises:
        ValueError: with a sentence, if *text* is none.
    """
    kind = FACTS.get(fact, _VERSION).kind
    tests = []
    for part in text.split(","):
        said = part.strip()
        operator = next(filter(said.startswith, _COMPARISONS), "")
        operand = said.removeprefix(operator).lstrip()
        if problem := fact_problem(fact, operand or said):
            raise ValueError(problem)
        bare = "==" if kind == "integer" else "prefix"
        tests.append(Test(fact, operator or bare, operand))
    return tests


def fact_problem(fact: str, value: str) -> str | None:
    """Return what is wrong with *value* for this fact, as a sentence, or None."""
    kind = FACTS.get(fact, _VERSION).kind
    numbers = map(whole_number, value.split("."))
    if kind == "version" and any(number is None for number in numbers):
        return f"{value!r} is not a version: expected numbers and dots, as in 6.2.4"
    if kind == "integer" and whole_number(value) is None:
        return f"{value!r} is not a whole number"
    return None


def condition_text(when: Condition) -> str:
    """Return a condition in one line, as people write it in profiles.

    >>> condition_text((*parse_tests("rocm", ">=6,<7"), *parse_tests("nodes", "1")))
    'rocm >=6 and <7, nodes 1'
    """
    said: dict[str, list[str]] = {}
    for fact, operator, operand in when:
        plain = operator in {"glob", "prefix", "=="}
        said.setdefault(fact, []).append(operand if plain else f"{operator}{operand}")
    return ", ".join(f"{fact} {' and '.join(tests)}" for fact, tests in said.items())


def usable_versions(values: Mapping[str, str]) -> dict[str, str]:
    """Return those of *values*, read somewhere, that are versions conditions ask for.

    >>> usable_versions({"rocm": "6.2.4", "nccl": "yes", "python": "3.12"})
    {'rocm': '6.2.4'}
    """
    return {
        name: value
        for name, value in values.items()
        if name in VERSIONS and fact_problem(name, value) is None
    }


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
            holds = test.holds_for(facts[test.fact])
            if holds is False:
                return Truth.NO, [], ALWAYS
            if holds is None:
                unknown.append(test.fact)
        elif test.fact in IN_JOB:
            left.append(test)
        else:
            unknown.append(test.fact)
    if unknown:
        return Truth.UNKNOWN, list(dict.fromkeys(unknown)), ALWAYS
    return (Truth.IN_JOB if left else Truth.YES), [], tuple(left)


def _fits(value: str, glob: str) -> bool:
    """Tell whether *glob* is *value*, or fits it; only the latter needs to be compiled."""
    is_pattern = any(sign in glob for sign in "*?[")
    return fnmatchcase(value, glob) if is_pattern else value == glob


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
