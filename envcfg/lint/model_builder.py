"""From sources to models: the scope of a file, and the files that are read together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from envcfg.backends.schedulers import SCHEDULERS, SUBMITTERS, find_scheduler
from envcfg.job.request.admission import GivenOption
from envcfg.lint.command_effects import assign_words
from envcfg.lint.compound_statements import BRANCHES
from envcfg.lint.directive import ScriptDirectives
from envcfg.lint.interpreter import Frame, Handler, ScriptState
from envcfg.lint.program_starts import split_list
from envcfg.lint.script_model import Assignment, Context, Model, ShellText
from envcfg.lint.script_source import Source, Sources, interpreter_of
from envcfg.lint.shell_builtins import ASSIGNMENTS
from envcfg.lint.shell_state import State, first_line_options
from envcfg.lint.simple_command import SIMPLE, redirected
from envcfg.lint.traced_text import Flat, Scope, Word, plain

_LAUNCH = re.compile(
    rf"^[^#\n]*?(?:^|[\s;&|(`\"'])(?:srun|{'|'.join(sorted(SUBMITTERS))})"
    r"(?:[ \t]+[-$\"'\w./]|[ \t]*\\\n)",
    re.MULTILINE,
)
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*['\"]?(\w+)")
_MOST_SUBMITTED = 8
# Tests of a line by which a script starts itself: word, first pattern, second pattern.
_ITSELF = (
    ("srun", re.compile(r"\bsrun\b"), re.compile(r"\$\{?0\b|BASH_SOURCE|#")),
    (
        "if ",
        re.compile("if "),
        re.compile(r"-[znv][ \"']+\$?\{?(?:SLURM_PROCID|SLURM_STEP_ID|SLURM_STEPID)"),
    ),
)
# The handler of each statement, by its type in the grammar.
_COMPOUND = frozenset(
    "subshell if_statement while_statement for_statement c_style_for_statement "
    "case_statement compound_statement test_command declaration_command".split()
)
STATEMENTS: Mapping[str, Handler] = {
    name: redirected(handler) if name in _COMPOUND else handler
    for name, handler in {**BRANCHES, **ASSIGNMENTS, **SIMPLE}.items()
}
_OWN = frozenset("envcfg source . eval".split())
_ENTRY = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.MULTILINE)


@lru_cache(maxsize=32)
def scope_of(source: Source) -> Scope:
    """Return the scope of a file's top level, as far as the file shows it."""
    lines = source.chars.split("\n")
    if any(map(_starts_itself, lines)):
        return "unknown"  # one file serves as batch script and as task
    # Text in here-documents is another script, and would give the wrong scope.
    chars = "\n".join(_without_documents(lines))
    if find_scheduler(chars) or _LAUNCH.search(chars):
        return "batch"
    return "unknown"


def _starts_itself(line: str) -> bool:
    for word, before, sign in _ITSELF:
        first = before.search(line) if word in line else None
        if first and (match := sign.search(line, first.end())) and match[0] != "#":
            return True
    return False


def _without_documents(lines: Sequence[str]) -> Iterator[str]:
    """Yield *lines* without here-documents; one without an end is kept."""
    # Shifts such as "1 << n" look like a here-document, but have no ending line.
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


def read_models(given_sources: Sequence[Source], sources: Sources) -> list[Model]:
    """Return the model of each script; scripts started by another script are read with
    it."""
    models: list[Model] = []
    batch = [source for source in given_sources if scope_of(source) == "batch"]
    # Batch scripts first, because they start the others and give them their scope.
    more = [source for source in given_sources if source not in batch]
    read_bases: set[int] = set()
    for source in [*batch, *more]:
        if source.base in read_bases:
            continue
        if source.kind == "script":
            models_read = read_script(source, sources)
        elif source.kind == "dump":
            models_read = [_read_dump(source)]
        else:
            continue
        read_bases.update(*(model.read for model in models_read))
        models += models_read
    return models


