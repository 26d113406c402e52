"""What reaches the program: its arguments, and variables on the way into a container."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from envcfg.lint.flow import TESTS, command_with, options
from envcfg.lint.model import Array, Command, text_of
from envcfg.lint.program import SHELLS
from envcfg.lint.rule import Edit, Fault, Job, detects
from envcfg.lint.system import is_singularity
from envcfg.lint.text import Piece, Text, holes

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PREFIXES = ("SINGULARITYENV_", "APPTAINERENV_")
# A process id, a command, an argument, or a name that no program would export.
_DOLLAR = re.compile(r"`|\$(?:\$|\d|([a-z][a-z0-9]*)\b)")
_FOR_INSIDE = re.compile(
    r"(?:NCCL|RCCL|FI|MIOPEN|TORCH_NCCL|CXI)_[A-Z]|MASTER_(?:ADDR|PORT)$|RANK$"
)
_SILENT = TESTS | {
    "echo", "printf", "logger", "cat", "for", "set", "shift", "module", "source", ".",
    "exit", "return",
}  # fmt: skip
# --name "value" and name="value" inside of a string.
_BEFORE_QUOTED = re.compile(r"(?<![\w-])--[\w-]+[ =]$")
_BARE = re.compile(r"[A-Za-z0-9_{/.]")


@detects("EC105")
def reparsed_arguments(job: Job) -> Iterator[Fault]:
    """Arguments that are passed on and split, or read once more, on the way."""
    model = job.model
    for each in model.expansions:
        if each.name not in ("@", "*") or each.use != "word":
            continue
        if each.hole.op or each.number >= len(model.commands):
            continue
        command = command_with(model.commands, each)
        if command is None or not _passes_on(command):
            continue
        if not each.hole.quoted:
            sign = each.name
            is_braced = job.before(each.at + 2).endswith("{")
            form = f"${{{sign}}}" if is_braced else f"${sign}"
            edit = Edit(each.at, each.at + len(form), '"$@"')
            yield Fault(each.at, {"form": form}, edit=edit)
        elif command.name == "eval":
            yield Fault(each.at, {}, "eval")
    for command in model.commands:
        found = _pasted(command)
        if found is not None:
            yield Fault(found, {"form": "$@"}, "pasted")
    yield from _ended_quotes(job)


def _passes_on(command: Command) -> bool:
    if command.name in _SILENT or not command.words or command.substitution:
        return False
    return bool(command.name) or command.words[0].is_loose


def _pasted(command: Command) -> int | None:
    """Return where arguments were put into the text of a shell, if they were."""
    if command.name not in SHELLS:
        return None
    said = [each.shown for each in command.words]
    at = next(
        (n for n, w in enumerate(said) if re.fullmatch(r"-[abd-z]*c[a-z]*", w)), None
    )
    if at is None or at + 1 >= len(command.words):
        return None
    text = command.words[at + 1].text
    if len(text) < 2:
        return None  # the whole command is what was given: nothing is added to it
    for hole in holes(text):
        if hole.name in ("@", "*"):
            return hole.at
    return None


def _ended_quotes(job: Job) -> Iterator[Fault]:
    """Yield where a double quote was to stand in a string, and ends it."""
    texts = [each.value for each in job.model.assignments]
    for command in job.model.commands:
        if command.name in SHELLS:
            texts += [word.text for word in command.arguments]
    for text in texts:
        if not isinstance(text, tuple) or isinstance(text, Array):
            continue
        for before, here in pairwise(text):
            ends = _BEFORE_QUOTED.search(before.chars)
            if not ends or here.hole or not _BARE.match(here.chars):
                continue
            if here.at != before.at + len(before.chars) + 1 or before.at < 0:
                continue
            line = job.before(here.at)
            if not line.endswith('"') or line.endswith(('\\"', '""')):
                continue
            if _goes_on(text, here, job):
                yield Fault(here.at - 1, {}, "ended-quotes")


def _goes_on(text: Text, first: Piece, job: Job) -> bool:
    """Return whether the string goes on with a blank behind the next double quote."""
    begun = False
    for before, here in pairwise(text):
        begun = begun or before is first
        if not begun or here.hole or (before.hole and before.at < 0):
            continue
        if job.before(here.at).endswith('"'):
            return here.chars[:1].isspace()
    return False


@detects("EC838")
def container_environment(job: Job) -> Iterator[Fault]:
    """A value that arrives cut, or not at all."""
    lists = [
        (option.name, option.value.shown, option.value.at)
        for command in job.model.commands
        for option in options(command)
        if (command.is_image and option.name == "env")
        or (command.is_step and option.name == "export")
    ]
    exports = [each for each in job.model.directives if each.name == "export"]
    lists += [(each.name, each.value or "", each.at) for each in exports]
    for name, said, at in lists:
        if cut := _cut_in_env(said) if name == "env" else _cut_in_export(said):
            yield Fault(at, {"value": cut[0], "left": cut[1], "name": name})
    yield from _evaluated(job)
    yield from _other_prefix(job)
    for command in job.model.commands:
        told = command.options
        has_both = command.is_image and {"env", "image"} <= told.keys()
        if command.variant or not has_both:
            continue
        if told["env"].shown.endswith("=AWS") and told["image"].shown == "Libfabric":
            words = {"value": "NCCL_NET=AWS Libfabric", "left": "NCCL_NET=AWS"}
            yield Fault(told["env"].at, words, "blank")
    yield from _export_none(job)
    yield from _clean(job)
    yield from _replaced(job)


def _cut_in_env(said: str) -> tuple[str, str] | None:
    """Return a setting that loses what stands behind a comma, and what is left of it."""
    parts = said.split(",")
    if len(parts) < 2 or said.count("=") < 2 or '"' in said:
        return None
    if not any(_SETTING.match(each) for each in parts[1:]):
        return None
    return _cut(parts)


def _cut_in_export(said: str) -> tuple[str, str] | None:
    parts = said.split(",")
    if not any("=" in each for each in parts) or '"' in said or "'" in said:
        return None
    cut = _cut(parts)
    # A name in capitals may be one that is meant to be handed on.
    return None if cut is None or cut[1].rpartition(",")[2].isupper() else cut


def _cut(parts: list[str]) -> tuple[str, str] | None:
    before = ""
    for each in parts:
        if _SETTING.match(each):
            before = each
        elif before and each and not (each.isupper() and _NAME.fullmatch(each)):
            return f"{before},{each}", before
    return None


def _export_none(job: Job) -> Iterator[Fault]:
    model = job.model
    none = [d for d in model.directives if d.name == "export" and d.value == "NONE"]
    if not none or {"SLURM_EXPORT_ENV"} & model.set_names():
        return
    if any(e.name == "SLURM_EXPORT_ENV" for e in model.expansions):
        return
    exported = [a for a in model.assignments if a.exported and a.scope == "batch"]
    for step in model.commands:
        if not step.is_step or step.scope != "batch" or step.is_open:
            continue
        if "export" not in step.options and exported:
            yield Fault(step.at, {}, "export-none")
            return


def _clean(job: Job) -> Iterator[Fault]:
    """Yield where a container takes nothing of what is exported for it."""
    for command in job.model.commands:
        if not command.is_image or command.variant or command.is_open:
            continue
        lists = command.options
        if (
            not {"cleanenv", "e", "containall", "C"} & lists.keys()
            or "env-file" in lists
        ):
            continue
        if lost := _lost(command, job):
            yield Fault(command.at, {"names": ", ".join(lost[:3])}, "cleaned")
            return


def _lost(command: Command, job: Job) -> list[str]:
    names = job.model.set_names()
    given = " ".join(w.shown for w in command.words)
    lost = []
    for each in job.model.assignments:
        if each.number > command.number or not each.exported:
            continue
        if each.scope == "container" or not _FOR_INSIDE.match(each.name):
            continue
        prefixed = {f"SINGULARITYENV_{each.name}", f"APPTAINERENV_{each.name}"}
        is_given = prefixed & names or f"{each.name}=" in given
        if not is_given and each.name not in lost:
            lost.append(each.name)
    return lost


def _evaluated(job: Job) -> Iterator[Fault]:
    """Yield what the start of the container takes for a command or a name."""
    names = job.model.set_names()
    for each in job.model.assignments:
        if not each.name.startswith(_PREFIXES) or each.how == "env":
            continue
        for piece in text_of(each.value):
            if piece.hole or piece.at < 0:
                continue
            for found in _DOLLAR.finditer(piece.chars):
                at = piece.at + found.start()
                if job.before(at).endswith("\\") or found[1] in names:
                    continue
                yield Fault(at, {"name": each.name, "said": found[0]}, "read-again")
                break


def _other_prefix(job: Job) -> Iterator[Fault]:
    """Yield what is meant for the inside, by a prefix that this runtime does not know."""
    starts = [c for c in job.model.commands if c.is_image]
    if not starts or not all(is_singularity(each, job) for each in starts):
        return
    names = job.model.set_names()
    for each in job.model.assignments:
        name = each.name.removeprefix("APPTAINERENV_")
        if name == each.name or not each.exported or f"SINGULARITYENV_{name}" in names:
            continue
        yield Fault(each.at, {"name": each.name, "own": name}, "other-prefix")


def _replaced(job: Job) -> Iterator[Fault]:
    """Yield where the start of the container puts its own value in place of ours."""
    first = next((c for c in job.model.commands if c.is_image), None)
    if first is None:
        return
    for each in job.model.assignments:
        if each.name != "LD_LIBRARY_PATH" or each.scope not in ("batch", "task"):
            continue
        if each.exported and each.number < first.number and each.command is None:
            yield Fault(each.at, {}, "replaced")
            return
