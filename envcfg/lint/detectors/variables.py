"""Variables and values: names that nobody reads, old names, values that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from envcfg.findings import Finding, Severity
from envcfg.lint.flow import text_of
from envcfg.lint.model import Array, Assignment
from envcfg.lint.rule import Fault, Job, detects, known_values, known_words
from envcfg.lint.text import Text, literal, shown

_FAMILIES = re.compile(
    r"(?:NCCL|RCCL|TORCH_NCCL|FI|CXI|MIOPEN|HSA|OMPI_MCA|TORCHINDUCTOR|TORCH|TRITON|HIP|ROCR|"
    r"AMD|PYTORCH|GLOO|MPICH|OFI_NCCL|SINGULARITY|APPTAINER|MIOOPEN)_"
)
_PREFIX = re.compile(r"(?:SINGULARITYENV|APPTAINERENV)_")
_NEAR_PREFIX = re.compile(
    r"(?:SINGULARITY_ENV|SINGULARTYENV|SINGULARITYENVS?|SINGULARITYENV|APPTAINER_ENV|"
    r"APPTAINERENVS|APTAINERENV|APPTAINERRENV)_(?=[A-Z])"
)
_OF_PLUGINS = re.compile(
    r"NCCL_(?:FASTRAK|SHIMNET|GPUDIRECTTCPX|TUNER|NVLSTREE|IB|GPUVIPER|CTRAN|SOCKET_NTHREADS)_?|"
    r"NCCL_USE_SNAP|OFI_NCCL_|RCCL_AINIC_|NCCL_PROFILER"
)
_BLANK_BEFORE = re.compile(r"[ \t]+=[ \t]*([^\s=;&|#]*)")
_BLANK_AFTER = re.compile(r"=[ \t]+([^\s=;&|#]+)(?:[;&#\s]|$)(?!.*=)")
_UNQUOTED = re.compile(r",$")


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
    for name, each in _settings(job):
        prefix = _NEAR_PREFIX.match(each.name)
        if prefix and not _PREFIX.match(each.name):
            right = "SINGULARITYENV_" if prefix[0].startswith("S") else "APPTAINERENV_"
            words = {"name": each.name, "right": right}
            words["rest"] = each.name[prefix.end() :]
            yield Fault(each.at, words, "near-prefix")
            continue
        if (
            name in known_words("EC207", "own")
            or name in used
            or not (_FAMILIES.match(name) or name_meant(name))
        ):
            continue
        if name.startswith("OMPI_MCA_") and name[9:] != name[9:].lower():
            right = f"OMPI_MCA_{name[9:].lower()}"
            yield Fault(each.at, {"name": name, "right": right}, "open-mpi")
            continue
        variable = find_variable(name)
        if variable is None and _OF_PLUGINS.match(name):
            continue
        if variable is None or not variable.is_read:
            least: Severity = "warning" if variable else "note"
            yield from _unread(name, each, least)


def _unread(name: str, each: Assignment, least: Severity) -> Iterator[Fault]:
    """Yield what is known of a name that nobody reads, and the right one if there is one.

    Args:
        least: what it is worth where no right name is known.
    """
    for found in _checked(name, None):
        words = _said(name, found)
        near = re.search(r"\b(?:write|did you mean) [A-Z][A-Z0-9_]", words["instead"])
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
            yield from _unfit(name, each, _profile_form(text))


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
    if "\n" in value:
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
    if said is None or any(piece.hole for piece in text):
        return False
    if each.command is not None and each.command < len(job.model.commands):
        name = job.model.commands[each.command].name
        return bool(_UNQUOTED.search(said)) or (said == "AWS" and name == "Libfabric")
    if each.how == "export" and _UNQUOTED.search(said):
        return True
    if each.how == "export" and said == "AWS":
        return any(
            a.bare and a.name == "Libfabric" and 0 < a.at - each.at < 60
            for a in job.model.assignments
        )
    return False


def _profile_form(text: Text) -> str:
    """Return *text* as profiles write it, which is how values are checked."""
    return "".join(
        "${X}" if piece.hole else piece.chars.replace("$", "$$") for piece in text
    )
