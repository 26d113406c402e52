"""The launch lines of a script, and the reasons why other commands cannot be moved.

Lint's interpreter shows what a script starts; its text shows where that is written. A
launch line is moved only if both agree: a command of the script itself that begins with
srun, or with a program that enters a container. Other starts of steps are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn

from envcfg.job.plan.launch_line import begins_line, line_directive, starts_tasks
from envcfg.job.plan.shell_text import SHELLS
from envcfg.lint.conversion.conversion_result import refuse
from envcfg.lint.conversion.syntax_nodes import PASSED, ScriptCommand, Text, innermost
from envcfg.lint.program_starts import helpers
from envcfg.lint.resource_facts import is_helper, steps
from envcfg.lint.script_model import Command, Model
from envcfg.lint.script_source import Source, Sources
from envcfg.lint.shell_builtins import BUILTINS
from envcfg.lint.traced_text import Word
from envcfg.lint.value_flow import is_agent

_OF_SHELL = frozenset("cd pushd popd [[ ((".split())
Named = Sequence[int]  # numbers of lines that the user names


class LaunchLine(NamedTuple):
    """A launch line."""

    written: ScriptCommand  # the source text, unchanged
    line: int
    words: tuple[Word, ...]  # its words after expansion
    # Numbers of the words with which the programs of the line begin.
    programs: frozenset[int] = frozenset()
    begin: int = 0  # offset in the sources
    end: int = 0


class _Reader:
    """The commands that one script starts, with their places."""

    def __init__(
        self, source: Source, sources: Sources, model: Model, text: Text, named: Named
    ) -> None:
        self.source, self.sources, self.model, self.text = source, sources, model, text
        self.named = named

    def find(self) -> list[LaunchLine]:
        """Return the launch lines, in order."""
        containers = [command for command in self.model.commands if _enters(command)]
        started = [step for step in steps(self.model) if len(step.words) > 1]
        # Containers come first: a step around them belongs to the same line.
        commands = containers or [e for e in started if not is_helper(e, self.model)]
        if not commands:
            commands = [
                command
                for command in self.model.commands
                if command.scope == "batch" and is_agent(command)
            ]
        if self.named:
            commands = [e for n in self.named for e in self._on_line(n, commands)]
        if not commands:
            refuse("no-line", path=self.source.path)
        lines = (self._launch_line(command) for command in commands)
        # Variants of one place have the same text, which is moved once.
        return sorted(lines, key=lambda line: line.written.start)

    def _on_line(self, number: int, launches: Sequence[Command]) -> list[Command]:
        """Return the launch on a line that the user names: any program, if it is alone.

        Raises:
            UsageError: the line has no program, or several.
        """
        launch = [e for e in launches if self._line(self._top(e)) == number]
        programs = [
            command
            for command in self.model.commands
            if self._line(command) == number
            and command.parent is None
            and not command.substitution
            and command.name not in BUILTINS.keys() | helpers() | _OF_SHELL
        ]
        if len({command.offset for command in programs}) != 1 and not launch:
            names = " and ".join(dict.fromkeys(e.name for e in programs))
            place = f"{self.source.path}:{number}: "
            refuse("named-line", place=place, names=names or "no program")
        return launch or programs

    def _top(self, command: Command) -> Command:
        return (command, *self.model.ancestors(command))[-1]

    def _launch_line(self, target: Command) -> LaunchLine:
        """Return the line of the script that starts *target*.

        Raises:
            UsageError: another text, another file or a program before it starts it, or it
                cannot be moved for another reason.
        """
        chain = [target, *self.model.ancestors(target)]
        root = chain[-1]
        is_named = self._line(root) in self.named
        offset = _offset(root)
        where = self.sources.find(offset)
        if where.base != self.source.base:
            self._fail(root, "elsewhere", name=target.name, path=where.path)
        written = innermost(self.text.commands, offset - self.source.base)
        if written:
            written = self._with_first(written, root, is_named=is_named)
        if written is None or written.first is None:
            reader = (written.words[:1] or (None,))[0] if written else None
            which = "text" if reader else "variable"
            self._fail(root, which, name=target.name, reader=reader)
        self._check_chain(chain, written)
        starts = [word.shown for word in root.words]
        first = next((n for n, word in enumerate(starts) if begins_line(word)), -1)
        if first < 0:  # a program by itself, behind words of the shell
            first = next((n for n, word in enumerate(starts) if word not in PASSED), 0)
        words = tuple(root.words[first:])
        programs = frozenset(
            len(root.words) - len(command.words) - first
            for command in (root, *self._below(root))
            if command.unit == root.unit
        )
        begin, end = (
            self.source.base + offset for offset in (written.start, written.end)
        )
        return LaunchLine(written, self._line(root), words, programs, begin, end)

    def _check_chain(self, chain: Sequence[Command], written: ScriptCommand) -> None:
        """Refuse a launch line that would behave differently in a function of bash.

        *chain* is the started command and those around it, the outermost last.
        """
        root = chain[-1]
        for command in chain[1:]:
            if command.name in SHELLS or command.unit != root.unit:
                self._fail(root, "shell", name=chain[0].name)
        if any(command.name == "envcfg" for command in (*chain, *self._below(root))):
            self._fail(root, "envcfg")
        for command in chain:
            if command.is_step and not begins_line(command.name):
                self._fail(root, "starter", name=command.name)
            sign = line_directive(command.name)
            if sign and f"\n{sign}" not in self.source.chars:
                self._fail(root, "no-directive", name=command.name, sign=sign)
        for word in written.before:
            # A signal to that program would reach more shells than before.
            if word == "exec" if written.is_run else word not in PASSED:
                self._fail(root, "before", word=word or "what is in the variable")
        for name, start, end in self.text.copied:
            if start <= written.start < end:
                self._fail(root, "copied", name=chain[0].name, function=name)
        for name in sorted({command.name for command in chain} & self.text.functions):
            self._fail(root, "own-name", name=name)

    def _below(self, command: Command) -> Iterator[Command]:
        """Yield the commands that a command starts, at any depth."""
        for child in self.model.children(command):
            yield child
            yield from self._below(child)

    def _with_first(
        self, written: ScriptCommand, root: Command, *, is_named: bool
    ) -> ScriptCommand:
        """Return *written* with ``first``: the index of the word that starts the launch.

        ``first`` is set even if that word is a variable, or an agent without srun. It is
        None if another path through the script starts another program there. In a text that
        eval reads, the launch line itself is used if it is written there.
        """
        offset = root.offset - self.source.base
        name = self.source.chars[offset : offset + len(root.words[0].shown)]
        if written.words[:1] == ("eval",) and begins_line(name):
            return written._replace(
                spans=((offset, offset + len(name)),), words=(name,), first=0
            )
        if root.unit and written.start != _offset(root) - self.source.base:
            return written._replace(first=None)
        if written.first is not None and (written.is_run or None not in written.before):
            return written
        commands = [e for e in self.model.commands if e.stands == root.stands >= 0]
        tops = {e.name for e in commands if e.parent is None}
        first = next((n for n, w in enumerate(written.words) if w not in PASSED), 0)
        is_line = is_named or begins_line(root.name)
        is_line |= root.scope == "batch" and is_agent(root)
        return written._replace(first=first if is_line and len(tops) == 1 else None)

    def _line(self, command: Command) -> int:
        offset = _offset(command)
        return self.sources.line_number(offset) if offset >= 0 else 0

    def _fail(self, command: Command, which: str, **words: object) -> NoReturn:
        place = f"{self.source.path}:{self._line(command)}: this cannot be moved: "
        refuse(which, place=place, **words)


def find_lines(
    source: Source,
    sources: Sources,
    models: Sequence[Model],
    text: Text,
    named: Named = (),
) -> list[LaunchLine]:
    """Return the launch lines of a script, in order.

    Args:
        named: the only lines to look at; they may start any program.

    Raises:
        UsageError: there is none, or one that cannot be moved.
    """
    return _Reader(source, sources, models[0], text, named).find()


def _offset(command: Command) -> int:
    """Return the offset of a command: that of its statement, else that of its name."""
    return command.stands if command.stands >= 0 else command.offset


def _enters(command: Command) -> bool:
    """Return whether a command enters a container to start something."""
    if command.kind == "image" or begins_line(command.name):
        return not starts_tasks(command.name) and len(command.words) > 2
    return False
