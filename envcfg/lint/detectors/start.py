"""How containers start: what does not fit the image, and what of the host gets inside."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.lint.facts import is_helper
from envcfg.lint.model import Assignment, Command, Model, text_of
from envcfg.lint.rule import Fault, Job, detects, known_values
from envcfg.lint.system import is_gpu_job, is_singularity
from envcfg.lint.text import Word, shown

_IMAGE_FILE = re.compile(r"\.(?:sif|simg)$")
_GPU_OPTIONS = frozenset({"nv", "nvccli", "rocm"})
_GPU_SWITCH = re.compile(r"(?:SINGULARITY|APPTAINER)_(?:NV|NVCCLI|ROCM)$")
_APART = frozenset({"cleanenv", "e", "containall", "C"})
_NONE_LEFT = frozenset({"purge", "reset", "restore"})  # of the modules
_SOURCES = re.compile(r"source (?:.*/)?(?:bin/)?activate\b")


@detects("EC839")
def container_start(job: Job) -> Iterator[Fault]:
    """Options that do not fit the image, and modules that do not fit each other."""
    if clash := _clashing_module(job.model):
        word, other = clash
        form = "twice" if word.shown.partition("/")[0] == other else "modules"
        yield Fault(word.at, {"name": word.shown, "other": other}, form)
    for command in job.model.commands:
        if _IMAGE_FILE.search(command.name) and command.unit == 0:
            yield Fault(command.at, {}, "image")
        if not command.is_image or command.variant:
            continue
        told = command.options
        image = told.get("image")
        name = image.shown.lower() if image is not None else ""
        if "nv" in told and "rocm" in name:
            yield Fault(told["nv"].at)
        if "rocm" in told and "rocm" in name and is_singularity(command, job):
            at = [w.at for w in command.words if w.literal == "--rocm"] or [command.at]
            yield Fault(at[0], {}, "rocm")
        if "workdir" in told and not {"contain", "containall", "c", "C"} & told.keys():
            yield Fault(told["workdir"].at, {}, "workdir")
        yield from _verb(command, job)
        yield from _gpus(command, job)


def _clashing_module(model: Model) -> tuple[Word, str] | None:
    """Return a module that takes away the binds of another, and the name of that one.

    The same module twice is such a pair, too; what a branch loads is not looked at.
    """
    loaded: dict[str, bool] = {}
    for command in model.commands:
        if command.name not in ("module", "ml") or command.context.conditions:
            continue
        verb = command.arguments[0].shown if command.arguments else ""
        names = command.arguments[1:]
        if command.name == "ml" and verb not in {"load", "unload", "use"} | _NONE_LEFT:
            names = command.arguments
        elif verb in _NONE_LEFT:
            loaded = {}
        elif verb not in ("load", "add", "unload", "rm"):
            continue
        for word in names:
            found = _sets_binds(word)
            name = word.shown.lstrip("-").partition("/")[0]
            if verb in ("unload", "rm") or word.shown.startswith("-"):
                loaded.pop(name, None)
            elif found is not None:
                other = next((n for n, sets in loaded.items() if sets), None)
                if name in loaded or (found and other):
                    return word, name if name in loaded else other or ""
                loaded[name] = found
    return None


def _sets_binds(word: Word) -> bool | None:
    """Return whether a module sets the binds or only adds some; None: it has none."""
    said = word.literal or ""
    for each in known_values("EC839", "binds")["modules"]:
        if re.fullmatch(rf"(?:{each['pattern']})(?:/.*)?", said):
            return bool(each.get("sets"))
    return None


def _verb(command: Command, job: Job) -> Iterator[Fault]:
    """Yield where an image wants ``run``, as its profile says, and is given ``exec``."""
    verb = job.profile.verb if job.profile else None
    image = command.options.get("image")
    at = next((w for w in command.words if w.literal == "exec"), None)
    if verb is None or image is None or at is None or command.is_open:
        return
    name = (image.literal or "").rpartition("/")[2]
    for case in verb.cases:
        globs = [test for test in case.when if test.fact == "container"]
        if not globs or len(globs) != len(case.when):
            return
        if name and all(test.holds_for(name) for test in globs):
            value = "".join(map(str, case.value or ()))
            if value == "run":
                yield Fault(at.at, {"image": name}, "verb")
            return


def _gpus(command: Command, job: Job) -> Iterator[Fault]:
    """Yield where NVIDIA's GPUs stay outside of the container."""
    profile, told = job.profile, command.options
    if profile is None or profile.visibility is None or command.is_open:
        return
    if profile.visibility.variable != "CUDA_VISIBLE_DEVICES" or not is_gpu_job(job):
        return
    if _GPU_OPTIONS & told.keys() or any(map(_GPU_SWITCH.match, job.model.set_names())):
        return
    starts = [each for each in job.model.children(command) if each.name]
    above = [each for each in job.model.ancestors(command) if each.is_step]
    python = any(each.name.startswith("python") for each in starts)
    if python and above and not is_helper(above[0], job.model):
        yield Fault(command.at, {}, "no-gpu")


@detects("EC840")
def host_leaks(job: Job) -> Iterator[Fault]:
    """What is set for programs of the host, and changes those in the container."""
    # One that is not kept apart sees what the host exports.
    images = (c for c in job.model.commands if c.is_image)
    first = next((c for c in images if not _APART & c.options.keys()), None)
    if first is None:
        return
    unset = {a.name for a in job.model.assignments if a.how == "unset"}
    named = job.model.set_names()
    for each in job.model.assignments:
        if each.number < first.number and each.name not in unset:
            yield from _leak(each)
    for read in job.model.opaque:
        is_before = read.at < first.at and read.scope != "container"
        if _SOURCES.match(read.what) and is_before and "VIRTUAL_ENV" not in unset:
            yield Fault(read.at, {}, "activated")
            break
    if "PYTHONNOUSERSITE" not in named and "PYTHONUSERBASE" not in named:
        yield from _user_packages(job, first)


def _leak(each: Assignment) -> Iterator[Fault]:
    """Yield what a variable does to the container, if it is exported outside of it."""
    if each.value is None or not each.exported or each.how == "env":
        return
    if each.scope not in ("batch", "task"):
        return
    value = shown(text_of(each.value))
    for known in known_values("EC840", "leaks")["variables"]:
        found = re.search(known["value"], value, re.DOTALL)
        if found and re.fullmatch(known["name"], each.name):
            words = {"name": each.name, "path": found[0]}
            yield Fault(each.at, words, known.get("form", ""), known.get("severity"))
            return


def _user_packages(job: Job, first: Command) -> Iterator[Fault]:
    for command in job.model.commands[: first.number]:
        said = [each.shown for each in command.words]
        if command.scope == "batch" and "install" in said and "--user" in said:
            yield Fault(command.at, {}, "user-packages")
            return
