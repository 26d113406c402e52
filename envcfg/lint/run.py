"""What a command does: functions, programs that start others, shells, files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from envcfg.lint.builtin import (
    BUILTINS,
    Redirects,
    file_key,
    find_file,
    find_written,
    note_written,
)
from envcfg.lint.follow import Frame
from envcfg.lint.model import Command, Opaque
from envcfg.lint.program import SHELLS, Start, load_programs, split_at, unwrap
from envcfg.lint.source import kind_of
from envcfg.lint.text import Text, Word, plain, shown, spaced

_DEEPEST = 40
_SAME = frozenset({"exec", "command", "builtin", "time"})  # the shell itself goes on
_TAKES_WORD = re.compile(r"[-+][A-Za-z]*o")  # options of a shell
_TAKES_TEXT = re.compile(r"-[A-Zabd-z]*c[A-Za-z]*")
Assigns = Callable[[Frame, int], object]


def record(
    frame: Frame,
    words: Sequence[Word],
    *,
    options: Mapping[str, Word] | None = None,
    is_open: bool = False,
    is_builtin: bool = False,
    output: Text = (),
) -> Command:
    """Write down a command."""
    first = words[0]
    said = first.literal
    if said is None:
        last = first.text[-1]
        said = last.chars if not last.hole and "/" in last.chars else ""
    number = len(frame.model.commands)
    name = said.rstrip("/").rpartition("/")[2]
    program = None if is_builtin else load_programs().get(said.rpartition("/")[2])
    context = frame.context
    if context.options != frame.state.options:
        context = context._replace(options=frame.state.options)
    command = Command(
        name=said if is_builtin else name,
        words=tuple(words),
        scope=frame.scope,
        at=first.at,
        context=context,
        number=number,
        options=options or {},
        parent=frame.parent,
        variant=frame.variant,
        unit=frame.unit,
        substitution=frame.substitution,
        is_open=is_open,
        output=output,
        kind=program.kind if program else "",
        by_envcfg=frame.by_envcfg,
    )
    frame.model.commands.append(command)
    return command


def start_command(
    frame: Frame,
    words: tuple[Word, ...],
    redirects: Redirects,
    assigns: Assigns | None = None,
) -> None:
    """Write down what *words* start, and follow it as far as it can be read.

    Words that may vanish are passed over first, then envcfg's own name for a launcher is
    taken off, so that what is left is the command. It is written down before it is
    followed: what it starts names it as its parent. A function goes before a builtin, as
    in bash, and a file that the words name comes last.
    """
    while words and words[0].is_loose:
        if len(words) == 1 or words[0].text[-1].chars.startswith("/"):
            break
        words = words[1:]  # it may be no word, or a prefix that is not known
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
    found = unwrap(name, words[1:])
    command = record(
        frame, words, options=found.options if found else {},
        is_open=found.is_open if found else any(each.is_loose for each in words),
        output=redirects.output,
    )  # fmt: skip
    if assigns:
        inside = frame._replace(state=frame.state.fork())
        assigns(inside, command.number)
        frame = inside
    if redirects.document is not None:
        note_written(words, redirects, frame)
    if name in frame.state.functions:
        frame.call(name, words[1:])
    elif builtin := BUILTINS.get(name):
        builtin(frame, words)
    elif found:
        _start(frame, command, found, redirects)
    elif name in SHELLS:
        _shell(frame, command, redirects)
    elif name == "sbatch":
        _submit(frame, command, redirects)
    elif _names_file(words[0].shown, frame):
        run_file(frame, words[0], words[1:], command)


def _names_file(said: str, frame: Frame) -> bool:
    """Return whether a command is a file that can be a script, not a program on PATH."""
    is_written = said in frame.state.files
    return "/" in said or is_written or said.endswith((".sh", ".bash"))


def _within(frame: Frame, command: Command, **changes: object) -> Frame:
    inside = frame._replace(parent=command.number, depth=frame.depth + 1)
    return inside._replace(**changes)  # type: ignore[arg-type]


def _start(frame: Frame, command: Command, found: Start, redirects: Redirects) -> None:
    scope = found.scope or frame.scope
    is_same = found.scope is None and command.name in _SAME
    state = frame.state.fork() if is_same else frame.state.child(frame.state.arguments)
    if found.scope is None:
        state.functions = frame.state.functions
    inside = _within(frame, command, scope=scope, state=state)
    if command.name == "envcfg":  # who reads what it prints starts the rest
        reader = frame.reader or frame
        inside = inside._replace(
            context=reader.context,
            parent=reader.parent,
            unit=reader.unit,
            substitution=reader.substitution,
            by_envcfg=True,
        )
    for word in found.assigned:
        said = word.shown
        value = split_at(word, said.index("=") + 1)
        inside.assign(
            said.partition("=")[0], value.text, at=word.at, value_at=value.at,
            how="env", exported=True, command=command.number,
        )  # fmt: skip
    if found.rest and found.shell:
        inside.run_text(spaced(found.rest))
        return
    if found.rest:
        start_command(inside, found.rest, redirects)
    if command.name == "exec" and (
        found.rest or (not found.options and len(command.words) > 1)
    ):
        frame.state.ended = True


def _shell(frame: Frame, command: Command, redirects: Redirects) -> None:
    text, arguments, said = redirects.document, command.words[:0], ""
    for number, word in enumerate(command.arguments):
        before, said, rest = said, word.shown, command.arguments[number + 1 :]
        if _TAKES_TEXT.fullmatch(said) and not _TAKES_WORD.fullmatch(said):
            text, arguments = rest[0].text if rest else None, rest[2:]
            break
        if said in ("-s", "-"):
            break
        if said[:1] not in ("-", "+") and not _TAKES_WORD.fullmatch(before):
            run_file(frame, word, rest, command)
            return
    if text is not None:
        state = frame.state.child(arguments)
        _within(frame, command, state=state).run_text(text)


def _submit(frame: Frame, command: Command, redirects: Redirects) -> None:
    """Note a script that another job is made of: it is read by itself."""
    written = [frame.state.files.get(file_key(w.shown)) for w in command.arguments]
    found = (each for each in (redirects.document, *written) if each is not None)
    frame.model.submitted.extend(found)


def run_file(frame: Frame, word: Word, rest: Sequence[Word], command: Command) -> None:
    """Follow a script that a command starts, if it can be read."""
    inside = _within(frame, command, state=frame.state.child(tuple(rest)))
    written = find_written(word, frame)
    if written is not None:
        if kind_of(shown(written)) == "script":
            inside.run_text(written)
        return
    if (source := find_file(frame, word)) is None:
        if word.shown.endswith((".sh", ".bash")) or "/" in word.shown:
            frame.model.opaque.append(Opaque(word.shown, word.at, frame.scope))
        if rest and (rest[0].literal in SHELLS or rest[0].literal in load_programs()):
            start_command(inside, tuple(rest), Redirects())
    elif source.kind == "script" and source.base not in frame.model.read:
        inside.run_source(source)
