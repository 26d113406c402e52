"""Caches and temporary files: where they are, and who makes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envcfg.findings import Severity
from envcfg.lint.facts import is_many
from envcfg.lint.flow import TESTS, inner_name, inner_names, is_server
from envcfg.lint.model import Assignment, Command, text_of
from envcfg.lint.rule import Fault, Job, detects, known_words
from envcfg.lint.system import owns_nodes, shares_nodes
from envcfg.lint.text import Text, Word, holes, literal, shown, start

_LOCAL = re.compile(r"^(?:/tmp|/dev/shm|/var/tmp)(?:/|$)")
_PARALLEL = re.compile(r"/(?:scratch|project|projappl|flash|lustre|pfs)/")
_BY_RANK = re.compile(r"LOCALID|LOCAL_RANK|PROCID")
_EVERYTHING = re.compile(
    r"^(?:/dev/shm|/tmp|/var/tmp)/(?:\*|[^/]*cache)|^(?:~|\$HOME)/\.cache\b"
)
# Where an image is pulled and built, which is done in batch.
_FOR_IMAGES = re.compile(
    r"(?:SINGULARITY|APPTAINER)_(?:TMPDIR|CACHEDIR|PULLDIR|PULLFOLDER)$"
)
_MKTEMP = re.compile(r"^mktemp\b")
_ELSEWHERE = re.compile(r"\s-[a-z]*p\b|--tmpdir|\s/(?!tmp|dev/shm|var/tmp)\w|\$")
_USER = frozenset({"USER", "LOGNAME", "whoami", "id -un"})
_COPIES = frozenset({"mkdir", "cp", "rsync", "tar", "rm"})
# The two folders of MIOpen, which go together.
_MIOPEN = ("MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR")


def _settings(job: Job) -> Iterator[Assignment]:
    for each in job.model.assignments:
        if each.value is not None and (each.exported or each.how == "env"):
            yield each


@detects("EC310")
def incomplete_miopen(job: Job) -> Iterator[Fault]:
    """One of MIOpen's two folders is set, and not the other."""
    model = job.model
    if model.is_dump:
        return
    names = inner_names(model)
    for each in model.assignments:
        off = each.name == "MIOPEN_DISABLE_CACHE" and each.exported
        if off and literal(text_of(each.value)) == "1":
            yield Fault(each.at, {"name": each.name}, "disabled")
    here = [name for name in _MIOPEN if name in names]
    if len(here) != 1 or any(
        n.startswith(("MIOPEN_USER", "MIOPEN_C")) and n not in _MIOPEN for n in names
    ):
        return
    lacking = next(name for name in _MIOPEN if name not in names)
    severity: Severity = "note" if model.opaque else "warning"
    first = next(a for a in model.assignments if a.name.endswith(here[0]))
    if model.scope != "unknown" or first.scope != "unknown":
        yield Fault(first.at, {"name": here[0], "lacking": lacking}, severity=severity)


@detects("EC311")
def made_on_first_node(job: Job) -> Iterator[Fault]:
    """A folder in the memory or on the disk of the first node, for tasks of all nodes."""
    if job.model.scope != "batch" or (job.shape.nodes or 1) < 2:
        return
    made = {
        word.shown
        for command in job.model.commands
        if command.name in ("mkdir", "install")
        for word in command.arguments
    }
    last = max((c.number for c in job.model.commands if c.is_step), default=-1)
    for command in job.model.commands:
        if not _changes_folders(command, last):
            continue
        for word in command.arguments:
            path = word.shown
            if not _LOCAL.match(path) or path.rstrip("/") in ("/tmp", "/dev/shm"):  # noqa: S108
                continue
            is_removed = command.name == "rm"
            if is_removed and (path in made or not _deletes(command, path)):
                continue
            if _goes_to_tasks(path, command, job):
                form = "removed" if is_removed else ""
                yield Fault(command.at, {"path": path}, form)
    # So is what mktemp makes, for a variable that all nodes see.
    for each in _settings(job):
        for hole in holes(text_of(each.value)):
            is_made = hole.kind == "command" and _MKTEMP.match(hole.text)
            if not is_made or _ELSEWHERE.search(hole.text):
                continue
            if hole.scope == "batch" and each.scope == "batch":
                words = {"path": "a folder", "name": each.name}
                yield Fault(hole.at, words, "mktemp")


def _changes_folders(command: Command, last: int) -> bool:
    """Return whether the batch script makes folders, or removes some for its steps.

    Args:
        last: the number of the last step, behind which it tidies up.
    """
    if command.name not in ("mkdir", "install", "rm") or command.scope != "batch":
        return False
    context = command.context
    if command.name == "rm" and (command.number > last or context.function == "trap"):
        return False
    return command.parent is None and not command.substitution and not context.loop


def _goes_to_tasks(path: str, made: Command, job: Job) -> bool:
    for each in _settings(job):
        if _FOR_IMAGES.match(each.name):
            continue
        if shown(text_of(each.value)).startswith(path.rstrip("/")):
            return True
    behind = job.model.commands[made.number + 1 :]
    told = (
        [w.shown for w in c.words] for c in behind if c.is_step and c.parent is None
    )
    return any(
        _COPIES.isdisjoint(words) and any(path in word for word in words)
        for words in told
    )


