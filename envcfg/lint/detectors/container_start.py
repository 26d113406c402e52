"""Starts of containers: options that do not suit the image, and leaks from the host."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_values
from envcfg.lint.resource_facts import is_helper
from envcfg.lint.script_model import Assignment, Command, Model
from envcfg.lint.system_recognition import is_gpu_job, is_singularity
from envcfg.lint.traced_text import Word

_IMAGE_FILE = re.compile(r"\.(?:sif|simg)$")
_GPU_OPTIONS = frozenset({"nv", "nvccli", "rocm"})
_GPU_SWITCH = re.compile(r"(?:SINGULARITY|APPTAINER)_(?:NV|NVCCLI|ROCM)$")
_APART = frozenset({"cleanenv", "containall"})
_NONE_LEFT = frozenset({"purge", "reset", "restore"})  # they unload all modules
_SOURCES = re.compile(r"source (?:.*/)?(?:bin/)?activate\b")


@detects("EC839")
def container_start(job: ScriptJob) -> Iterator[Fault]:
    """Options that do not fit the image, and modules that do not fit each other."""
    if clash := _clashing_module(job.model):
        word, clash_name = clash
        form = "twice" if word.shown.partition("/")[0] == clash_name else "modules"
        yield Fault(word.offset, {"name": word.shown, "other": clash_name}, form)
    for command in job.model.commands:
        if _IMAGE_FILE.search(command.name) and command.unit == 0:
            yield Fault(command.offset, {}, "image")
        if not command.is_image or command.variant:
            continue
        words = command.options
        image = words.get("image")
        name = image.shown.lower() if image is not None else ""
        if "nv" in words and "rocm" in name:
            yield Fault(words["nv"].offset)
        if "rocm" in words and "rocm" in name and is_singularity(command, job):
            yield Fault(words["rocm"].offset, {}, "rocm")
        if "workdir" in words and not {"contain", "containall"} & words.keys():
            yield Fault(words["workdir"].offset, {}, "workdir")
        yield from _verb(command, job)
        yield from _gpus(command, job)


def _clashing_module(model: Model) -> tuple[Word, str] | None:
    """Return a module that removes the binds of another one, and the name of that one.

    The same module twice is such a pair too; modules loaded in a branch are ignored.
    """
    loaded: dict[str, bool] = {}
    offsets: set[int] = set()  # a word that is read again is in a function or loop
    for command in model.commands:
        if command.name not in ("module", "ml") or command.context.is_chosen:
            continue
        verb = command.arguments[0].shown if command.arguments else ""
        names = command.arguments[1:]
        # "ml NAME" loads a module without a verb.
        if command.name == "ml" and verb not in {"load", "unload", "use"} | _NONE_LEFT:
            names = command.arguments
        elif verb in _NONE_LEFT:
            loaded = {}
        elif verb not in ("load", "add", "unload", "rm"):
            continue
        for word in names:
            if word.offset in offsets:
                continue
            offsets.add(word.offset)
            sets_binds = _sets_binds(word)
            name = word.shown.lstrip("-").partition("/")[0]
            # "ml -NAME" unloads a module.
            if verb in ("unload", "rm") or word.shown.startswith("-"):
                loaded.pop(name, None)
            elif sets_binds is not None:
                # A module that sets the binds overwrites those of an earlier one.
                module = next((n for n, sets in loaded.items() if sets), None)
                if name in loaded or (sets_binds and module):
                    return word, name if name in loaded else module or ""
                loaded[name] = sets_binds
    return None


def _sets_binds(word: Word) -> bool | None:
    """Return whether a module sets the binds or only adds some; None: it has none."""
    literal = word.literal or ""
    for module in known_values("EC839", "binds")["modules"]:
        if re.fullmatch(rf"(?:{module['pattern']})(?:/.*)?", literal):
            return bool(module.get("sets"))
    return None


def _verb(command: Command, job: ScriptJob) -> Iterator[Fault]:
    """Yield ``exec`` for an image that needs ``run`` according to its profile."""
    verb = job.profile.verb if job.profile else None
    image = command.options.get("image")
    word = next((w for w in command.words if w.literal == "exec"), None)
    if verb is None or image is None or word is None or command.is_open:
        return
    name = (image.literal or "").rpartition("/")[2]
    for case in verb.cases:
        globs = [test for test in case.when if test.fact == "container"]
        # Conditions on other facts cannot be decided from the script.
        if not globs or len(globs) != len(case.when):
            return
        if name and all(test.holds_for(name) for test in globs):
            value = "".join(map(str, case.value or ()))
            if value == "run":
                yield Fault(word.offset, {"image": name}, "verb")
            return


def _gpus(command: Command, job: ScriptJob) -> Iterator[Fault]:
    """Yield containers in which NVIDIA's GPUs are not visible."""
    profile, words = job.profile, command.options
    if profile is None or profile.visibility is None or command.is_open:
        return
    if profile.visibility.variable != "CUDA_VISIBLE_DEVICES" or not is_gpu_job(job):
        return
    # A variable of the runtime may switch GPUs on instead of an option.
    if _GPU_OPTIONS & words.keys() or any(map(_GPU_SWITCH.match, job.model.set_names)):
        return
    step, programs = job.model.step_of(command), job.model.children(command)
    # Only Python under a real step is certain to need the GPUs.
    python = any(program.name.startswith("python") for program in programs)
    if python and step and not is_helper(step, job.model):
        yield Fault(command.offset, {}, "no-gpu")


@detects("EC840")
def host_leaks(job: ScriptJob) -> Iterator[Fault]:
    """Variables for host programs that change the programs in the container.

    Only exports before the first container count, and only those that nothing unsets.
    Activated environments and the user's own packages are reported after them.
    """
    # A container without isolation inherits the exports of the host.
    starts = (c for c in job.model.commands if c.inherits)
    first = next((c for c in starts if not _APART & c.options.keys()), None)
    if first is None:
        return
    for assignment in job.model.assignments:
        variable = first.gives(assignment.name)
        if assignment.number <= first.number and variable and variable.is_given:
            yield from _leak(assignment)
    names = job.model.set_names
    for opaque in job.model.opaque:
        is_before = opaque.offset < first.offset and opaque.scope != "container"
        # A script that sets or unsets the variable deals with it.
        is_open = "VIRTUAL_ENV" not in names
        if _SOURCES.match(opaque.description) and is_before and is_open:
            yield Fault(opaque.offset, {}, "activated")
            break
    if "PYTHONNOUSERSITE" not in names and "PYTHONUSERBASE" not in names:
        yield from _user_packages(job, first)


def _leak(assignment: Assignment) -> Iterator[Fault]:
    """Yield the effect of an exported variable on the container."""
    if assignment.value is None or not assignment.exported or assignment.how == "env":
        return
    if assignment.scope not in ("batch", "task"):
        return
    value = assignment.shown
    for variable in known_values("EC840", "leaks")["variables"]:
        match = re.search(variable["value"], value, re.DOTALL)
        if match and re.fullmatch(variable["name"], assignment.name):
            words = {"name": assignment.name, "path": match[0]}
            yield Fault(
                assignment.offset,
                words,
                variable.get("form", ""),
                variable.get("severity"),
            )
            return


def _user_packages(job: ScriptJob, first: Command) -> Iterator[Fault]:
    for command in job.model.commands[: first.number]:
        words = [word.shown for word in command.words]
        if command.scope == "batch" and "install" in words and "--user" in words:
            yield Fault(command.offset, {}, "user-packages")
            return
