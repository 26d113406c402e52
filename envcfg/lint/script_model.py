"""The model of scripts for rules: flat lists, each entry with its scope and place."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple, TypeVar

from envcfg.job.request.admission import GivenOption, Problem
from envcfg.lint.traced_text import (
    Flat,
    Hole,
    Scope,
    Text,
    Told,
    Word,
    literal,
    shown,
)

OF_FUNCTIONS = frozenset({"local"})
Finder = Callable[[str], "ShellVariable | None"]
Alternatives = tuple["Value", ...]
# Commands without a meaningful exit status: the commands after them are not a branch.
_NO_TEST = re.compile(
    r"(?:(?:while|until|for|cd|pushd|mkdir|true|:|echo|printf|source|\.|module|ml|export|set|sleep|"
    r"date|rm|cp|mv|conda|ulimit|unset|chmod)\b|[:.](?:\s|$)|$)"
)
_PARTS = re.compile(r"[ \t]*(?:&&|[;\n])[ \t]*")


class Array(NamedTuple):
    """The words of an array."""

    items: tuple[Text, ...]


# None: unset, or the value from outside the script.
Value = Text | Array | None


def texts(value: Value) -> tuple[Text, ...]:
    """Return the texts of a value."""
    if value is None:
        return ()
    return value.items if isinstance(value, Array) else (value,)


def text_of(value: Value) -> Text:
    """Return the first text of a value."""
    return next(iter(texts(value)), ())


class ShellVariable(NamedTuple):
    """The possible values of a variable; *values* is never empty."""

    values: Alternatives
    exported: bool = False
    # Number in `Model.assignments` of the assignment; -1: none, or one of several.
    origin: int = -1

    @property
    def is_given(self) -> bool:
        """Whether programs may get a value that is not empty."""
        return self.exported and any(self.values)


class Context(NamedTuple):
    """The construct that encloses an entry."""

    conditions: tuple[str, ...] = ()  # the tests of the enclosing branches, as written
    function: str = ""  # the function that runs it; empty at the top
    loop: bool = False  # True if it is run several times
    piped: bool = False  # True if another command reads its output
    background: bool = False  # True if the script does not wait for it
    forgiven: bool = False  # True if a later command hides its exit code (`|| true`)
    tested: bool = False  # True if it is a condition, so that its exit code is used
    # Options change during a script, so each entry keeps those of its own place.
    options: frozenset[str] = frozenset()  # the options of the shell, by `set`

    @property
    def is_chosen(self) -> bool:
        """Whether a test decides if the entry runs; it may then be for other jobs only."""
        parts = (
            part for condition in self.conditions for part in _PARTS.split(condition)
        )
        return not all(_NO_TEST.match(part.lstrip("! (")) for part in parts)

    @property
    def is_aside(self) -> bool:
        """Whether a test or a signal decides if the entry runs."""
        return self.function == "trap" or self.is_chosen


class Command(NamedTuple):
    """One command that some shell or launcher starts."""

    name: str  # the last part of its path; empty if unknown
    words: tuple[Word, ...]  # all words, including the name
    scope: Scope
    offset: int
    context: Context
    number: int
    # The options in order, if the program is known to start others. Options stay a
    # list, because rules also need repeated ones and their order.
    options_in_order: Told = ()
    # Number in `Model.commands` of its starter (srun, singularity), or None.
    parent: int | None = None
    variant: int = 0  # 0, or the number of another reading of the same place
    unit: int = 0  # number of its text: 0 is the file, others are strings within
    substitution: bool = False  # True if its output is used
    is_open: bool = False  # True if words are missing, because they are unknown
    output: Text = ()  # the file that it writes, if any
    # The text from a here-document or a pipe; None if unknown.
    document: Text | None = None
    kind: str = ""  # its kind in `programs.yaml`, if it has an entry
    # True if it enters a container that inherits the environment.
    inherits: bool = False
    # Offset of the statement, if its name may be a variable; -1: within one.
    stands: int = -1
    by_envcfg: bool = False  # True if envcfg starts it, with the settings of the system
    find: Finder = lambda _: None  # returns a variable that it gets
    gives: Finder = lambda _: None  # returns a variable of the program that it starts

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words after the name."""
        return self.words[1:]

    @property
    def options(self) -> Mapping[str, Word]:
        """The options by name; the last of several equal options counts."""
        return dict(self.options_in_order)

    @property
    def is_step(self) -> bool:
        """Whether it starts tasks, as srun does."""
        return self.kind in ("srun-step", "step")

    @property
    def is_srun(self) -> bool:
        """Whether it starts tasks of Slurm, by Slurm's options."""
        return self.kind == "srun-step"

    @property
    def is_image(self) -> bool:
        """Whether it starts a container from an image, with Apptainer's options."""
        return self.kind == "image"


