"""Which commands of a script are its launch lines, and why others cannot be moved.

What a script starts is known by following it, as lint does; where it is written, by its
text. A launch line is moved only where both are one: a command of the script itself that
begins with srun, or with what enters a container. All else that starts a step is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from envcfg.conversion.model import refuse
from envcfg.conversion.nodes import PASSED, Text, Written, innermost
from envcfg.launch.line import begins_line, line_directive, starts_tasks
from envcfg.lint.facts import is_helper
from envcfg.lint.model import Command, Model
from envcfg.lint.program import SHELLS, find_agent, load_programs
from envcfg.lint.source import Source, Sources
from envcfg.lint.text import Word

_ONE_NODE = frozenset({"nodelist", "relative"})


class LaunchLine(NamedTuple):
    """A launch line.

    Attributes:
        written: as it stands.
        line: its number in the script.
        words: what following the script has made of it.
    """

    written: Written
    line: int
    words: tuple[Word, ...]


class _Reader:
    """What one script starts, and where."""

    def __init__(
        self, source: Source, sources: Sources, model: Model, text: Text
    ) -> None:
        self.source, self.sources, self.model, self.text = source, sources, model, text

    def find(self) -> list[LaunchLine]:
        """Return the launch lines, in order."""
        containers = [each for each in self.model.commands if _enters(each)]
        steps = [
            each
            for each in self.model.commands
            if _starts(each) and each.scope != "container" and len(each.words) > 1
        ]
        chosen = containers or [e for e in steps if not is_helper(e, self.model)]
        if not chosen:
            chosen = [each for each in self.model.commands if _is_agent(each)]
        if not chosen:
            refuse("no-line", path=self.source.path)
        found: dict[int, LaunchLine] = {}
        for each in chosen:
            line = self._launch_line(each)
            found[line.written.start] = line
        return [found[start] for start in sorted(found)]

    def _launch_line(self, wanted: Command) -> LaunchLine:
        """Return the line of the script that starts *wanted*.

        Raises:
            UsageError: it is started by a text, by another file, by a program before it, or
                in a way that cannot be moved.
        """
        chain = [wanted, *self.model.ancestors(wanted)]
        root = chain[-1]
        at = _offset(root)
        where = self.sources.find(at)
        if where.base != self.source.base:
            self._fail(root, "elsewhere", name=wanted.name, path=where.path)
        written = innermost(self.text.commands, at - self.source.base)
        if written:
            written = self._with_first(written, root)
        if written is None or written.first is None:
            reader = (written.words[:1] or (None,))[0] if written else None
            which = "text" if reader else "variable"
            self._fail(root, which, name=wanted.name, reader=reader)
        for each in chain[1:]:
            if each.name in SHELLS or each.unit != root.unit:
                self._fail(root, "shell", name=wanted.name)
        for each in chain:
            if each.is_step and not begins_line(each.name):
                self._fail(root, "starter", name=each.name)
            sign = line_directive(each.name)
            if sign and f"\n{sign}" not in self.source.chars:
                self._fail(root, "no-directive", name=each.name, sign=sign)
        for word in written.before:
            # A signal to that program would come to more shells than before.
            if word == "exec" if written.is_run else word not in PASSED:
                self._fail(root, "before", word=word or "what is in the variable")
        for name in sorted({each.name for each in chain} & self.text.functions):
            self._fail(root, "own-name", name=name)
        told = {name for each in chain for name in each.options}
        if root.context.loop and told & _ONE_NODE:
            self._fail(root, "each-node")
        first = next(
            (n for n, word in enumerate(root.words) if begins_line(word.shown)), 0
        )
        words = tuple(root.words[first:])
        return LaunchLine(written, self._line(root), words)

    def _with_first(self, written: Written, root: Command) -> Written:
        """Return a command with the number of the word by which its launch line begins.

        Following the script tells it where that is a variable, or an agent without srun,
        but not where another way through the script has another program there. Of a text
        that eval reads it is the launch line itself, where it is written there.
        """
        at = root.at - self.source.base
        name = self.source.chars[at : at + len(root.words[0].shown)]
        if written.words[:1] == ("eval",) and begins_line(name):
            return written._replace(
                spans=((at, at + len(name)),), words=(name,), first=0
            )
        if root.unit and written.start != _offset(root) - self.source.base:
            return written._replace(first=None)
        if written.first is not None and (written.is_run or None not in written.before):
            return written
        there = [e for e in self.model.commands if e.stands == root.stands >= 0]
        tops = {e.name for e in there if e.parent is None}
        first = next((n for n, w in enumerate(written.words) if w not in PASSED), 0)
        is_line = begins_line(root.name) or _is_agent(root)
        return written._replace(first=first if is_line and len(tops) == 1 else None)

    def _line(self, command: Command) -> int:
        at = _offset(command)
        return self.sources.line_number(at) if at >= 0 else 0

    def _fail(self, command: Command, which: str, **words: object) -> NoReturn:
        place = f"{self.source.path}:{self._line(command)}: this cannot be moved: "
        refuse(which, place=place, **words)


def find_lines(
    source: Source, sources: Sources, models: Sequence[Model], text: Text
) -> list[LaunchLine]:
    """Return the launch lines of a script, in order.

    Raises:
        UsageError: there is none, or one that cannot be moved.
    """
    return _Reader(source, sources, models[0], text).find()


def _is_agent(command: Command) -> bool:
    words = [word.shown for word in command.arguments]
    return command.scope == "batch" and find_agent(command.name, words) is not None


def _offset(command: Command) -> int:
    """Return where a command stands: its statement, or its name within one."""
    return command.stands if command.stands >= 0 else command.at


def _starts(command: Command) -> bool:
    """Tell whether a command starts tasks."""
    if command.is_step or not starts_tasks(command.name):
        return command.is_step
    verbs = load_programs()[command.name].verbs
    return not verbs or any(each.literal in verbs for each in command.words[1:])


def _enters(command: Command) -> bool:
    """Tell whether a command enters a container to start something."""
    if command.kind == "image" or begins_line(command.name):
        return not starts_tasks(command.name) and len(command.words) > 2
    return False
