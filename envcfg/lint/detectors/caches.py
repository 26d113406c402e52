"""Caches and temporary files: their location and the ranks that create them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envcfg.job.plan.downloads import MODEL_FOLDERS, hub_name
from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_words
from envcfg.lint.program_starts import helpers
from envcfg.lint.resource_facts import is_many
from envcfg.lint.script_model import Assignment, Command
from envcfg.lint.system_recognition import owns_nodes, shares_nodes
from envcfg.lint.traced_text import INSIDE, Text, Word, holes, shown, start
from envcfg.lint.value_flow import TESTS, inner_name, inner_names, is_server

_LOCAL = re.compile(r"^(?:/tmp|/dev/shm|/var/tmp)(?:/|$)")
_PARALLEL = re.compile(r"/(?:scratch|project|projappl|flash|lustre|pfs)/")
_BY_RANK = re.compile(r"LOCALID|LOCAL_RANK|PROCID")
_RANK_0 = re.compile(r"(?!!).*(?:-eq|(?<![!=])==?|\bin)\s*[\"']?0\b")
_MONITOR = re.compile(r"(?i)monitor|watch|profil")
_EVERYTHING = re.compile(
    r"^(?:/dev/shm|/tmp|/var/tmp)/(?:\*|[^/]*cache)|^(?:~|\$HOME)/\.cache\b"
)
# Folders for pulling and building images, which the batch script does on one node.
_FOR_IMAGES = re.compile(
    r"(?:SINGULARITY|APPTAINER)_(?:TMPDIR|CACHEDIR|PULLDIR|PULLFOLDER)$"
)
_HOME = re.compile(r"(?:~|\$\{?HOME\}?|/home/|/users/)")
_ELSEWHERE = re.compile(r"\s-[a-z]*p\b|--tmpdir|\s/(?!tmp|dev/shm|var/tmp)\w|\$")
_USER = frozenset({"USER", "LOGNAME", "whoami", "id -un"})
_COPIES = frozenset("mkdir cp rsync tar rm".split())
# The two folders of MIOpen's caches, which belong together.
_MIOPEN = ("MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR")


def _settings(job: ScriptJob) -> Iterator[Assignment]:
    for assignment in job.model.assignments:
        if assignment.value is not None and assignment.is_seen:
            yield assignment


@detects("EC310")
def incomplete_miopen(job: ScriptJob) -> Iterator[Fault]:
    """One of MIOpen's two folders is set, and the other is not."""
    model = job.model
    if model.is_dump:
        return
    names = inner_names(model)
    for assignment in model.assignments:
        off = assignment.name == "MIOPEN_DISABLE_CACHE" and assignment.exported
        if off and assignment.literal == "1":
            yield Fault(assignment.offset, {"name": assignment.name}, "disabled")
    present_names = [name for name in _MIOPEN if name in names]
    # Similar names, which another rule reports, may be a slip of the missing one.
    if len(present_names) != 1 or any(
        n.startswith(("MIOPEN_USER", "MIOPEN_C")) and n not in _MIOPEN for n in names
    ):
        return
    lacking = next(name for name in _MIOPEN if name not in names)
    first = next(a for a in model.assignments if a.name.endswith(present_names[0]))
    # A file with an unknown scope may be sourced by a script that sets the other.
    if model.scope != "unknown" or first.scope != "unknown":
        yield Fault(
            first.offset,
            {"name": present_names[0], "partner": lacking},
            severity="note" if model.opaque else "warning",
        )


@detects("EC311")
def made_on_first_node(job: ScriptJob) -> Iterator[Fault]:
    """A folder in the memory or on the disk of the first node, for tasks of all nodes.

    The batch script creates the folder, or removes it for its steps. It counts if an
    exported variable begins with its path or a later step names it. A removed folder
    counts only if the script has not created it before.
    """
    if (job.shape.nodes or 1) < 2:
        return
    folders = {
        word.shown
        for command in job.model.commands
        if command.name in ("mkdir", "install")
        for word in command.arguments
    }
    uses_found = _uses_in_tasks(job)
    last = max((c.number for c in job.model.commands if c.is_step), default=-1)
    for command in job.model.commands:
        if not _changes_folders(command, last):
            continue
        for word in command.arguments:
            path = word.shown
            # These roots exist on every node.
            if not _LOCAL.match(path) or path.rstrip("/") in ("/tmp", "/dev/shm"):  # noqa: S108
                continue
            is_removed = command.name == "rm"
            if is_removed and (path in folders or not _deletes(command, path)):
                continue
            start = path.rstrip("/")
            if any(
                path in text if number >= 0 else text.startswith(start)
                for number, text, is_created in uses_found
                if not 0 <= number <= command.number and (is_removed or not is_created)
            ):
                form = "removed" if is_removed else ""
                yield Fault(command.offset, {"path": path}, form)
    # The same fault: a folder from mktemp in a variable that all nodes inherit.
    for setting in _settings(job):
        for hole in holes(setting.text):
            is_made = hole.kind == "command" and hole.text.startswith("mktemp")
            # With -p or a path mktemp may create the folder on a shared file system.
            if not is_made or _ELSEWHERE.search(hole.text):
                continue
            if hole.scope == setting.scope == "batch" and not _is_created(setting):
                words = {"path": "a folder", "name": setting.name}
                yield Fault(hole.offset, words, "mktemp")


