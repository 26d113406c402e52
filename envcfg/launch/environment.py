"""What a rank's environment was, held against its plan: who has set what; pure.

The file is what ``wrap --report-environment`` makes the rank write: words that end with a
NUL, in parts whose heads hold no ``=``, which a variable has.
"""

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

from envcfg.errors import OutputError
from envcfg.profile.conditions import FACTS, parse_tests
from envcfg.profile.words import WordError, parse_word

State = Literal["as planned", "changed", "missing", "unplanned"]
# Names that are nobody's wish: the shell's, and envcfg's own.
_SHELL = frozenset({"_", "PWD", "OLDPWD", "SHLVL"})
_LONGEST = 1 << 17  # bytes of one variable, as Linux has it
_PARTS = ("environment", "plan", "job", "start", "rank", "end")
# What is not written: by the name, or with a password in an address. The template "told"
# has the same.
_HIDDEN = (
    "^[^=]*(KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|PRIVATE)[^=]*="
    "|^[^=]*=.*://[^/@]*:[^/@]+@"
)


class Report(NamedTuple):
    """What one rank wrote down.

    Attributes:
        said: of the job: ``profile``, ``rank``, ``nodes``.
        planned: name, value and condition, as the script has them; ``-`` unsets.
        job: the environment where the script ran, outside the container.
        start: the one that the rank's first shell was given, in the container.
        rank: the one that its program was given.
    """

    said: Mapping[str, str]
    planned: tuple[tuple[str, str, str], ...]
    job: Mapping[str, str]
    start: Mapping[str, str]
    rank: Mapping[str, str]


class Row(NamedTuple):
    """One variable of the rank.

    Attributes:
        state: whether it is as planned; ``unplanned``: nobody planned it.
        planned: the value of the plan; None: to be unset, or not in it.
        value: the rank's; None: it had none.
        origin: who has set it: ``envcfg``, ``job``, ``image or runtime``, ``srun``,
            ``setup or launcher``; empty where it has no value.
    """

    name: str
    state: State
    planned: str | None
    value: str | None
    origin: str = ""


def is_secret(name: str, value: str) -> bool:
    """Tell whether a variable looks secret, and so is not written down."""
    import re

    text = f"{name}={value}"
    return re.search(_HIDDEN, text, re.IGNORECASE | re.DOTALL) is not None


def parse_report(data: bytes, name: str) -> Report:
    """Read what ``--report-environment`` wrote.

    Raises:
        OutputError: it is something else, or its end is missing.
    """
    parts: dict[str, list[str]] = {}
    here: list[str] = []
    for word in data.decode("utf-8", "surrogateescape").split("\0"):
        head = word.removeprefix("envcfg:")
        if head != word and head in _PARTS:
            here = parts.setdefault(head, [])
        else:
            here.append(word)
    if "environment" not in parts:
        msg = f"{name} is not a report of a rank's environment"
        raise OutputError(msg, hint="wrap --report-environment makes one")
    missing = [each for each in _PARTS if each not in parts]
    if not missing and not any(each.startswith("RANK=") for each in parts["rank"]):
        missing = ["rank"]  # its head is there, but a tool was not
    if missing:
        msg = f"{name} has no part {missing[0]!r}: the rank did not come so far"
        hint = "the job's output says why; cat, grep and tr must be in the image"
        raise OutputError(msg, hint=hint)
    plan = parts["plan"]
    return Report(
        said=_pairs(parts["environment"]),
        planned=tuple(zip(plan[::3], plan[1::3], plan[2::3], strict=False)),
        job=_pairs(parts["job"]),
        start=_pairs(parts["start"]),
        rank=_pairs(parts["rank"]),
    )


def rows_of(
    report: Report, known: Collection[str], starters: Collection[str]
) -> list[Row]:
    """Return all that the plan names, then what *known* names beside it.

    Args:
        known: variables that matter to somebody, such as NCCL's.
        starters: how names begin that are the starter's own, such as ``SLURM_``.
    """
    wanted: dict[str, str | None] = {}  # of each variable what holds first
    for name, value, when in report.planned:
        if name not in wanted and _holds(when, report.said):
            wanted[name] = None if value == "-" else _expand(value[1:], report)
    rows = [_planned(name, value, report, starters) for name, value in wanted.items()]
    rows += [
        Row(name, "unplanned", None, value, _origin(name, value, report, starters))
        for name, value in sorted(report.rank.items())
        if name in known and name not in wanted and name not in _SHELL
    ]
    return rows


def _holds(when: str, said: Mapping[str, str]) -> bool:
    for part in filter(None, when.split(",")):
        fact = next(filter(part.startswith, FACTS), "")
        try:
            tests = parse_tests(fact, part.removeprefix(fact))
            holds = all(test.holds_for(said[fact]) for test in tests)
        except (KeyError, ValueError):
            return True  # what cannot be judged is not hidden
        if not holds:
            return False
    return True


def _expand(text: str, report: Report) -> str:
    """Return the value in this rank: what it refers to is the rank's, or the job's."""
    try:
        word = parse_word(text)
    except WordError:
        return text
    made, known = "", (report.rank, report.start, report.job)
    for part in word:
        if isinstance(part, str):
            made += part
        else:
            given = (each[part.name] for each in known if each.get(part.name))
            made += next(given, part.default or "")
        if len(made) > _LONGEST:
            return made[:_LONGEST]
    return made


def _planned(
    name: str, wanted: str | None, report: Report, starters: Collection[str]
) -> Row:
    value = report.rank.get(name)
    if value == wanted:
        return Row(name, "as planned", wanted, value, "" if value is None else "envcfg")
    if value is None:
        return Row(name, "missing", wanted, None)
    return Row(name, "changed", wanted, value, _origin(name, value, report, starters))


def _origin(name: str, value: str, report: Report, starters: Collection[str]) -> str:
    if report.job.get(name) == value:
        return "job"
    if any(name.startswith(prefix) for prefix in starters):
        return "starter"
    if report.start.get(name) == value:
        return "image or runtime"
    return "envcfg or setup"


def _pairs(words: list[str]) -> dict[str, str]:
    """Return variables by name; a word that is none, as some libraries leave, is not."""
    pairs = (word.partition("=") for word in words)
    return {name: value for name, equals, value in pairs if equals}
