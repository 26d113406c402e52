"""The model of scripts for rules: flat lists, each entry with its scope and place."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeVar

from envcfg.job.request.admission import GivenOption, Problem
from envcfg.lint.traced_text import Flat, Hole, Scope, Text, Told, Word

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


class Context(NamedTuple):
    """The construct that encloses an entry.

    Attributes:
        conditions: the tests of the enclosing branches, as written.
        function: the function that runs it; empty at the top.
        loop: True if it is run several times.
        piped: True if another command reads its output.
        background: True if the script does not wait for it.
        forgiven: True if a later command hides its exit code (``|| true``).
        tested: True if it is a condition, so that its exit code is used.
        options: the options of the shell, by ``set``.
    """

    conditions: tuple[str, ...] = ()
    function: str = ""
    loop: bool = False
    piped: bool = False
    background: bool = False
    forgiven: bool = False
    tested: bool = False
    # Options change during a script, so each entry keeps those of its own place.
    options: frozenset[str] = frozenset()

    @property
    def is_chosen(self) -> bool:
        """Whether a test decides if the entry runs; it may then be for other jobs only."""
        parts = (
            part for condition in self.conditions for part in _PARTS.split(condition)
        )
        return not all(_NO_TEST.match(part.lstrip("! (")) for part in parts)


class Command(NamedTuple):
    """One command that some shell or launcher starts.

    Attributes:
        name: the last part of its path; empty if unknown.
        words: all words, including the name.
        options_in_order: the options in order, if the program is known to start others.
        offset: offset of its name.
        parent: number in ``Model.commands`` of its starter (srun, singularity), or None.
        variant: 0, or the number of another reading of the same place.
        unit: number of its text: 0 is the file, others are strings within.
        substitution: True if its output is used.
        stands: offset of the statement, if its name may be a variable; -1: within one.
        is_open: True if words are missing, because they are unknown.
        output: the file that it writes, if any.
        document: the text from a here-document or a pipe; None if unknown.
        kind: its kind in ``programs.yaml``, if it has an entry.
        inherits: True if it enters a container that inherits the environment.
        by_envcfg: True if envcfg starts it, with the settings of the system.
    """

    name: str
    words: tuple[Word, ...]
    scope: Scope
    offset: int
    context: Context
    number: int
    # Options stay a list, because rules also need repeated ones and their order.
    options_in_order: Told = ()
    parent: int | None = None
    variant: int = 0
    unit: int = 0
    substitution: bool = False
    is_open: bool = False
    output: Text = ()
    document: Text | None = None
    kind: str = ""
    inherits: bool = False
    stands: int = -1
    by_envcfg: bool = False

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
    """An assignment of a value to a variable.

    Attributes:
        value: None if the variable is unset, or only declared.
        offset, value_at: offsets of name and value.
        exported: True if programs inherit it.
        command: number of the only command with this value, or None.
        appended: True for ``+=``.
        how: ``=``, ``export``, ``env`` (a dump), ``unset``, ``for``, ``read``.
    """

    name: str
    value: Value
    scope: Scope
    offset: int
    value_at: int
    exported: bool
    context: Context
    number: int
    how: str = "="
    command: int | None = None
    appended: bool = False
    unit: int = 0
    bare: bool = False


class Expansion(NamedTuple):
    """An expansion, which begins with ``$``, in the shell that expands it.

    Attributes:
        number: number of the command with this word, if *use* is ``word``.
        is_known: True if the script itself sets the value.
        use: ``word``, ``value`` of an assignment, or ``document``.
    """

    hole: Hole
    context: Context
    number: int
    is_known: bool = False
    use: str = "word"

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.hole.name

    @property
    def offset(self) -> int:
        """Offset of the ``$``."""
        return self.hole.offset


class ShellText(NamedTuple):
    """A text that a shell reads: a script, or the string of a ``-c`` option.

    Attributes:
        shell: its name; empty: unknown, most often bash.
    """

    flat: Flat
    shell: str


class Subshell(NamedTuple):
    """A shell with variables of its own, which are lost at its end.

    Attributes:
        begin, end: numbers of its first assignment, and of the first one after it.
        after: number of the first expansion after it.
        is_piped: True if it is a part of a pipeline.
    """

    begin: int
    end: int
    after: int
    is_piped: bool


Placed = TypeVar("Placed", Command, Expansion)


class Opaque(NamedTuple):
    """A command with an unknown effect: ``source ...``, ``module load ...``, a file."""

    description: str
    offset: int
    scope: Scope


class Model:
    """The effects of one script, with the programs it starts and the files it sources.

    Attributes:
        opaque: commands that cannot be read, and may set any variable.
        functions: names of the defined functions.
        submitted: scripts that it writes and gives to sbatch.
        directives: options of ``#SBATCH`` lines, including those that come too late.
        given: options that its scheduler reads.
        problems: problems of these options.
        is_recognised: True if signs in the script, and not the user, name its system.
        scheduler: scheduler of its directives: slurm, pbs or flux.
        flat: its text, if it has directives.
        texts: all texts that shells read in it.
        subshells: subshells and parts of pipelines.
        unread: reasons why parts were not followed, with the offset of the first part.
    """

    def __init__(self, path: str, scope: Scope) -> None:
        """Begin without commands."""
        self.path = path
        self.scope: Scope = scope
        self.commands: list[Command] = []
        self.assignments: list[Assignment] = []
        self.expansions: list[Expansion] = []
        self.directives: list[GivenOption] = []
        self.given: list[GivenOption] = []
        self.problems: list[Problem] = []
        self.opaque: list[Opaque] = []
        self.functions: set[str] = set()
        self.read: set[int] = set()
        self.submitted: list[Text] = []
        self.texts: list[ShellText] = []
        self.subshells: list[Subshell] = []
        self.unread: dict[str, int] = {}
        self.own = self.size = 0
        self.is_dump = False
        # Slurm is the default, because scripts without directives are mostly its steps.
        self.scheduler = "slurm"
        self.is_recognised = False
        self.flat: Flat | None = None
        self._children: dict[int, list[Command]] = {}
        self._counted = 0
        self._named: tuple[int, set[str]] = 0, set()

    def children(self, command: Command) -> list[Command]:
        """Return the commands that *command* starts."""
        # The index is built again only after new commands: rules ask for it often.
        if self._counted != len(self.commands):
            self._counted = len(self.commands)
            self._children = {}
            for each in self.commands:
                if each.parent is not None:
                    self._children.setdefault(each.parent, []).append(each)
        return self._children.get(command.number, [])

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

    def set_names(self) -> set[str]:
        """Return the variables that are set anywhere."""
        if self._named[0] != len(self.assignments):
            # The assignments only grow, so their number shows whether the set is current.
            names = {assignment.name for assignment in self.assignments}
            self._named = len(self.assignments), names
        return self._named[1]


def by_offset(items: Iterable[Placed]) -> list[Placed]:
    """Return the commands or expansions in the order of their offsets."""
    return sorted(items, key=attrgetter("offset"))


def between(items: Sequence[Placed], begin: int, end: int) -> Sequence[Placed]:
    """Return those of *items*, in the order of their offsets, between two offsets."""
    first = bisect_right(items, begin, key=attrgetter("offset"))
    return items[first : bisect_left(items, end, first, key=attrgetter("offset"))]
