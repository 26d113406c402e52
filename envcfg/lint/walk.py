"""Ways through the statements of a script: shells, conditions and traps on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.lint.grammar import chars_of, parse, word_spans
from envcfg.lint.text import Flat, Text, plain
from envcfg.lint.way import BUILTINS, FAILS, Way, behind

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_WAYS = 48
_DEEPEST = 8  # texts and functions within each other
# What asks how the command before it ended, or may; a function may, too.
_ASKS = re.compile(r"\?|\b(?:exit|return|eval)\b")
_NAME = re.compile(r"[\w.:+-]+")
_SURE = ("echo", "printf", "true", ":")  # of them no condition is doubtful
Ways = list[Way]
Handler = Callable[["Frame", "Node", Way], Ways]


class UnclearError(Exception):
    """The script cannot be followed."""


class Program(NamedTuple):
    """What a command starts.

    Attributes:
        fails: it is what the job is for.
        text: what ``eval`` runs.
    """

    name: str
    fails: bool = False
    text: Text = ()


class Frame(NamedTuple):
    """Where statements are followed; each method returns the ways behind one.

    Attributes:
        names: of variables that are read somewhere.
        tested: the exit status is asked for, so that no failure ends the shell.
    """

    flat: Flat
    programs: Mapping[int, Program]
    succeed: Collection[str]
    handlers: Mapping[str, Handler]
    functions: dict[str, tuple[Node, Flat]]
    reached: set[int]
    names: Collection[str]
    tested: bool = False
    depth: int = 0

    def text(self, flat: Flat, way: Way) -> Ways:
        """Follow a text that this shell reads."""
        inside = self._replace(flat=flat, depth=self.depth + 1)
        return inside.sequence(parse(flat.chars).children, [way])

    def trapped(self, way: Way) -> Ways:
        """Follow the trap of the end, in which only ``exit`` changes the status."""
        if not way.on_exit:
            return [way]
        begin = way._replace(leaves="", on_exit="", options=frozenset())
        ways = self.text(Flat(plain(way.on_exit)), begin)
        return [each if each.leaves == "exit" else way for each in ways]

    def sequence(self, nodes: Sequence[Node], ways: Ways) -> Ways:
        """Follow statements in their order, on each way that nothing has ended."""
        for number, node in enumerate(nodes):
            if not node.is_named or node.type == "comment":
                continue
            is_left = [*nodes[number + 1 : number + 2]]
            run = self.background if is_left and is_left[0].type == "&" else self.run
            after: Ways = []
            if len(ways) > 1 and not self.asks(node):
                ways = [*dict.fromkeys(map(Way.forgets, ways))]
            for way in ways:
                after += [way] if way.leaves else run(node, way)
            ways = [*dict.fromkeys(after)] if len(after) > 1 else after
            if len(ways) > _MOST_WAYS:
                raise UnclearError
        return ways

    def asks(self, node: Node) -> bool:
        """Return whether *node* may ask for the status of what stands before it."""
        said = chars_of(self.flat, node)
        names = self.functions.keys()
        return bool(_ASKS.search(said)) or not names.isdisjoint(_NAME.findall(said))

    def is_read(self, assignment: str) -> bool:
        """Return whether somebody reads what is set here."""
        return re.split(r"\W", assignment, maxsplit=1)[0] in self.names

    def run(self, node: Node, way: Way) -> Ways:
        """Follow one statement."""
        handler = self.handlers.get(node.type)
        if handler is None or self.depth > _DEEPEST:
            raise UnclearError
        return handler(self, node, way)

    def background(self, node: Node, way: Way) -> Ways:
        """Follow what nobody waits for yet: ``$!`` will end with its status."""
        found = []
        inside = way._replace(failed=-1, running=frozenset())
        for end in self._replace(tested=True).subshell([node], inside):
            later = way.ends(0, "&").sets("!", end.status)
            if end.failed >= 0:
                running = way.running | {end.failed}
                later = later._replace(failed=end.failed, running=running)
            found.append(later)
        return found

    def subshell(self, nodes: Sequence[Node], way: Way) -> Ways:
        """Follow a shell of its own, which changes nothing of this one."""
        inside = way._replace(on_exit="", on_error="")
        return [
            way.ends(end.status, end.by)._replace(
                failed=end.failed, running=end.running
            )
            for each in self.sequence(nodes, [inside])
            for end in self.trapped(each)
        ]

    def judged(self, ways: Ways) -> Ways:
        """Return the ways behind a command that ends the shell by failing, if that does."""
        found: Ways = []
        for each in ways:
            way = each
            if way.status is None and not way.by:  # a test, which may fail
                found.append(way)
                way = way.ends(1)
                if not way.on_error and "errexit" not in way.options:
                    continue
            if self.tested or not way.status or way.leaves:
                found.append(way)
                continue
            behind = [way]
            if way.on_error:
                trap = Flat(plain(way.on_error))
                ran = self.text(trap, way._replace(on_error=""))
                behind = [end if end.leaves else way for end in ran]
            if "errexit" in way.options:
                behind = [end._replace(leaves="exit") for end in behind]
            found += behind
        return found

    def choose(self, nodes: Sequence[Node], way: Way) -> tuple[Ways, Ways, Ways]:
        """Return on which ways a condition holds, on which not, and which end in it."""
        ways = self._replace(tested=True).sequence(nodes, [way])
        stay = [each for each in ways if not each.leaves]
        true = [each._replace(status=0) for each in stay if not each.status]
        false = [
            each._replace(status=each.status or 1) for each in stay if each.status != 0
        ]
        return true, false, [each for each in ways if each.leaves]

    def command(self, node: Node, way: Way) -> Ways:
        """Follow a command.

        What stands before its name goes first, as it may change who answers: "exec" leaves
        nobody to test the status. Then names as bash looks them up: functions, "eval",
        builtins. A program of ours fails, as that is the question; of any other the status
        is unknown, unless it is one of the few that nearly never fail.
        """
        assigned = [c for c in node.children if c.type == "variable_assignment"]
        frame, flat = self, self.flat
        rest = [c for c in node.children if c not in assigned]
        spans = [*word_spans(rest, flat.chars)]
        if not spans:
            raise UnclearError
        if assigned and "\n" in flat.chars[assigned[-1].end_byte : spans[0][0]]:
            # The grammar takes several for the beginning of the next line.
            way = frame.sequence(assigned, [way])[0]
        said = [flat.chars[begin:end] for begin, end in spans]
        at = flat.origin(spans[0][0])
        program = frame.programs.get(at)
        is_step = program is not None and program.fails
        while len(said) > 1 and (
            said[0] in ("time", "command", "builtin", "exec")
            or (is_step and said[0] in frame.functions)  # envcfg's own
        ):
            name, *said = said
            if name.startswith("exec"):
                frame = frame._replace(tested=False)
                way = way._replace(options=way.options | {"errexit"})
        name = said[0].strip("\"'")
        if name in frame.functions:
            return frame.call(name, way)
        program = program or Program(name)
        if name == "eval" and not program.fails:
            return frame.text(Flat(program.text), way)
        if name in BUILTINS:
            ended = behind(name, said[1:], way)
        elif program.fails:
            frame.reached.add(at)
            ended = way.ends(FAILS)._replace(failed=at, running=frozenset())
        elif program.name not in frame.succeed:
            # It may be what others run beside.
            ended = way.ends(None, program.name)._replace(running=frozenset())
        else:
            is_sure = not frame.tested or program.name in _SURE
            ended = way.ends(0 if is_sure else None, program.name)
        return frame.judged([ended._replace(at=at)])

    def call(self, name: str, way: Way) -> Ways:
        """Follow a function."""
        body, flat = self.functions[name]
        inside = way if "errtrace" in way.options else way._replace(on_error="")
        ways = self._replace(flat=flat, depth=self.depth + 1).run(body, inside)
        return self.judged(
            [
                each._replace(
                    on_error=each.on_error or way.on_error,
                    leaves="" if each.leaves == "return" else each.leaves,
                )
                for each in ways
            ]
        )