def _is_created(setting: Assignment) -> bool:
    """Return whether the library that reads the folder's name creates the folder."""
    return inner_name(setting.name) in known_words("EC311", "created")


def _changes_folders(command: Command, last: int) -> bool:
    """Return whether the batch script creates folders, or removes some for its steps.

    Args:
        command: the command.
        last: number of the last step; the script only cleans up after it.
    """
    if command.name not in ("mkdir", "install", "rm") or command.scope != "batch":
        return False
    context = command.context
    if command.name == "rm" and (command.number > last or context.function == "trap"):
        return False
    return not command.substitution and not context.loop


def _uses_in_tasks(job: ScriptJob) -> list[tuple[int, str, bool]]:
    """Return the texts with paths that tasks use, each with the number of its step.

    The number of an exported variable is -1, because all steps inherit it. The last value
    says if a library creates the folder.
    """
    exported = [
        (-1, setting.shown, _is_created(setting))
        for setting in _settings(job)
        if not _FOR_IMAGES.match(setting.name)
    ]
    # Commands of a step that copy files create the folder on their own node.
    steps = [
        (command.number, "\n".join(words), False)
        for command in job.model.commands
        if command.is_step and command.scope == "batch"
        if _COPIES.isdisjoint(words := [word.shown for word in command.words])
    ]
    return exported + steps


@detects("EC312")
def shared_name(job: ScriptJob) -> Iterator[Fault]:
    """A node-local cache with the same path for all users and jobs."""
    if job.model.is_dump:
        return
    reported: set[str] = set()
    for setting in _settings(job):
        value = setting.text
        path = shown(value)
        is_cache = inner_name(setting.name) in known_words("EC312", "caches")
        if path in reported or not (is_cache and _LOCAL.match(path)):
            continue
        kinds = {h.name if h.kind == "variable" else "" for h in holes(value)}
        is_own = not kinds <= known_words("EC312", "ranks")  # a user, a job, or unknown
        if is_own and not _meets_others(value, job):
            continue
        reported.add(path)
        offset = start(value)
        words = {"name": setting.name, "path": path}
        # On nodes of its own the job meets only older jobs of other users.
        form = "own" if is_own else ""
        yield Fault(
            offset if offset >= 0 else setting.offset,
            words,
            form,
            "note" if owns_nodes(job) else None,
        )


def _meets_others(value: Text, job: ScriptJob) -> bool:
    """Return whether other jobs of the user may use or lose the cache on the node."""
    job_names = {hole.name or hole.text for hole in holes(value)} - _USER
    if not job_names <= known_words("EC312", "ranks"):
        return False  # an unknown part may be the job's id
    return shares_nodes(job) or (
        (job.shape.nodes or 0) == 1
        and job.model.scope == "batch"
        and any(_deletes(command, shown(value)) for command in job.model.commands)
    )


def _deleted(command: Command) -> Sequence[Word]:
    """Return the paths that a command deletes recursively before the job ends."""
    flags = "".join(w.shown for w in command.arguments if w.shown.startswith("-"))
    # In a trap the script cleans up at its end, and no rank uses the files any more.
    is_end = command.context.function == "trap"
    is_deep = command.name == "rm" and "r" in flags.lower()
    return command.arguments if is_deep and not is_end else ()


def _deletes(command: Command, path: str) -> bool:
    return any(word.shown == path for word in _deleted(command))


