"""Rules: what is wrong, why, what to do; and, by id, what looks for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from envcfg.datafile import backend, backends, load_kept, names_in
from envcfg.findings import Finding, Severity
from envcfg.lint import detectors
from envcfg.lint.facts import Shape
from envcfg.lint.model import Model

if TYPE_CHECKING:
    from envcfg.profile.model import Profile

# Takes the words behind ``envcfg``, and returns what is doubtful in them.
ReadLine = Callable[[Sequence[str]], Iterable[Finding]]
FOLDER = os.path.join(os.path.dirname(__file__), "rules")
Detector = Callable[["Job"], Iterator["Fault"]]
_detectors: dict[str, Detector] = {}


class Sample(NamedTuple):
    """A script that shows a rule, or that it does not speak.

    Attributes:
        lines: where the rule speaks; empty in a good one.
        shows: which "not" of the rule it stands for.
        files: other files beside it, by name.
    """

    script: str
    lines: tuple[int, ...] = ()
    shows: str = ""
    files: Mapping[str, str] = {}
    profile: str | None = None
    severity: Severity | None = None


class Form(NamedTuple):
    """What a rule says of one form of its fault, where that differs from the rule's own."""

    severity: Severity | None = None
    message: str | None = None
    fix: str | None = None


class Rule(NamedTuple):
    """One fault that scripts have.

    Attributes:
        id: ``EC`` with its group and its number in the list of all rules; never reused.
        name: the same in words.
        message: one sentence, in which ``{...}`` is what the detector found.
        why: what it does to the job.
        fix: what to write instead.
        also: other forms of the fault, by the names that its detector has for them.
        knows: tables of names that its detector looks for, by their own names; source and
            date are the rule's.
    """

    id: str
    name: str
    group: str
    severity: Severity
    message: str
    why: str
    fix: str
    source: str
    date: str
    bad: tuple[Sample, ...] = ()
    good: tuple[Sample, ...] = ()
    also: Mapping[str, Form] = {}
    knows: Mapping[str, Any] = {}


class _Named(dict[str, str]):
    """What a detector fills in, by its name."""

    def __missing__(self, name: str) -> str:
        return name.upper()


def unfilled(words: str) -> str:
    """Return words of a rule with names in capitals for what its detector fills in."""
    return words.format_map(_Named())


class Edit(NamedTuple):
    """What mends a fault: the characters from *start* to *end*, offsets in the sources."""

    start: int
    end: int
    text: str


class Fault(NamedTuple):
    """What a detector has found.

    Attributes:
        at: offset in the sources; of several at one place the first counts.
        words: what the message of the rule is filled with.
        form: its name among the rule's others; empty: what the rule itself says.
        severity: where it differs from that of the form.
        edit: what mends it without a doubt.
    """

    at: int
    words: Mapping[str, object] = {}
    form: str = ""
    severity: Severity | None = None
    edit: Edit | None = None


class Job(NamedTuple):
    """What detectors look at: the model of a script, and what is certain of it.

    Attributes:
        shape: of the whole job.
        profile: the system, where it is known.
        before, behind: what stands before an offset on its line, and behind it.
        around: the line of an offset, and the one above it.
        read_line: envcfg's own parser, if it is at hand.
        facts: what is known of the system: its Slurm.
    """

    model: Model
    shape: Shape
    profile: Profile | None = None
    before: Callable[[int], str] = lambda _: ""
    behind: Callable[[int], str] = lambda _: ""
    around: Callable[[int], str] = lambda _: ""
    read_line: ReadLine | None = None
    facts: Mapping[str, str] = {}


def detects(rule: str) -> Callable[[Detector], Detector]:
    """Register a function as what looks for *rule*."""

    def register(detector: Detector) -> Detector:
        _detectors[rule] = detector
        return detector

    return register


def load_detectors() -> Mapping[str, Detector]:
    """Return what looks for each rule."""
    for name in backends(detectors.__file__):
        backend(detectors.__name__, name)
    return _detectors


@cache
def load_rules() -> Mapping[str, Rule]:
    """Return every rule by its id, sorted."""
    names = sorted(each for each in names_in(FOLDER) if each.endswith(".yaml"))
    files = load_kept("lint", [os.path.join(FOLDER, name) for name in names])
    rules = (_rule(each, data["group"]) for data in files for each in data["rules"])
    return {rule.id: rule for rule in sorted(rules)}


@cache
def known_words(rule: str, table: str) -> frozenset[str]:
    """Return names that the detector of *rule* knows, by the name of their table."""
    return frozenset(load_rules()[rule].knows[table].split())


def known_values(rule: str, table: str) -> Mapping[str, Any]:
    """Return what it knows of names, by each of them."""
    found: Mapping[str, Any] = load_rules()[rule].knows[table]
    return found


def _rule(entry: Mapping[str, Any], group: str) -> Rule:
    fields = dict(entry) | {"group": group, "date": str(entry["date"])}
    fields["also"] = {k: Form(**each) for k, each in entry.get("also", {}).items()}
    for key in ("bad", "good"):
        fields[key] = tuple(map(_sample, entry.get(key, ())))
    return Rule(**fields)


def _sample(entry: Mapping[str, Any]) -> Sample:
    fields = dict(entry)
    lines = fields.pop("line", ())
    fields["lines"] = (lines,) if isinstance(lines, int) else tuple(lines)
    return Sample(**fields)


def chosen(
    rules: Mapping[str, Rule], select: Sequence[str], ignore: Sequence[str]
) -> list[str]:
    """Return the ids that begin with one of *select*, and with none of *ignore*."""
    wanted = [r for r in rules if not select or _named(rules[r], select)]
    return [r for r in wanted if not _named(rules[r], ignore)]


def _named(rule: Rule, names: Sequence[str]) -> bool:
    return any(rule.id.startswith(each) or rule.name == each for each in names)