def read_script(source: Source, sources: Sources) -> list[Model]:
    """Return the model of one script, and of the scripts that it submits."""
    model = Model(source.path, scope_of(source))
    _read_with(model, Flat(plain(source.chars, source.base)), source, sources)
    models = [model]
    for text in model.submitted[:_MOST_SUBMITTED]:
        models.append(Model(source.path, "batch"))
        _read_with(models[-1], Flat(text), source, sources)
    return models


def asked_by(source: Source) -> tuple[str | None, list[GivenOption]]:
    """Return the scheduler of the script's directives (None: none), and the options."""
    if (scheduler := find_scheduler(source.chars)) is None:
        return None, []
    return scheduler, ScriptDirectives(
        Flat(plain(source.chars, source.base)), scheduler
    ).given


def _read_with(model: Model, flat: Flat, source: Source, sources: Sources) -> None:
    """Record the effects of *flat*, which is *source* or a part of it."""
    model.own, model.size = source.base, len(source.chars)
    if scheduler := find_scheduler(flat.chars):
        model.scheduler = scheduler
        model.flat = flat
    foreign = re.search(SCHEDULERS[model.scheduler].foreign, flat.chars, re.MULTILINE)
    if foreign:
        title = SCHEDULERS[model.scheduler].title
        why = f"its directives are of another scheduler than {title}"
        model.unread[why] = flat.origin(foreign.start())
        _follow(flat, source, sources, model)
        return
    # Only the script itself has DOS line breaks that sbatch would reject.
    dos = source.dos if flat.origin(0) == source.base else -1
    directives = ScriptDirectives(flat, model.scheduler, dos)
    model.directives, model.given = directives.directives, directives.given
    model.problems = directives.problems
    _follow(flat, source, sources, model)


def _follow(flat: Flat, source: Source, sources: Sources, model: Model) -> None:
    """Follow a script of *source*, then the functions that nothing called."""
    model.read.add(source.base)
    interpreter = interpreter_of(flat.chars)
    if interpreter and not interpreter.endswith("sh"):
        model.unread[f"{interpreter} reads it, and not a shell"] = flat.origin(0)
        return
    model.texts.append(ShellText(flat, interpreter))
    shared, state = ScriptState(sources, model, STATEMENTS), State(model.commands)
    state.options = first_line_options(flat.chars)
    folder = os.path.dirname(source.path)
    frame = Frame(
        shared, flat, model.scope, state, folder=folder, interpreter=interpreter
    )
    for directive in model.directives:
        if directive.name == "export" and directive.value and not directive.late:
            word = Word(plain(directive.value, directive.offset), directive.offset)
            assign_words(frame, split_list(word))
            # sbatch passes its own option on to srun.
            state.set("SLURM_EXPORT_ENV", word.text, exported=True)
    frame.run_flat(flat)
    for name in list(shared.uncalled):
        if name not in shared.uncalled:
            continue
        home, body = shared.uncalled.pop(name)
        inside = state.fork()
        inside.arguments = None
        count = len(model.commands)
        expansions = len(model.expansions)
        uncalled = home.inside(function=name)
        uncalled._replace(state=inside, scope="unknown").run(body)
        if name in shared.launchers:
            # Only options of envcfg count here: the function handles its own $?.
            own = [
                command for command in model.commands[count:] if command.name in _OWN
            ]
            del model.commands[count:], model.expansions[expansions:]
            for number, command in enumerate(own, count):
                model.commands.append(command._replace(number=number, parent=None))


def _read_dump(source: Source) -> Model:
    """Return the variables that ``env`` or ``env -0`` has printed."""
    model = Model(source.path, "unknown")
    model.is_dump = True
    model.own = source.base
    chars = source.chars.replace("\n", "\x02") if "\0" in source.chars else source.chars
    for entry in _ENTRY.finditer(chars.replace("\0", "\n")):
        offset, value_at = source.base + entry.start(), source.base + entry.start(2)
        value = plain(entry[2].replace("\x02", "\n"), value_at)
        model.assignments.append(
            Assignment(
                entry[1], value, "unknown", offset, value_at, True, Context(), 0, "env"
            )
        )
    return model
