"""Rules: the fault, the reason, the remedy; and the detector of each id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from envcfg.common.datafile import data_path, load_kept, names_in
from envcfg.common.findings import Finding, Severity
from envcfg.job.plan.plan import Statement
from envcfg.lint.resource_facts import ResourceShape
from envcfg.lint.script_model import Model

if TYPE_CHECKING:
    from envcfg.profile.profile_model import Profile

# Takes the words after ``envcfg``, and returns findings on them.
ReadLine = Callable[[Sequence[str]], Iterable[Finding]]
# Python's own script sets the path of the environment alone.
_VENV = re.compile(r"bin/activate$|conda (?:de)?activate")
# Takes a command, and returns it, the statements, and notes.
ReadProgram = Callable[
    [Sequence[str]], tuple[Sequence[str], Sequence[Statement], Sequence[Finding]]
]
FOLDER = data_path("lint/rules")
Detector = Callable[["ScriptJob"], Iterator["Fault"]]
DETECTORS: dict[str, Detector] = {}  # by rule; of the imported modules of ``detectors``


class Sample(NamedTuple):
    """A script with a fault of a rule, or a similar one without it."""

    script: str
    lines: tuple[int, ...] = ()  # lines with the fault; empty in a good sample
    shows: str = ""  # the case, in words, that the rule deliberately does not report
    files: Mapping[str, str] = {}  # other files beside it, by name
    profile: str | None = None  # name of the profile for the check
    # Severity of the finding, if it differs from the rule's.
    severity: Severity | None = None


class Form(NamedTuple):
    """The texts of a rule for one form of its fault, if they differ from the rule's own."""

    severity: Severity | None = None
    message: str | None = None
    fix: str | None = None


class LintRule(NamedTuple):
    """One fault of scripts."""

    # `EC` with its group and its number in the list of all rules; never reused. A code of
    # shellcheck begins with `SC`.
    id: str
    name: str
    group: str
    severity: Severity
    message: str  # one sentence with placeholders `{...}` for values of the detector
    why: str  # the effect on the job
    fix: str  # the text to write instead
    source: str
    date: str
    bad: tuple[Sample, ...] = ()
    good: tuple[Sample, ...] = ()
    # Other forms of the fault, by the names that its detector uses.
    also: Mapping[str, Form] = {}
    # Tables of names for its detector, by table; source and date are the rule's.
    knows: Mapping[str, Any] = {}
    # True if it is only about scripts that run as a job's batch shell.
    batch: bool = False
    # False if only its full id or name selects it.
    default: bool = True
    # Of a code of shellcheck: rules that report the same fault of a command, and a
    # pattern of lines that are right nevertheless.
    same_as: str = ""
    unless: str = ""

    @property
    def is_foreign(self) -> bool:
        """Whether shellcheck looks for it, and no detector."""
        return self.id.startswith("SC")

    def begins_with(self, name: str) -> bool:
        """Return whether *name* is the begin of its id or name."""
        return self.id.startswith(name) or self.name.startswith(name)


class _Placeholders(dict[str, str]):
    """The values for placeholders, by name; a missing one becomes its name in capitals."""

    def __missing__(self, name: str) -> str:
        # A missing value must be visible, and must not stop the report.
        return name.upper()


def unfilled(words: str) -> str:
    """Return a text of a rule with the names of its placeholders in capitals."""
    return words.format_map(_Placeholders())


class Edit(NamedTuple):
    """The fix of a fault: replaces the characters from *start* to *end*, offsets in the
    sources."""

    start: int
    end: int
    text: str


class Fault(NamedTuple):
    """The result of a detector."""

    offset: int  # offset in the sources; only the first fault at one place counts
    words: Mapping[str, object] = {}  # values for the message of the rule
    form: str = ""  # name of one of the rule's other forms; empty: the rule's own text
    severity: Severity | None = None  # severity if it differs from that of the form
    edit: Edit | None = None  # the certain repair, if there is one
    is_secret: bool = False  # True if the line must not be shown
    unless: str = ""  # the condition under which there is no fault; see ScriptJob


class Known(NamedTuple):
    """The facts that the caller of the rules has."""

    read_line: ReadLine | None = None  # envcfg's own parser, if it is available
    facts: Mapping[str, str] = {}  # facts about the system: its Slurm version
    # Returns the statements in the files of a command that start or join processes.
    read_program: ReadProgram = lambda _: ((), (), ())
    # The variables of the submission; None: unknown, the script is submitted later.
    environment: Mapping[str, str] | None = None


NOTHING = Known()


class ScriptJob(NamedTuple):
    """The input of detectors: the model of a script, and certain facts about it."""

    model: Model
    shape: ResourceShape  # of the whole job
    profile: Profile | None = None
    # Returns the text before an offset on its line.
    before: Callable[[int], str] = lambda _: ""
    # Returns the text after an offset on its line.
    behind: Callable[[int], str] = lambda _: ""
    # Returns the line of an offset, and the line above it.
    around: Callable[[int], str] = lambda _: ""
    known: Known = NOTHING

    def unless(self, effect: str) -> str:
        """Return the first command that may have an *effect* on variables; else ""."""
        commands = (opaque.description for opaque in self.model.opaque)
        first = next((c for c in commands if not _VENV.search(c)), "")
        return first and f", unless `{first}` {effect}"


def detects(rule: str) -> Callable[[Detector], Detector]:
    """Register a function as the detector of *rule*."""

    def register(detector: Detector) -> Detector:
        DETECTORS[rule] = detector
        return detector

    return register


@cache
def load_rules() -> Mapping[str, LintRule]:
    """Return every rule by its id, sorted."""
    names = names_in(FOLDER, ".yaml")
    files = load_kept("lint", *(f"{FOLDER}/{name}" for name in names))
    rules = (_rule(rule, data["group"]) for data in files for rule in data["rules"])
    return {rule.id: rule for rule in sorted(rules)}


@cache
def known_words(rule: str, table: str) -> frozenset[str]:
    """Return the names in a table of *rule*."""
    return frozenset(load_rules()[rule].knows[table].split())


def known_values(rule: str, table: str) -> Mapping[str, Any]:
    """Return the known names of a rule's table, with their entries."""
    table_found: Mapping[str, Any] = load_rules()[rule].knows[table]
    return table_found


def _rule(entry: Mapping[str, Any], group: str) -> LintRule:
    fields = dict(entry) | {"group": group, "date": str(entry["date"])}
    fields["also"] = {
        k: Form(**element) for k, element in entry.get("also", {}).items()
    }
    for key in ("bad", "good"):
        fields[key] = tuple(map(_sample, entry.get(key, ())))
    return LintRule(**fields)


def _sample(entry: Mapping[str, Any]) -> Sample:
    fields = dict(entry)
    lines = fields.pop("line", ())
    # YAML files write one line as a number, and several as a list.
    fields["lines"] = (lines,) if isinstance(lines, int) else tuple(lines)
    return Sample(**fields)


def chosen(
    rules: Mapping[str, LintRule], select: Sequence[str], ignore: Sequence[str]
) -> list[str]:
    """Return the ids of *select* without *ignore*: beginnings of ids or names."""
    return [
        name
        for name, rule in rules.items()
        if (_is_selected(rule, select) if select else rule.default)
        and not any(map(rule.begins_with, ignore))
    ]


def _is_selected(rule: LintRule, names: Sequence[str]) -> bool:
    if rule.default:
        return any(map(rule.begins_with, names))
    return rule.id in names or rule.name in names
