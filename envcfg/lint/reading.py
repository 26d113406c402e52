"""From sources to models: which scope a file has, and what is read together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envcfg.lint.directive import read_directives
from envcfg.lint.follow import Follower
from envcfg.lint.model import Assignment, Context, Model
from envcfg.lint.source import Source, Sources
from envcfg.lint.text import Flat, Scope, plain

_DIRECTIVE = re.compile(r"^#(SBATCH|PBS|flux:)[ \t]", re.MULTILINE)
_SCHEDULERS = {"PBS": "pbs", "flux:": "flux"}
_LAUNCH = re.compile(
    r"^[^#\n]*?(?:^|[\s;&|(`\"'])(?:srun|sbatch)(?:[ \t]+[-$\"'\w./]|[ \t]*\\\n)",
    re.MULTILINE,
)
_HEREDOC = re.compile(
    r"<<-?[ \t]*['\"]?(\w+)['\"]?[^\n]*\n(?:.*\n)*?[ \t]*\1[ \t]*$", re.MULTILINE
)
_MOST_SUBMITTED = 8
_ITSELF = re.compile(
    r"\bsrun\b[^\n#]*(?:\"?\$\{?0\b|BASH_SOURCE)|"
    r"if [^\n]*(?:-z|-n|-v)[ \"']+\$?\{?(?:SLURM_PROCID|SLURM_STEP_ID|SLURM_STEPID)"
)
_ENTRY = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.MULTILINE)


def scope_of(source: Source) -> Scope:
    """Return what the top of a file is run by, as far as the file itself tells."""
    if _ITSELF.search(source.chars):
        return "unknown"  # one file for both: which part runs where is its own matter
    chars = _HEREDOC.sub("", source.chars)
    if _DIRECTIVE.search(chars) or _LAUNCH.search(chars):
        return "batch"
    return "unknown"


def read_models(given: Sequence[Source], sources: Sources) -> list[Model]:
    """Return what each script does; those that another one starts are read with it."""
    models: list[Model] = []
    batch = [each for each in given if scope_of(each) == "batch"]
    others = [each for each in given if each not in batch]
    read: set[int] = set()
    for source in [*batch, *others]:
        if source.base in read:
            continue
        if source.kind == "script":
            found = read_script(source, sources)
        elif source.kind == "dump":
            found = [_read_dump(source)]
        else:
            continue
        read.update(*(each.read for each in found))
        models += found
    return models


def read_script(source: Source, sources: Sources) -> list[Model]:
    """Return what one script does, and what the scripts do that it submits."""
    flat = Flat(plain(source.chars, source.base))
    models = [_follow(flat, Model(source.path, scope_of(source)), source, sources)]
    for text in models[0].submitted[:_MOST_SUBMITTED]:
        model = Model(source.path, "batch")
        models += [_follow(Flat(text), model, source, sources)]
    return models


def _follow(flat: Flat, model: Model, source: Source, sources: Sources) -> Model:
    model.own, model.size = source.base, len(source.chars)
    model.directives = list(read_directives(flat))
    if line := _DIRECTIVE.search(source.chars):
        model.scheduler = _SCHEDULERS.get(line[1], "slurm")
    Follower(sources, model).follow(flat, source)
    return model


def _read_dump(source: Source) -> Model:
    """Return the variables that ``env`` or ``env -0`` has printed."""
    model = Model(source.path, "unknown")
    model.is_dump = True
    model.own = source.base
    chars = source.chars.replace("\n", "\x02") if "\0" in source.chars else source.chars
    for entry in _ENTRY.finditer(chars.replace("\0", "\n")):
        at, value_at = source.base + entry.start(), source.base + entry.start(2)
        value = plain(entry[2].replace("\x02", "\n"), value_at)
        model.assignments.append(
            Assignment(
                entry[1], value, "unknown", at, value_at, True, Context(), 0, "env"
            )
        )
    return model