@detects("EC312")
def shared_name(job: Job) -> Iterator[Fault]:
    """A cache on the node that all users and jobs name alike."""
    if job.model.is_dump:
        return
    seen: set[str] = set()
    for each in _settings(job):
        value = text_of(each.value)
        path = shown(value)
        is_cache = inner_name(each.name) in known_words("EC312", "caches")
        if path in seen or not (is_cache and _LOCAL.match(path)):
            continue
        kinds = {h.name if h.kind == "variable" else "" for h in holes(value)}
        is_own = not kinds <= known_words("EC312", "ranks")  # user or job, or unknown
        if is_own and not _meets_others(value, job):
            continue
        seen.add(path)
        at = start(value)
        words = {"name": each.name, "path": path}
        severity: Severity | None = "note" if owns_nodes(job) else None
        form = "own" if is_own else ""
        yield Fault(at if at >= 0 else each.at, words, form, severity)


def _meets_others(value: Text, job: Job) -> bool:
    """Return whether other jobs of the user are on the node, and use or lose the same."""
    named = {hole.name or hole.text for hole in holes(value)} - _USER
    if not named <= known_words("EC312", "ranks"):
        return False  # what is not known may be the job
    return shares_nodes(job) or (
        (job.shape.nodes or 0) == 1
        and job.model.scope == "batch"
        and any(_deletes(command, shown(value)) for command in job.model.commands)
    )


def _deleted(command: Command) -> Sequence[Word]:
    """Return what a command deletes with all that is in it, before the job ends."""
    flags = "".join(w.shown for w in command.arguments if w.shown.startswith("-"))
    is_end = command.context.function == "trap"
    is_deep = command.name == "rm" and "r" in flags.lower()
    return command.arguments if is_deep and not is_end else ()


def _deletes(command: Command, path: str) -> bool:
    return any(word.shown == path for word in _deleted(command))


@detects("EC313")
def shared_file_system(job: Job) -> Iterator[Fault]:
    """A cache of compiled code in the home folder, or below wherever the job began."""
    if not is_many(job.shape):
        return
    for each in _settings(job):
        value = text_of(each.value)
        said = shown(value)
        is_compiled = each.name in known_words("EC313", "compiled")
        if not is_compiled or each.scope == "unknown" or not said:
            continue
        first = value[0].hole
        at_home = said.startswith("~/") or (first is not None and first.name == "HOME")
        relative = first is None and said[0] != "/" and re.match(r"\.{0,2}/?\w", said)
        if at_home or relative or _is_shared(said, job):
            at = start(value)
            words = {"name": each.name, "path": said}
            yield Fault(at if at >= 0 else each.at, words)


def _is_shared(path: str, job: Job) -> bool:
    """Return whether a parallel file system of the system is there."""
    if job.profile is None or not _PARALLEL.match(path):
        return False
    scratch = job.profile.scratch
    return scratch is None or not path.startswith(str(scratch.root))


@detects("EC314")
def live_data(job: Job) -> Iterator[Fault]:
    """What one rank deletes while others use it."""
    for command in job.model.commands:
        by_one = any(_BY_RANK.search(each) for each in command.context.conditions)
        in_task = command.scope in ("task", "container")
        if not in_task and (not by_one or command.scope == "batch"):
            continue
        for each in _deleted(command):
            of_job = any(
                "JOB" in h.name or h.kind == "unknown" for h in holes(each.text)
            )
            if _EVERYTHING.search(each.shown) and not of_job:
                yield Fault(command.at, {"path": each.shown})
                break


@detects("EC315")
def sleep_as_barrier(job: Job) -> Iterator[Fault]:
    """Seconds in place of a condition.

    Somebody must wait behind it, in the same shell, for what is made meanwhile: by one rank
    alone, or by a server that was started just before. A loop that asks again is right, and
    what sleeps in the background holds up nobody.
    """
    before: list[Command] = []
    for command in job.model.commands:
        if command.substitution or command.name in TESTS:
            continue
        seconds = command.arguments[0].literal if command.arguments else None
        waits = command.name == "sleep" and re.fullmatch(r"\d+[sm]?", seconds or "")
        if waits and not command.context.loop and not command.context.background:
            same = [c for c in before[-8:] if c.unit == command.unit]
            near = [command, *same[-3:]]
            by_one = any(_BY_RANK.search(c) for n in near for c in n.context.conditions)
            behind = (
                c
                for c in job.model.commands[command.number + 1 :]
                # Else it is of a function that nothing calls.
                if c.scope != "unknown" or command.scope == "unknown"
            )
            waited = any(c.name not in known_words("EC315", "idle") for c in behind)
            if waited and (by_one or any(is_server(c, job) for c in same)):
                yield Fault(command.at, {"seconds": seconds})
        before.append(command)
