"""From sources to models: which scope a file has, and what is read together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from envcfg.lint.branch import BRANCHES
from envcfg.lint.builtin import ASSIGNMENTS
from envcfg.lint.directive import Read
from envcfg.lint.follow import Handler, follow
from envcfg.lint.model import Assignment, Context, Model
from envcfg.lint.simple import SIMPLE
from envcfg.lint.source import Source, Sources
from envcfg.lint.state import first_line_options
from envcfg.lint.text import Flat, Scope, plain
from envcfg.request.admission import Given

_DIRECTIVE = re.compile(r"^#(SBATCH|PBS(?=\s)|[ \t]*flux:)", re.MULTILINE)
_SCHEDULERS = {"PBS": "pbs", "flux:": "flux"}
_LAUNCH = re.compile(
    r"^[^#\n]*?(?:^|[\s;&|(`\"'])(?:srun|sbatch)(?:[ \t]+[-$\"'\w./]|[ \t]*\\\n)",
    re.MULTILINE,
)
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*['\"]?(\w+)")
_MOST_SUBMITTED = 8
# What a line of a script that starts itself says, and what it says before that.
_ITSELF = (
    ("srun", re.compile(r"\bsrun\b"), re.compile(r"\$\{?0\b|BASH_SOURCE|#")),
    (
        "if ",
        re.compile("if "),
        re.compile(r"-[znv][ \"']+\$?\{?(?:SLURM_PROCID|SLURM_STEP_ID|SLURM_STEPID)"),
    ),
)
# What follows a statement, by its type in the grammar.
STATEMENTS: Mapping[str, Handler] = {**BRANCHES, **ASSIGNMENTS, **SIMPLE}
_ENTRY = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.MULTILINE)


@lru_cache(maxsize=32)
def scope_of(source: Source) -> Scope:
    """Return what the top of a file is run by, as far as the file itself tells."""
    lines = source.chars.split("\n")
    if any(map(_starts_itself, lines)):
        return "unknown"  # one file for both: which part runs where is its own matter
    chars = "\n".join(_without_documents(lines))
    if _DIRECTIVE.search(chars) or _LAUNCH.search(chars):
        return "batch"
    return "unknown"


def _starts_itself(line: str) -> bool:
    for word, before, sign in _ITSELF:
        first = before.search(line) if word in line else None
        if first and (found := sign.search(line, first.end())) and found[0] != "#":
            return True
    return False


def _without_documents(lines: Sequence[str]) -> Iterator[str]:
    """Yield *lines* without here-documents; one that does not end is none."""
    last = {line.strip(" \t"): number for number, line in enumerate(lines)}
    ending = None
    for number, line in enumerate(lines):
        if ending is not None:
            ending = None if line.strip(" \t") == ending else ending
            continue
        begin = _HEREDOC.search(line) if "<<" in line else None
        if begin and last.get(begin[1], 0) > number:
            ending = begin[1]
            yield line[: begin.start()]
        else:
            yield line


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
    model = Model(source.path, scope_of(source))
    _read_with(model, Flat(plain(source.chars, source.base)), source, sources)
    models = [model]
    for text in model.submitted[:_MOST_SUBMITTED]:
        models.append(Model(source.path, "batch"))
        _read_with(models[-1], Flat(text), source, sources)
    return models


def asked_by(source: Source) -> tuple[str | None, list[Given]]:
    """Return by whose lines a script asks for nodes, None for none, and its options."""
    if not (line := _DIRECTIVE.search(source.chars)):
        return None, []
    scheduler = _SCHEDULERS.get(line[1].strip(), "slurm")
    return scheduler, Read(Flat(plain(source.chars, source.base)), scheduler).given


def _read_with(model: Model, flat: Flat, source: Source, sources: Sources) -> None:
    """Write down what *flat* does, which is *source* or stands in it."""
    model.own, model.size = source.base, len(source.chars)
    if line := _DIRECTIVE.search(source.chars):
        model.scheduler = _SCHEDULERS.get(line[1].strip(), "slurm")
        model.flat, model.options = flat, first_line_options(flat.chars)
    dos = source.dos if flat.origin(0) == source.base else -1
    read = Read(flat, model.scheduler, dos)
    model.directives, model.given = read.directives, read.given
    model.problems = read.problems
    follow(flat, source, sources, model, STATEMENTS)


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