class Assignment(NamedTuple):
    """An assignment of a value to a variable."""

    name: str
    value: Value  # None if the variable is unset, or only declared
    scope: Scope
    offset: int  # of the name
    value_at: int  # offset of the value
    exported: bool  # True if programs inherit it
    context: Context
    number: int
    how: str = "="  # `=`, `export`, `env` (a dump), `unset`, `for`, `read`
    command: int | None = None  # number of the only command with this value, or None
    appended: bool = False  # True for `+=`
    unit: int = 0
    bare: bool = False

    @property
    def text(self) -> Text:
        """The first text of its value."""
        return text_of(self.value)

    @property
    def literal(self) -> str | None:
        """The value itself; None if a part of it is not known."""
        return literal(self.text)

    @property
    def shown(self) -> str:
        """The value, with unknown parts as in the source."""
        return shown(self.text)

    @property
    def is_seen(self) -> bool:
        """Whether programs may get it, as far as its own statement decides."""
        return self.exported or self.how == "env" or self.command is not None

    @property
    def is_local(self) -> bool:
        """Whether it belongs to one call of a function."""
        return self.how in OF_FUNCTIONS


class Expansion(NamedTuple):
    """An expansion, which begins with ``$``, in the shell that expands it."""

    hole: Hole
    context: Context
    number: int  # number of the command with this word, if *use* is `word`
    is_known: bool = False  # True if the script itself sets the value
    use: str = "word"  # `word`, `value` of an assignment, or `document`

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.hole.name

    @property
    def offset(self) -> int:
        """Offset of the ``$``."""
        return self.hole.offset


class ShellText(NamedTuple):
    """A text that a shell reads: a script, or the string of a ``-c`` option."""

    flat: Flat
    shell: str  # its name; empty: unknown, most often bash


Placed = TypeVar("Placed", Command, Expansion)


class Opaque(NamedTuple):
    """A command with an unknown effect: ``source ...``, ``module load ...``, a file."""

    description: str
    offset: int
    scope: Scope


class Model:
    """The effects of one script, with the programs it starts and the files it sources.

    Its indexes are made when a rule first asks for them: all commands must be there.
    """

    def __init__(self, path: str, scope: Scope) -> None:
        """Begin without commands."""
        self.path = path
        self.scope: Scope = scope
        self.commands: list[Command] = []
        self.assignments: list[Assignment] = []
        self.expansions: list[Expansion] = []
        # Options of `#SBATCH` lines, including those that come too late.
        self.directives: list[GivenOption] = []
        self.given: list[GivenOption] = []  # options that its scheduler reads
        self.problems: list[Problem] = []  # problems of these options
        # Commands that cannot be read, and may set any variable.
        self.opaque: list[Opaque] = []
        self.functions: set[str] = set()  # names of the defined functions
        self.read: set[int] = set()
        self.submitted: list[Text] = []  # scripts that it writes and gives to sbatch
        self.texts: list[ShellText] = []  # all texts that shells read in it
        # Reasons why parts were not followed, with the offset of the first part.
        self.unread: dict[str, int] = {}
        self.own = self.size = 0
        self.is_dump = False
        # Slurm is the default, because scripts without directives are mostly its steps.
        self.scheduler = "slurm"  # scheduler of its directives: slurm, pbs or flux
        # True if signs in the script, and not the user, name its system.
        self.is_recognised = False
        self.flat: Flat | None = None  # its text, if it has directives
        # Rules with a fault that unknown words of a launch line may prevent.
        self.undecided: set[str] = set()

    def without_unknown_words(self) -> Model:
        """Return the model of the script if unknown words of launch lines are empty."""
        unknown = {c.number for c in self.commands if c.is_open and self._is_launch(c)}
        if not unknown:
            return self
        model = copy(self)
        vars(model).pop("_by_parent", None)  # it holds the commands themselves
        model.commands = [
            c._replace(is_open=c.is_open and c.number not in unknown)
            for c in self.commands
        ]
        return model

    def _is_launch(self, command: Command) -> bool:
        return command.is_step or self.step_of(command) is not None

    def children(self, command: Command) -> list[Command]:
        """Return the commands that *command* starts."""
        return self._by_parent.get(command.number, [])

    @cached_property
    def _by_parent(self) -> Mapping[int, list[Command]]:
        children: dict[int, list[Command]] = {}
        for command in self.commands:
            if command.parent is not None:
                children.setdefault(command.parent, []).append(command)
        return children

    def ancestors(self, command: Command) -> list[Command]:
        """Return the commands that start *command*, nearest first."""
        commands = []
        while command.parent is not None:
            command = self.commands[command.parent]
            commands.append(command)
        return commands

    def step_of(self, command: Command) -> Command | None:
        """Return the step in which *command* runs, if it is known to run in one."""
        return next(
            (ancestor for ancestor in self.ancestors(command) if ancestor.is_step), None
        )

    @cached_property
    def set_names(self) -> frozenset[str]:
        """The variables that are set anywhere."""
        return frozenset(assignment.name for assignment in self.assignments)


def by_offset(items: Iterable[Placed]) -> list[Placed]:
    """Return the commands or expansions in the order of their offsets."""
    return sorted(items, key=attrgetter("offset"))


def between(items: Sequence[Placed], begin: int, end: int) -> Sequence[Placed]:
    """Return those of *items*, in the order of their offsets, between two offsets."""
    first = bisect_right(items, begin, key=attrgetter("offset"))
    return items[first : bisect_left(items, end, first, key=attrgetter("offset"))]
