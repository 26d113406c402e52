"""Conditions of settings: facts, their tests, and the time of the decision.

A fact is a property of the container, the host or the allocation. Most are known when
the bash is generated. Those in ``IN_JOB`` are known only in the job, where they become
an ``if``. An unstated fact is unknown and never guessed.
"""

import enum
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from envcfg.backends import runtimes
from envcfg.backends.launchers import LAUNCHERS
from envcfg.common.characters import whole_number


class FactDefinition(NamedTuple):
    """A fact that a condition may test."""

    kind: str  # `version`, `integer` or `text`; it decides how values are compared
    about: str  # its meaning, and the form of a test, for editors and pages
    example: str = "6.2.4"  # an example value, for hints
    # The value if the job states none; empty: the fact is then unknown.
    default: str = ""


FACTS: Mapping[str, FactDefinition] = {
    "architecture": FactDefinition(
        "text", "Globs on the image's architecture: x86_64, aarch64.", "aarch64"
    ),
    "container": FactDefinition(
        "text",
        "Globs on the image's file name: lumi-multitorch*, a*|b*, !other*.",
        "NAME",
    ),
    "cuda": FactDefinition("version", "CUDA of the image.", "12.8"),
    "launcher": FactDefinition(
        "text", "Globs on the launcher, such as srun or torchrun|accelerate.", "NAME"
    ),
    "libfabric": FactDefinition("version", "libfabric of the image."),
    "mpi": FactDefinition(
        "text",
        "Globs on the MPI that the program uses: cray, mpich, open-mpi. Not stated: none.",
        "cray",
        "none",
    ),
    "nccl": FactDefinition("version", "NCCL of the image.", "2.24.3"),
    "nodes": FactDefinition(
        "integer", "Nodes of the job: 1, >1. Decided in the job, unless stated.", "2"
    ),
    "plugin": FactDefinition(
        "version",
        "The plugin between NCCL or RCCL and libfabric: aws-ofi-nccl, aws-ofi-rccl.",
        "1.14.2",
    ),
    "rccl": FactDefinition("version", "RCCL of the image.", "2.22.3"),
    "rocm": FactDefinition(
        "version", "ROCm of the image: <6.2, >=6,<7; 7 stands for every 7.x."
    ),
    "runtime": FactDefinition(
        "text",
        "Globs on the kind of runtime: pyxis, ce|apptainer; apptainer is singularity, too.",
        "NAME",
    ),
    "slurm": FactDefinition(
        "version", "Slurm of the system, where lint asks.", "24.05"
    ),
    "torch": FactDefinition("version", "PyTorch of the image.", "2.6.0"),
}
VERSIONS = frozenset(name for name, fact in FACTS.items() if fact.kind == "version")
IN_JOB = frozenset({"nodes"})
CHOSEN = ("launcher", "runtime")  # chosen by options, so they are not stated as facts
# Texts with a fixed list of values.
_NAMES: Mapping[str, Callable[[], Collection[str]]] = {
    "launcher": LAUNCHERS.keys,
    "mpi": lambda: ("cray", "mpich", "open-mpi", "none"),
    "runtime": lambda: (*runtimes.kinds(), "none"),
}

_VERSION = FactDefinition("version", "")  # the kind of a name that is not a fact
_COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")  # longer ones first, for startswith


class Truth(enum.Enum):
    """The truth of a condition, as far as it is known."""

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
        """Compare *value* with the operand; None if the value is not precise enough.

        ``rocm=6`` may be 6.1 or 6.4, so it does not decide ``<6.2``.
        """
        if self.operator == "glob":
            negated = self.operand.startswith("!")
            globs = self.operand.removeprefix("!").split("|")
            return any(_fits(value, glob.strip()) for glob in globs) != negated
        left_part, right = _numbers(value), _numbers(self.operand)
        # A shorter value than the prefix may still match, so it is decided below.
        if self.operator == "prefix" and len(left_part) >= len(right):
            return left_part[: len(right)] == right
        # Trailing zeros of the operand are no extra precision: 6 equals 6.0.
        while len(right) > len(left_part) and right[-1] == 0:
            right = right[:-1]
        # The value is a beginning of the operand, so the missing numbers could be
        # anything.
        if len(left_part) < len(right) and left_part == right[: len(left_part)]:
            return None
        right += (0,) * (len(left_part) - len(right))
        return {
            "prefix": False,
            "==": left_part == right,
            "!=": left_part != right,
            "<": left_part < right,
            "<=": left_part <= right,
            ">": left_part > right,
            ">=": left_part >= right,
        }[self.operator]


