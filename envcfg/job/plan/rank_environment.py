"""Compare the environment of a rank with its plan, and name the origin of each
variable; pure.

``wrap --report-environment`` makes the rank write the file: words that end with a NUL,
in parts. The head of a part holds no ``=``, so no variable can imitate it.
"""

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

from envcfg.common.errors import OutputError
from envcfg.common.secrets import shown
from envcfg.profile.conditions import FACTS, parse_tests
from envcfg.profile.words import WordError, parse_word

State = Literal["as planned", "changed", "missing", "unplanned"]
# These names change in every shell, or belong to envcfg itself, so a difference has
# no meaning.
_SHELL = frozenset({"_", "PWD", "OLDPWD", "SHLVL"})
_LONGEST = 1 << 17  # bytes of one variable: the limit of Linux
_PARTS = ("environment", "plan", "job", "start", "rank", "end")


class RankEnvironment(NamedTuple):
    """The recorded environment of one rank."""

    job_facts: Mapping[str, str]  # facts of the job: `profile`, `rank`, `nodes`
    # Name, value and condition, as in the script; `-` unsets.
    planned: tuple[tuple[str, str, str], ...]
    # The environment where the script ran, outside the container.
    job: Mapping[str, str]
    # The environment of the rank's first shell, in the container.
    start: Mapping[str, str]
    rank: Mapping[str, str]  # the environment of the rank's program


class Row(NamedTuple):
    """One variable of the rank."""

    name: str
    state: State  # whether it is as planned; `unplanned`: it is not in the plan
    planned: str | None  # the value of the plan; None: to be unset, or not in the plan
    value: str | None  # the rank's value; None: not set
    # The part that set it: `envcfg`, `job`, `image or runtime`, `srun`, `setup or
    # launcher`; empty if it has no value.
    origin: str = ""


def parse_report(data: bytes, name: str) -> RankEnvironment:
    """Parse a report of ``--report-environment``.

    Raises:
        OutputError: it is something else, or its end is missing.
    """
    parts: dict[str, list[str]] = {}
    section: list[str] = []
    # surrogateescape keeps bytes that are not UTF-8, because a value may be any
    # bytes.
    for word in data.decode("utf-8", "surrogateescape").split("\0"):
        head = word.removeprefix("envcfg:")
        # Only exact heads start a part: a program may export a variable that begins
        # with "envcfg:".
        if head != word and head in _PARTS:
            section = parts.setdefault(head, [])
        else:
            section.append(word)
    if "environment" not in parts:
        msg = f"{name} is not a report of a rank's environment"
        raise OutputError(msg, hint="wrap --report-environment makes one")
    missing = [part for part in _PARTS if part not in parts]
    # An empty part means that a tool of the writer was missing in the image.
    if not missing and not any(line.startswith("RANK=") for line in parts["rank"]):
        missing = ["rank"]  # the head is written before the tool fails
    if missing:
        msg = f"{name} has no part {missing[0]!r}: the rank did not come so far"
        hint = "the job's output says why; cat, grep and tr must be in the image"
        raise OutputError(msg, hint=hint)
    # A cut file ends within a triple; the incomplete triple is dropped.
    plan = parts["plan"]
    return RankEnvironment(
        job_facts=_pairs(parts["environment"]),
        planned=tuple(zip(plan[::3], plan[1::3], plan[2::3], strict=False)),
        job=_pairs(parts["job"]),
        start=_pairs(parts["start"]),
        rank=_pairs(parts["rank"]),
    )


def rows_of(
    report: RankEnvironment, candidates: Collection[str], starters: Collection[str]
) -> list[Row]:
    """Return the variables of the plan, followed by those of *candidates*.

    Args:
        candidates: variables that matter for communication, such as NCCL's.
        starters: prefixes of the starter's own names, such as ``SLURM_``.
    """
    planned_values: dict[str, str | None] = {}  # the first matching case of each name
    for name, value, when in report.planned:
        if name not in planned_values and _holds(when, report.job_facts):
            text = None if value == "-" else _expand(value[1:], report)
            # A variable that is optional was left alone without what it refers to.
            if value == "-" or text is not None:
                planned_values[name] = text
    # Planned variables come first: the reader wants deviations before additions.
    rows = [
        _planned(name, value, report, starters)
        for name, value in planned_values.items()
    ]
    rows += [
        Row(name, "unplanned", None, value, _origin(name, value, report, starters))
        for name, value in sorted(report.rank.items())
        if name in candidates and name not in planned_values and name not in _SHELL
    ]
    return [
        row._replace(
            planned=row.planned and shown(row.name, row.planned),
            value=row.value and shown(row.name, row.value),
        )
        for row in rows
    ]


def _holds(when: str, texts: Mapping[str, str]) -> bool:
    for part in filter(None, when.split(",")):
        fact = next(filter(part.startswith, FACTS), "")
        try:
            tests = parse_tests(fact, part.removeprefix(fact))
            holds = all(test.holds_for(texts[fact]) for test in tests)
        except (KeyError, ValueError):
            return True  # an undecidable condition must not hide the variable
        if not holds:
            return False
    return True


def _expand(text: str, report: RankEnvironment) -> str | None:
    """Return the value in this rank: references are resolved in the rank, or else the
    job; None if one of them is set nowhere."""
    try:
        word = parse_word(text)
    except WordError:
        return text
    # The rank's own value comes first, because a setup command may have changed it.
    filled, environments = "", (report.rank, report.start, report.job)
    for part in word:
        if isinstance(part, str):
            filled += part
        else:
            values = (
                environment[part.name]
                for environment in environments
                if environment.get(part.name)
            )
            is_set = any(part.name in environment for environment in environments)
            if part.default is None and not is_set:
                return None
            filled += next(values, part.default or "")
        # A value that refers to itself can double at each step, so its length is
        # limited.
        if len(filled) > _LONGEST:
            return filled[:_LONGEST]
    return filled


def _planned(
    name: str, needed: str | None, report: RankEnvironment, starters: Collection[str]
) -> Row:
    value = report.rank.get(name)
    if value == needed:
        # An unset variable that the plan unsets is as planned, but it has no
        # origin.
        return Row(name, "as planned", needed, value, "" if value is None else "envcfg")
    if value is None:
        return Row(name, "missing", needed, None)
    return Row(name, "changed", needed, value, _origin(name, value, report, starters))


def _origin(
    name: str, value: str, report: RankEnvironment, starters: Collection[str]
) -> str:
    # The job comes first: the starter and the image usually pass on the same value.
    if report.job.get(name) == value:
        return "job"
    if any(name.startswith(prefix) for prefix in starters):
        return "starter"
    if report.start.get(name) == value:
        return "image or runtime"
    return "envcfg or setup"


def _pairs(words: list[str]) -> dict[str, str]:
    """Return variables by name; words that are not variables, left by some libraries,
    are dropped."""
    pairs = (word.partition("=") for word in words)
    return {name: value for name, equals, value in pairs if equals}
