"""Effects of a command: functions, programs that start others, shells, files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from envcfg.backends.schedulers import SCHEDULERS, SUBMITTERS
from envcfg.job.plan.shell_text import SHELLS
from envcfg.lint.environment import kept_names
from envcfg.lint.interpreter import Frame
from envcfg.lint.program_starts import (
    Program,
    StartedProgram,
    load_programs,
    shell_input,
    split_at,
    unwrap,
)
from envcfg.lint.script_model import Command, Opaque
from envcfg.lint.script_source import interpreter_of, kind_of
from envcfg.lint.shell_builtins import (
    BUILTINS,
    Redirects,
    file_key,
    find_file,
    find_written,
    note_written,
)
from envcfg.lint.traced_text import Text, Told, Word, joined, plain, shown, spaced

_DEEPEST = 40
_UNCLEAR = re.compile(r"[\s\"'#\\]")  # in a directive, such a word would need quotes
_PREFIXES = ("APPTAINERENV_", "SINGULARITYENV_")
_SAME = frozenset("exec command builtin time".split())  # they run in the same shell
Assigns = Callable[[Frame, int], object]


def record(
    frame: Frame,
    words: Sequence[Word],
    *,
    told: Told = (),
    is_open: bool = False,
    is_builtin: bool = False,
    inherits: bool = False,
    redirects: Redirects | None = None,
) -> Command:
    """Add a command to the model, and return it.

    *told* are its options in order; other arguments are fields of ``Command``.
    """
    first = words[0]
    literal = first.literal
    # The last part of a path names the program, even if its folder is unknown.
    if literal is None:
        last = first.text[-1]
        literal = last.chars if not last.hole and "/" in last.chars else ""
    number = len(frame.model.commands)
    name = literal.rstrip("/").rpartition("/")[2]
    program = None if is_builtin else load_programs().get(literal.rpartition("/")[2])
    context = frame.context
    # Options may change between the beginning of a block and this command.
    if context.options != frame.state.options:
        context = context._replace(options=frame.state.options)
    command = Command(
        name=literal if is_builtin else name,
        words=tuple(words),
        scope=frame.scope,
        offset=first.offset,
        context=context,
        number=number,
        options_in_order=told,
        parent=frame.parent,
        variant=frame.variant,
        unit=frame.unit,
        substitution=frame.substitution,
        is_open=is_open,
        output=redirects.output if redirects else (),
        document=redirects.document if redirects else None,
        kind=program.kind if program and _has_verb(program, words) else "",
        inherits=inherits,
        by_envcfg=frame.by_envcfg,
        find=(find := partial(frame.state.find, time=number)),
        gives=find,
    )
    frame.model.commands.append(command)
    return command


def _has_verb(program: Program, words: Sequence[Word]) -> bool:
    """Return whether *words* may start something: `flux resource list` does not."""
    verbs = (None, *program.verbs)
    return not program.verbs or any(word.literal in verbs for word in words[1:])


def start_command(
    frame: Frame,
    words: tuple[Word, ...],
    redirects: Redirects,
    assigns: Assigns | None = None,
) -> None:
    """Record the program that *words* start, and follow it as far as it can be read.

    Words that may vanish are skipped first. Then envcfg's own launcher is removed, so that
    the command remains. It is recorded before it is followed, because the programs that it
    starts name it as their parent. A function precedes a builtin, as in bash, and a file
    with the name comes last.
    """
    while words and words[0].is_loose:
        if len(words) == 1 or words[0].text[-1].chars.startswith("/"):
            break
        words = words[1:]  # the word may be empty, or an unknown prefix
    if not words:
        if assigns:
            assigns(frame, -1)
        return
    frame.shared.steps -= 1
    if frame.depth > _DEEPEST:
        return
    name = (words[0].literal or "").rpartition("/")[2]
    if name in frame.shared.launchers and len(words) > 1:
        first = (words[0]._replace(text=plain("exec")),) if "exec" in name else ()
        words, frame = (*first, *words[1:]), frame._replace(by_envcfg=True)
        name = (words[0].literal or "").rpartition("/")[2]
    if name == "envcfg_run":  # the function that starts the ranks in a single script
        frame = frame._replace(by_envcfg=True)
    start = unwrap(name, words[1:])
    command = record(
        frame, words, told=start.options_in_order if start else (),
        inherits=bool(start and start.inherits),
        is_open=start.is_open if start else any(word.is_loose for word in words),
        redirects=redirects,
    )  # fmt: skip
    shell, names = frame.state, frozenset[str]()
    if assigns:
        # Assignments before a command hold for that command only.
        frame = frame._replace(state=frame.state.fork())
        frame.state.time = command.number
        assigns(frame, command.number)
        find = partial(frame.state.find, time=command.number)
        command = command._replace(find=find, gives=find)
        frame.model.commands[command.number] = command
        names = frozenset(frame.state.own)
    if redirects.document is not None:
        note_written(words, redirects, frame)
    if name in frame.state.functions:
        frame.call(name, words[1:])
    elif builtin := BUILTINS.get(name):
        builtin(frame, words)
    elif name == "export":  # the grammar took assignments of the line before with it
        assign_words(frame, [word for word in words[1:] if "=" in word.shown])
    elif start:
        _start(frame, command, start, redirects)
    elif name in SHELLS:
        _shell(frame, command, redirects)
    elif name in SUBMITTERS:
        _submit(frame, command, redirects)
    elif _names_file(words[0].shown, frame):
        run_file(frame, words[0], words[1:], command)
    if names:
        shell.adopt(frame.state, names)


def _names_file(text: str, frame: Frame) -> bool:
    """Return whether a command may be a script file, not a program on PATH."""
    is_written = text in frame.state.files
    return "/" in text or is_written or text.endswith((".sh", ".bash"))


def _within(frame: Frame, command: Command, **changes: object) -> Frame:
    inside = frame._replace(parent=command.number, depth=frame.depth + 1)
    return inside._replace(**changes)  # type: ignore[arg-type]


def assign_words(
    frame: Frame, words: Iterable[Word], number: int | None = None
) -> None:
    """Assign words ``NAME=value``, for the command with *number* alone if it is given."""
    for word in words:
        text = word.shown
        value = split_at(word, text.index("=") + 1)
        frame.assign(
            text.partition("=")[0], value.text, at=word.offset, value_at=value.offset,
            how="env", exported=True, command=number,
        )  # fmt: skip


def _start(
    frame: Frame, command: Command, start_found: StartedProgram, redirects: Redirects
) -> None:
    # An interactive session requests what its user types later.
    rest = start_found.rest
    if command.name == "salloc" and rest and rest[0].literal not in SHELLS:
        options = command.arguments[: -len(rest)]
        frame.model.submitted.extend(_with_directives(frame, options))
    scope = start_found.scope or frame.scope
    is_same = start_found.scope is None and command.name in _SAME
    state = frame.state
    if not is_same:
        keeps = kept_names(command, start_found, frame.state)
        state = frame.state.child(frame.state.arguments, keeps)
        state.prefixes = _PREFIXES if command.is_image else ()
    if start_found.scope is None:
        # Another scope means another machine or container, which does not know the
        # functions.
        state.functions = frame.state.functions
    inside = _within(frame, command, scope=scope, state=state)
    if command.name == "envcfg":  # the shell that reads its output starts the rest
        reader = frame.reader or frame
        inside = inside._replace(
            context=reader.context,
            parent=reader.parent,
            unit=reader.unit,
            substitution=reader.substitution,
            by_envcfg=True,
        )
    state.time = command.number
    assign_words(inside, start_found.assigned, command.number)
    gives = partial(state.find, time=command.number)
    frame.model.commands[command.number] = command._replace(gives=gives)
    state.time = None
    if start_found.rest and start_found.shell:
        inside.run_text(spaced(start_found.rest))
        return
    if start_found.rest:
        # The shell of the starter writes the file, for all its tasks.
        own = redirects if start_found.scope is None else redirects._replace(output=())
        start_command(inside, start_found.rest, own)
    # "exec" without a command only redirects, and the script continues.
    if command.name == "exec" and (
        start_found.rest
        or (not start_found.options_in_order and len(command.words) > 1)
    ):
        frame.state.ended = True


def _shell(frame: Frame, command: Command, redirects: Redirects) -> None:
    reads = shell_input(command)
    if reads.file is not None:
        run_file(frame, reads.file, reads.arguments, command)
    elif reads.text is not None:
        state = frame.state.child(reads.arguments)
        state.functions = state.passed if command.name == "bash" else {}
        inside = _within(frame, command, state=state)
        inside.run_text(reads.text, interpreter=command.name)
    elif redirects.file is not None:
        run_file(frame, redirects.file, (), command)


def _submit(frame: Frame, command: Command, redirects: Redirects) -> None:
    """Store a script that another job runs: it is read separately."""
    written = [frame.state.files.get(file_key(w.shown)) for w in command.arguments]
    texts = [text for text in (redirects.document, *written) if text is not None]
    for index, word in enumerate(words := command.arguments):
        if word.shown.startswith("--wrap="):
            body, rest = split_at(word, len("--wrap=")), words[index + 1 :]
        elif word.literal == "--wrap" and words[index + 1 :]:
            body, rest = words[index + 1], words[index + 2 :]
        else:
            continue
        texts += _with_directives(frame, (*words[:index], *rest), body.text)
    frame.model.submitted.extend(texts)


def _with_directives(
    frame: Frame, options: Sequence[Word], body: Text = ()
) -> list[Text]:
    """Return the script that sbatch makes of options and a text; none if one is unclear."""
    if any(word.is_loose or _UNCLEAR.search(word.shown) for word in options):
        return []
    mark = plain(f"#!/bin/bash\n{SCHEDULERS[frame.model.scheduler].mark} ")
    return [joined((mark, spaced(options), plain("\n"), body, plain("\n")))]


def run_file(frame: Frame, word: Word, rest: Sequence[Word], command: Command) -> None:
    """Follow a script that a command starts, if it can be read."""
    inside = _within(frame, command, state=frame.state.child(tuple(rest)))
    name = command.name if command.name in SHELLS else ""
    written = find_written(word, frame)
    if written is not None:
        if kind_of(shown(written)) == "script":
            inside.run_text(written, interpreter=name or interpreter_of(shown(written)))
        return
    if (source := find_file(frame, word)) is None:
        # An unread script may set variables and start steps, so rules must know of it.
        if word.shown.endswith((".sh", ".bash")) or "/" in word.shown:
            frame.model.opaque.append(Opaque(word.shown, word.offset, frame.scope))
        if rest and (rest[0].literal in SHELLS or rest[0].literal in load_programs()):
            start_command(inside, tuple(rest), Redirects())
    # A script that starts itself would be followed forever.
    elif source.kind == "script" and source.base not in frame.model.read:
        interpreter = name or interpreter_of(source.chars)
        inside.state.functions = inside.state.passed if interpreter == "bash" else {}
        inside.run_source(source, interpreter=interpreter)
