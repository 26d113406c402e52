"""Variables: names that no program reads or sets, old names, unsuitable values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from envcfg.backends.schedulers import PREFIXES
from envcfg.common.errors import is_slip
from envcfg.common.findings import Finding, Severity
from envcfg.lint.lint_rule import (
    Edit,
    Fault,
    ScriptJob,
    detects,
    known_values,
    known_words,
)
from envcfg.lint.script_model import Array, Assignment
from envcfg.lint.traced_text import Text, literal, shown
from envcfg.lint.value_flow import asks_whether_set, command_with

_PREFIX = re.compile(r"(?:SINGULARITYENV|APPTAINERENV)_")
_BLANK_BEFORE = re.compile(r"[ \t]+=[ \t]*([^\s=;&|#]*)")
_BLANK_AFTER = re.compile(r"=[ \t]+([^\s=;&|#]+)(?:[;&#\s]|$)(?!.*=)")
_UNQUOTED = re.compile(r",$")
_TEMPLATE = re.compile(r"\{.*\}|<.*>", re.DOTALL)  # a template program fills these in
_RIGHT = re.compile(r"(?:write|did you mean) ([A-Z]\w*)\??")  # hints with one name
_NO_DIGIT = re.compile(r"\D+")
_SHORTEST = 5  # letters of a name; shorter names differ by one letter too often


def _settings(job: ScriptJob) -> Iterator[tuple[str, Assignment]]:
    """Yield every setting of a variable that programs see, without container prefixes."""
    for assignment in job.model.assignments:
        if assignment.how in ("for", "read", "local", "unset") or assignment.bare:
            continue
        # A variable that stays in the shell reaches no program.
        if assignment.is_seen:
            yield _PREFIX.sub("", assignment.name), assignment


@detects("EC207")
def dead_variable(job: ScriptJob) -> Iterator[Fault]:
    """A name that no known program reads.

    The order is from certain to likely: a wrong prefix of a container, a wrong case of
    Open MPI's parameters, then names that a known family does not have.
    """
    from envcfg.knowledge.variables import find_variable, name_meant, slip_of

    used = {expansion.name for expansion in job.model.expansions}
    names = job.model.set_names
    patterns = known_values("EC207", "patterns")
    for name, assignment in _settings(job):
        prefix = re.match(patterns["near-prefix"], assignment.name)
        if prefix and not _PREFIX.match(assignment.name):
            # The prefix shows which runtime was meant.
            right = "SINGULARITYENV_" if prefix[0].startswith("S") else "APPTAINERENV_"
            words = {
                "name": assignment.name,
                "right": right,
                "rest": assignment.name[prefix.end() :],
            }
            edit = _rename(assignment, f"{right}{words['rest']}", job)
            yield Fault(assignment.offset, words, "near-prefix", edit=edit)
            continue
        meant = slip_of(name)
        # A name that the script reads itself has a reader, unless it is a slip.
        is_own = name in used and (meant is None or meant in names)
        if is_own or name in known_words("EC207", "own"):
            continue
        if not (re.match(patterns["families"], name) or name_meant(name)):
            continue
        # Open MPI's parameters are lower case, and other spellings are ignored
        # silently.
        if name.startswith("OMPI_MCA_") and name[9:] != name[9:].lower():
            right = f"OMPI_MCA_{name[9:].lower()}"
            words, edit = (
                {"name": name, "right": right},
                _rename(assignment, right, job),
            )
            yield Fault(assignment.offset, words, "open-mpi", edit=edit)
            continue
        variable = find_variable(name)
        # Plugins add names of their own, which no list can contain.
        if variable is None and re.match(patterns["of-plugins"], name):
            continue
        if variable is None or not variable.is_read or variable.removed:
            least: Severity = "warning" if variable else "note"
            for finding in _checked(name, None):
                words = _words(name, finding)
                # A suggestion of a similar name makes a typing error likely.
                near = re.search(
                    r"\b(?:write|did you mean) [A-Z][A-Z0-9_]", words["instead"]
                )
                is_sure = near and not (name in used and _is_argument(name, job))
                edit = None
                if match := _RIGHT.fullmatch(words["instead"]):
                    # A name that is only similar may be another program's.
                    is_one = words["instead"].startswith("write") or is_slip(
                        name, match[1]
                    )
                    edit = _rename(assignment, match[1], job) if is_one else None
                yield Fault(
                    assignment.offset,
                    words,
                    "said",
                    "warning" if is_sure else least,
                    edit,
                )


def _rename(assignment: Assignment, right: str, job: ScriptJob) -> Edit | None:
    """Return the edit that gives a variable the name *right*; None if others need it."""
    name, begin = assignment.name, assignment.offset
    prefix = _PREFIX.match(name)
    if prefix and not _PREFIX.match(right):
        right = f"{prefix[0]}{right}"
    is_other = name in {e.name for e in job.model.expansions}
    is_taken = right in job.model.set_names
    if is_other or is_taken or not job.behind(begin).startswith(f"{name}="):
        return None
    return Edit(begin, begin + len(name), right)


def _is_argument(name: str, job: ScriptJob) -> bool:
    """Return whether the script gives the value of a variable to a program."""
    commands = (
        command_with(job.model, expansion)
        for expansion in job.model.expansions
        if expansion.name == name and expansion.use == "word"
    )
    lookers = known_words("EC207", "lookers")
    return any(c is not None and c.name not in lookers for c in commands)


# Large scripts set the same variable many times, and each check compares all names.
@lru_cache(maxsize=4096)
def _checked(name: str, value: str | None) -> tuple[Finding, ...]:
    from envcfg.knowledge.variables import check_variable

    return tuple(check_variable(name, value))


def _words(name: str, finding: Finding) -> dict[str, str]:
    return {"name": name, "said": finding.message, "instead": finding.fix or ""}


@detects("EC209")
def wrong_value(job: ScriptJob) -> Iterator[Fault]:
    """A value that its reader does not accept."""
    from envcfg.knowledge.variables import find_variable

    off = {n for n, a in _settings(job) if a.literal == "1"}
    for name, assignment in _settings(job):
        variable = find_variable(name)
        # An array reaches no program, and unread variables have another rule.
        if (
            variable is None
            or not variable.is_read
            or isinstance(assignment.value, Array)
        ):
            continue
        if name == "NCCL_P2P_LEVEL" and "NCCL_P2P_DISABLE" in off and assignment.value:
            yield Fault(assignment.offset, {"name": name}, "no-effect")
        # An appended value is only a part of the whole.
        if assignment.value is None or assignment.appended:
            continue
        text = assignment.text
        if _cut(job, assignment, text):
            words = {"name": name, "value": shown(text)}
            yield Fault(max(assignment.value_at, 0), words, "cut")
        else:
            # Values are checked in the notation of profiles: "$" doubled, holes as ${X}.
            parts = ("${X}" if p.hole else p.chars.replace("$", "$$") for p in text)
            yield from _unfit(name, assignment, "".join(parts))


@detects("EC243")
def blank_around_equals(job: ScriptJob) -> Iterator[Fault]:
    """An assignment that fails because of blanks around its equals sign."""
    for assignment in job.model.assignments:
        if assignment.how != "export" or assignment.offset < 0:
            continue
        behind = job.behind(assignment.offset + len(assignment.name))
        if assignment.bare and (match := _BLANK_BEFORE.match(behind)):
            yield Fault(assignment.offset, {"name": assignment.name, "value": match[1]})
        elif not assignment.bare and (match := _BLANK_AFTER.match(behind)):
            yield Fault(
                assignment.offset, {"name": assignment.name, "value": match[1]}, "empty"
            )
    used = {expansion.name for expansion in job.model.expansions}
    for command in job.model.commands:
        name, text = command.name, " ".join(word.shown for word in command.arguments)
        # Capitals or a later use show that a variable was meant, not a program.
        if not name.isidentifier() or not (name.isupper() or name in used):
            continue
        if text.startswith("=") and not text.startswith("=="):
            yield Fault(command.offset, {"name": name, "value": text[1:].strip()})


def _unfit(name: str, assignment: Assignment, value: str) -> Iterator[Fault]:
    """Yield the reason why the reader of *name* rejects *value*, in profile notation."""
    if "\n" in value or _TEMPLATE.fullmatch(value):
        return
    if name != assignment.name and ("$$" in value or "`" in value):
        return  # the start of the container expands the value first
    offset = assignment.value_at if assignment.value_at >= 0 else assignment.offset
    # A wrong log setting costs only information.
    severity: Severity | None = "note" if name in known_words("EC209", "log") else None
    for finding in _checked(name, value):
        if finding.severity == "error":
            form = "said" if finding.fix else "explained"
            yield Fault(offset, _words(name, finding), form, severity)


def _cut(job: ScriptJob, assignment: Assignment, text: Text) -> bool:
    """Return whether a blank without quotes has cut the value."""
    value = literal(text)
    if value is None:
        return False
    if assignment.command is not None and assignment.command < len(job.model.commands):
        name = job.model.commands[assignment.command].name
        return bool(_UNQUOTED.search(value)) or (value == "AWS" and name == "Libfabric")
    if assignment.how != "export":
        return False
    # "export A=AWS Libfabric" exports a second, empty variable after the blank.
    bare = (a.offset for a in job.model.assignments if a.bare and a.name == "Libfabric")
    is_near = value == "AWS" and any(
        0 < offset - assignment.offset < 60 for offset in bare
    )
    return is_near or bool(_UNQUOTED.search(value))


@detects("EC106")
def undefined_variable(job: ScriptJob) -> Iterator[Fault]:
    """A misspelled variable of the scheduler, or of the script itself.

    A variable with a value, a default or a test is no fault. After a sourced file that was
    not read, only names with its prefix certainly belong to the scheduler, and a slip is a
    note. Only the first place of a slip is reported.
    """
    names = job.model.set_names
    sourced = any(
        opaque.description.startswith("source ") for opaque in job.model.opaque
    )
    slips: set[str] = set()
    alike: dict[str, list[str]] = {}
    for name in names:
        # Names with the same letters and other digits are compared as one group.
        alike.setdefault(_NO_DIGIT.sub("", name), []).append(name)
    for expansion in job.model.expansions:
        if expansion.is_known or expansion.name in names or expansion.hole.op:
            continue
        right = _of_scheduler(expansion.name)
        own = None if right else _slip(expansion.name, alike)
        if right is None and (own is None or expansion.name in slips):
            continue
        if right is not None and sourced and not expansion.name.startswith(PREFIXES):
            continue
        command = command_with(job.model, expansion)
        is_asked = command is not None and asks_whether_set(command)
        if is_asked or any(
            expansion.name in test for test in expansion.context.conditions
        ):
            continue
        words = {"name": expansion.name, "correction": right or own}
        if right is not None:
            yield Fault(expansion.offset, words)
        elif expansion.hole.scope != "unknown":
            slips.add(expansion.name)
            yield Fault(
                expansion.offset, words, "slip", "note" if sourced else "warning"
            )


@lru_cache(maxsize=256)
def _of_scheduler(name: str) -> str | None:
    """Return the scheduler's name that was meant; None if *name* is correct or unclear."""
    from envcfg.knowledge.variables import find_variable, load_variables

    if right := known_values("EC106", "slips").get(name):
        return str(right)
    is_known = name in known_words("EC106", "slurm") or find_variable(name)
    if is_known or not name.startswith(PREFIXES):
        return None
    names = [variable for variable in load_variables() if variable.startswith(PREFIXES)]
    near = [variable for variable in names if is_slip(name, variable)]
    # Two similar names leave the meaning open.
    return near[0] if len(near) == 1 else None


def _slip(name: str, alike: Mapping[str, list[str]]) -> str | None:
    """Return the one name that differs by a letter, of those with the same digits."""
    from envcfg.knowledge.variables import find_variable

    # Lower-case names are too short and too similar to call one a slip.
    if len(name) < _SHORTEST or name.startswith((*PREFIXES, "_")) or not name.isupper():
        return None
    names = alike.get(_NO_DIGIT.sub("", name), ())
    near = [variable for variable in names if is_slip(name, variable)]
    return near[0] if len(near) == 1 and find_variable(name) is None else None
