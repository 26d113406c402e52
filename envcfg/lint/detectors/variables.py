"""Variables: names that nobody reads or sets, old names, values that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from envcfg.errors import is_slip
from envcfg.findings import Finding, Severity
from envcfg.lint.flow import asks_whether_set, command_with
from envcfg.lint.model import Array, Assignment, text_of
from envcfg.lint.rule import Fault, Job, detects, known_values, known_words
from envcfg.lint.text import Text, literal, shown

_PREFIX = re.compile(r"(?:SINGULARITYENV|APPTAINERENV)_")
_BLANK_BEFORE = re.compile(r"[ \t]+=[ \t]*([^\s=;&|#]*)")
_BLANK_AFTER = re.compile(r"=[ \t]+([^\s=;&|#]+)(?:[;&#\s]|$)(?!.*=)")
_UNQUOTED = re.compile(r",$")
_TEMPLATE = re.compile(r"\{.*\}|<.*>", re.DOTALL)  # filled in before it is a script
_NO_DIGIT = re.compile(r"\D+")
_SHORTEST = 5  # letters of a name of which another is a slip


def _settings(job: Job) -> Iterator[tuple[str, Assignment]]:
    """Yield every setting of a variable that programs see, without container prefixes."""
    for each in job.model.assignments:
        if each.how in ("for", "read", "local", "unset") or each.bare:
            continue
        if each.exported or each.how == "env" or each.command is not None:
            yield _PREFIX.sub("", each.name), each


@detects("EC207")
def dead_variable(job: Job) -> Iterator[Fault]:
    """A name that no known program reads."""
    from envcfg.knowledge.variables import find_variable, name_meant

    used = {each.name for each in job.model.expansions}
    patterns = known_values("EC207", "patterns")
    for name, each in _settings(job):
        prefix = re.match(patterns["near-prefix"], each.name)
        if prefix and not _PREFIX.match(each.name):
            right = "SINGULARITYENV_" if prefix[0].startswith("S") else "APPTAINERENV_"
            words = {
                "name": each.name,
                "right": right,
                "rest": each.name[prefix.end() :],
            }
            yield Fault(each.at, words, "near-prefix")
            continue
        is_used = name in used or name in known_words("EC207", "own")
        if is_used or not (re.match(patterns["families"], name) or name_meant(name)):
            continue
        if name.startswith("OMPI_MCA_") and name[9:] != name[9:].lower():
            right = f"OMPI_MCA_{name[9:].lower()}"
            yield Fault(each.at, {"name": name, "right": right}, "open-mpi")
            continue
        variable = find_variable(name)
        if variable is None and re.match(patterns["of-plugins"], name):
            continue
        if variable is None or not variable.is_read:
            least: Severity = "warning" if variable else "note"
            for found in _checked(name, None):
                words = _said(name, found)
                near = re.search(
                    r"\b(?:write|did you mean) [A-Z][A-Z0-9_]", words["instead"]
                )
                yield Fault(each.at, words, "said", "warning" if near else least)


@lru_cache(maxsize=4096)
def _checked(name: str, value: str | None) -> tuple[Finding, ...]:
    from envcfg.knowledge.variables import check_variable

    return tuple(check_variable(name, value))


def _said(name: str, found: Finding) -> dict[str, str]:
    return {"name": name, "said": found.message, "instead": found.fix or ""}


@detects("EC208")
def deprecated_variable(job: Job) -> Iterator[Fault]:
    """An old name, or one that is read no more."""
    from envcfg.knowledge.variables import find_variable

    names = job.model.set_names()
    for name, each in _settings(job):
        variable = find_variable(name)
        if variable is None or not variable.is_read:
            continue
        if variable.renamed and variable.renamed in names:
            continue
        value = literal(text_of(each.value)) or ""
        if value in variable.legacy:
            words = {"name": name, "value": value, "right": variable.legacy[value]}
            yield Fault(each.at, words, "old-form")
        for found in _checked(name, None):
            yield Fault(each.at, _said(name, found), "said")
    yield from _outdated(job)


def _outdated(job: Job) -> Iterator[Fault]:
    """Yield what newer software of the fabric that the job uses needs no more."""
    provider = job.profile.expect.provider if job.profile and job.profile.expect else ""
    settings = list(_settings(job))
    for fabric, known in known_values("EC208", "outdated").items():
        shows = any(
            name.startswith(known["own"])
            or (name == "FI_PROVIDER" and literal(text_of(each.value)) == fabric)
            for name, each in settings
            if each.value is not None
        )
        if provider != fabric and not shows:
            continue
        for name, each in settings:
            found = known["names"].get(name)
            value = literal(text_of(each.value))
            if found is None or value is None or found.get("value", value) != value:
                continue
            words = {"name": name, "why": found["why"]}
            yield Fault(each.at, words, "outdated", found["severity"])


@detects("EC209")
def wrong_value(job: Job) -> Iterator[Fault]:
    """A value that its reader cannot take."""
    from envcfg.knowledge.variables import find_variable

    off = {n for n, a in _settings(job) if literal(text_of(a.value)) == "1"}
    for name, each in _settings(job):
        variable = find_variable(name)
        if variable is None or not variable.is_read or isinstance(each.value, Array):
            continue
        if name == "NCCL_P2P_LEVEL" and "NCCL_P2P_DISABLE" in off and each.value:
            yield Fault(each.at, {"name": name}, "no-effect")
        if each.value is None or each.appended:
            continue
        text = text_of(each.value)
        if _cut(job, each, text):
            words = {"name": name, "value": shown(text)}
            yield Fault(max(each.value_at, 0), words, "cut")
        else:
            # Written as profiles do, which is how values are checked.
            parts = ("${X}" if p.hole else p.chars.replace("$", "$$") for p in text)
            yield from _unfit(name, each, "".join(parts))


@detects("EC243")
def blank_around_equals(job: Job) -> Iterator[Fault]:
    """An assignment that is none, as blanks stand around its sign."""
    for each in job.model.assignments:
        if each.how != "export" or each.at < 0:
            continue
        behind = job.behind(each.at + len(each.name))
        if each.bare and (found := _BLANK_BEFORE.match(behind)):
            yield Fault(each.at, {"name": each.name, "value": found[1]})
        elif not each.bare and (found := _BLANK_AFTER.match(behind)):
            yield Fault(each.at, {"name": each.name, "value": found[1]}, "empty")
    used = {each.name for each in job.model.expansions}
    for command in job.model.commands:
        name, said = command.name, " ".join(word.shown for word in command.arguments)
        if not name.isidentifier() or not (name.isupper() or name in used):
            continue
        if said.startswith("=") and not said.startswith("=="):
            yield Fault(command.at, {"name": name, "value": said[1:].strip()})


def _unfit(name: str, each: Assignment, value: str) -> Iterator[Fault]:
    """Yield why the reader of *name* cannot take *value*, written as profiles do."""
    if "\n" in value or _TEMPLATE.fullmatch(value):
        return
    if name != each.name and ("$$" in value or "`" in value):
        return  # the start of the container expands it
    at = each.value_at if each.value_at >= 0 else each.at
    severity: Severity | None = "note" if name in known_words("EC209", "log") else None
    for found in _checked(name, value):
        if found.severity == "error":
            form = "said" if found.fix else "explained"
            yield Fault(at, _said(name, found), form, severity)


def _cut(job: Job, each: Assignment, text: Text) -> bool:
    """Return whether a blank without quotes has cut the value."""
    said = literal(text)
    if said is None:
        return False
    if each.command is not None and each.command < len(job.model.commands):
        name = job.model.commands[each.command].name
        return bool(_UNQUOTED.search(said)) or (said == "AWS" and name == "Libfabric")
    if each.how != "export":
        return False
    bare = (a.at for a in job.model.assignments if a.bare and a.name == "Libfabric")
    is_near = said == "AWS" and any(0 < at - each.at < 60 for at in bare)
    return is_near or bool(_UNQUOTED.search(said))


@detects("EC106")
def undefined_variable(job: Job) -> Iterator[Fault]:
    """A name that Slurm is thought to set, or a slip of one that the script sets.

    A name that is known, that has a default, or that a test asks for is none. Behind a file
    that was sourced and not read only SLURM_ is Slurm's for sure, and a slip is a note. Of
    a slip the first place counts.
    """
    names = job.model.set_names()
    if job.model.scope != "batch":
        return
    sourced = any(each.what.startswith("source ") for each in job.model.opaque)
    slips: set[str] = set()
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_NO_DIGIT.sub("", name), []).append(name)
    for each in job.model.expansions:
        if each.is_known or each.name in names or each.hole.op:
            continue
        right = _of_slurm(each.name)
        own = None if right else _slip(each.name, alike)
        if right is None and (own is None or each.name in slips):
            continue
        if right is not None and sourced and not each.name.startswith("SLURM_"):
            continue
        command = command_with(job.model.commands, each)
        is_asked = command is not None and asks_whether_set(command)
        if is_asked or any(each.name in test for test in each.context.conditions):
            continue
        words = {"name": each.name, "right": right or own}
        if right is not None:
            yield Fault(each.at, words)
        elif each.hole.scope != "unknown":
            slips.add(each.name)
            yield Fault(each.at, words, "slip", "note" if sourced else "warning")


@lru_cache(maxsize=256)
def _of_slurm(name: str) -> str | None:
    """Return the name of Slurm's that was meant; None where this is one, or none."""
    from envcfg.knowledge.variables import find_variable, load_variables

    if right := known_values("EC106", "slips").get(name):
        return str(right)
    is_known = name in known_words("EC106", "slurm") or find_variable(name)
    if is_known or not name.startswith("SLURM_"):
        return None
    known = [each for each in load_variables() if each.startswith("SLURM_")]
    near = [each for each in known if is_slip(name, each)]
    return near[0] if len(near) == 1 else None


def _slip(name: str, alike: Mapping[str, list[str]]) -> str | None:
    """Return the one name that differs by a letter, of those with the same digits."""
    from envcfg.knowledge.variables import find_variable

    if len(name) < _SHORTEST or name.startswith(("SLURM_", "_")) or not name.isupper():
        return None
    names = alike.get(_NO_DIGIT.sub("", name), ())
    near = [each for each in names if is_slip(name, each)]
    return near[0] if len(near) == 1 and find_variable(name) is None else None