Condition = tuple[Test, ...]
ALWAYS: Condition = ()


def parse_tests(fact: str, text: str) -> list[Test]:
    """Read the tests on one fact: ``<6.2``, ``>=6.2,<7``, ``7``, ``lumi-*|!other*``.

    Versions and integers take comma-separated comparisons; a bare version stands for
    all that begin with it. Texts take a glob, ``|`` between alternatives, ``!`` first to
    negate.

    Raises:
        ValueError: with a sentence, if *text* has another form.
    """
    kind = FACTS[fact].kind
    if kind == "text":
        test = Test(fact, "glob", text)
        names = _NAMES[fact]() if fact in _NAMES else ()
        # A glob that fits no known name is usually a typing error, and would never
        # hold.
        for glob in map(str.strip, text.removeprefix("!").split("|")):
            if names and not any(_fits(name, glob) for name in names):
                msg = f"{glob!r} fits no {fact}: they are {', '.join(names)}"
                raise ValueError(msg)
        return [test]
    return parse_comparisons(fact, text)


def parse_comparisons(fact: str, text: str) -> list[Test]:
    """Parse comma-separated comparisons of a version or number, also for unknown facts.

    Raises:
        ValueError: with a sentence, if *text* is none.
    """
    kind = FACTS.get(fact, _VERSION).kind
    tests = []
    for part in text.split(","):
        message = part.strip()
        operator = next(filter(message.startswith, _COMPARISONS), "")
        operand = message.removeprefix(operator).lstrip()
        if problem := fact_problem(fact, operand or message):
            raise ValueError(problem)
        # A bare version is a prefix, because users write 6.2 for every 6.2.x. A
        # bare number is exact.
        bare = "==" if kind == "integer" else "prefix"
        tests.append(Test(fact, operator or bare, operand))
    return tests


def fact_problem(fact: str, value: str) -> str | None:
    """Return the problem of *value* for this fact, as a sentence, or None."""
    kind = FACTS.get(fact, _VERSION).kind
    names = _NAMES[fact]() if fact in _NAMES else ()
    if names and value not in names:
        return f"{value!r} is not a known {fact}: they are {', '.join(names)}"
    # int() would accept signs, blanks and underscores, so whole_number() is used.
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
    texts: dict[str, list[str]] = {}
    for fact, operator, operand in when:
        plain = operator in {"glob", "prefix", "=="}
        texts.setdefault(fact, []).append(operand if plain else f"{operator}{operand}")
    return ", ".join(f"{fact} {' and '.join(tests)}" for fact, tests in texts.items())


def condition_suffix(when: Condition, *, otherwise: bool = False) -> str:
    """Return a condition after a value; *otherwise*: the value applies in no other case.

    >>> condition_suffix(parse_tests("nodes", "1"))
    '  if nodes 1'
    """
    if otherwise:
        return "  if no case applies"
    return f"  if {condition_text(when)}" if when else ""


def usable_versions(values: Mapping[str, str]) -> dict[str, str]:
    """Return those of *values* that are versions which a condition can test.

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
    """Judge *condition* by *facts*: the truth, the unknown facts, the remaining tests.

    One false test is enough for ``NO``, whatever else is unknown.
    """
    unknown: list[str] = []
    # A false test ends the work: the entry does not apply, whatever else is
    # missing.
    tests: list[Test] = []
    for test in condition:
        request = FACTS.get(test.fact, _VERSION)
        # An empty value is the same as an unstated fact.
        if value := facts.get(test.fact, request.default):
            holds = test.holds_for(value)
            if holds is False:
                return Truth.NO, [], ALWAYS
            if holds is None:
                unknown.append(test.fact)
        elif test.fact in IN_JOB:
            tests.append(test)
        else:
            unknown.append(test.fact)
    # Missing facts outweigh tests in the job: a setting that waits for a fact
    # cannot be generated.
    if unknown:
        return Truth.UNKNOWN, list(dict.fromkeys(unknown)), ALWAYS
    return (Truth.IN_JOB if tests else Truth.YES), [], tuple(tests)


def _fits(value: str, glob: str) -> bool:
    """Return whether *value* equals or matches *glob*; only a match needs compiling."""
    is_pattern = any(sign in glob for sign in "*?[")
    return fnmatchcase(value, glob) if is_pattern else value == glob


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