@detects("EC313")
def shared_file_system(job: ScriptJob) -> Iterator[Fault]:
    """A cache of compiled code in the home folder, or below the job's start folder."""
    # One task compiles alone, so the shared file system can serve it.
    if not is_many(job.shape):
        return
    for setting in _settings(job):
        value = setting.text
        path = shown(value)
        is_compiled = setting.name in known_words("EC313", "compiled")
        if not is_compiled or setting.scope == "unknown" or not path:
            continue
        first = value[0].hole
        at_home = path.startswith("~/") or (first is not None and first.name == "HOME")
        # A relative path begins at the folder of submission, which is shared.
        relative = first is None and path[0] != "/" and re.match(r"\.{0,2}/?\w", path)
        if at_home or relative or _is_shared(path, job):
            offset = start(value)
            words = {"name": setting.name, "path": path}
            yield Fault(offset if offset >= 0 else setting.offset, words)


def _is_shared(path: str, job: ScriptJob) -> bool:
    """Return whether *path* is on a parallel file system of the system."""
    if job.profile is None or not _PARALLEL.match(path):
        return False
    scratch = job.profile.scratch
    # The profile's scratch folder is the recommended place.
    return scratch is None or not path.startswith(str(scratch.root))


@detects("EC314")
def live_data(job: ScriptJob) -> Iterator[Fault]:
    """Files that one rank deletes while other ranks use them."""
    for command in job.model.commands:
        by_one = any(
            _BY_RANK.search(condition) for condition in command.context.conditions
        )
        in_task = command.scope in INSIDE
        # In a task every rank runs the command; elsewhere a test on a rank shows it.
        if not in_task and (not by_one or command.scope == "batch"):
            continue
        for word in _deleted(command):
            of_job = any(
                "JOB" in h.name or h.kind == "unknown" for h in holes(word.text)
            )
            if _EVERYTHING.search(word.shown) and not of_job:
                yield Fault(command.offset, {"path": word.shown})
                break


@detects("EC315")
def sleep_as_barrier(job: ScriptJob) -> Iterator[Fault]:
    """A fixed pause instead of a condition.

    The fault needs a later command in the same shell that depends on the pause: on files of
    one rank, or on a server that was just started. A loop that tests again is correct, and
    a pause in the background delays no other command.
    """
    before: list[Command] = []
    for command in job.model.commands:
        if command.substitution or command.name in TESTS:
            continue
        seconds = command.arguments[0].literal if command.arguments else None
        waits = command.name == "sleep" and re.fullmatch(r"\d+[sm]?", seconds or "")
        if waits and not command.context.loop and not command.context.background:
            # Only near commands can be the reason for the pause.
            same = [c for c in before[-8:] if c.unit == command.unit]
            near = [command, *same[-3:]]
            by_one = any(_BY_RANK.search(c) for n in near for c in n.context.conditions)
            own = command.context.conditions
            # The other ranks pass a pause of rank 0, which only delays its own branch.
            branch = own if any(map(_RANK_0.match, own)) else ()
            behind = (
                c
                for c in job.model.commands[command.number + 1 :]
                # Commands with an unknown scope belong to a function that nothing calls.
                if (c.scope != "unknown" or command.scope == "unknown")
                and c.context.conditions[: len(branch)] == branch
            )
            idle = known_words("EC315", "idle") | helpers()
            waited = any(c.name not in idle for c in behind)
            if waited and (by_one or any(_is_awaited(c, job) for c in before[-8:])):
                yield Fault(command.offset, {"seconds": seconds})
        before.append(command)


def _is_awaited(command: Command, job: ScriptJob) -> bool:
    """Return whether later commands need a server that this command starts."""
    programs = [command, *job.model.children(command)]
    words = [word.shown for program in programs for word in program.words]
    return is_server(command, job) and not any(map(_MONITOR.search, words))


@detects("EC364")
def model_at_home(job: ScriptJob) -> Iterator[Fault]:
    """A model of a hub that goes to a small home folder."""
    home = job.profile.home if job.profile else None
    if home is None:
        return
    unless = job.unless("sets HF_HOME")
    quota = str(home.quota)
    for assignment in _settings(job):
        if assignment.name in MODEL_FOLDERS and _HOME.match(assignment.shown):
            yield Fault(assignment.offset, {"model": assignment.name, "quota": quota})
    if not MODEL_FOLDERS.isdisjoint(job.model.set_names):
        return
    for command in job.model.commands:
        model = hub_name([word.literal or "" for word in command.words])
        if model and not command.by_envcfg:
            words = {"model": model, "quota": quota}
            form = "moved" if unless else ""
            yield Fault(command.offset, words, form, unless=unless)
            return
