"""What the scripts do, as rules ask for it: flat lists, each entry with scope and place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from envcfg.lint.text import Flat, Hole, Scope, Text, Word
from envcfg.request.admission import Given, Problem

Alternatives = tuple["Value", ...]


class Array(NamedTuple):
    """The words of an array."""

    items: tuple[Text, ...]


# None: as it is outside of the script, or unset.
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
    """In the middle of what something stands.

    Attributes:
        conditions: the tests of the branches around it, as they were written.
        function: the function that runs it; empty at the top.
        loop: it is run several times.
        piped: the name of the command that reads it; *background*: nobody waits for it.
        forgiven: what it exits with does not count, by what follows (``|| true``).
        negated: it is a condition itself, so that its exit code is used.
        options: the options of the shell, by ``set``.
    """

    conditions: tuple[str, ...] = ()
    function: str = ""
    loop: bool = False
    piped: bool = False
    background: bool = False
    forgiven: bool = False
    tested: bool = False
    options: frozenset[str] = frozenset()


class Command(NamedTuple):
    """One command that some shell or launcher starts.

    Attributes:
        name: the last part of its path; empty where it is not known.
        words: all of it, the name included.
        options: of a program that is known to start others, what it is told.
        at: offset of its name.
        parent: number in ``Model.commands`` of what starts it (srun, singularity), or None.
        variant: of one place: 0, or the number of another way that it can be run.
        unit: number of the text in which it stands: 0 the file, else a string within.
        substitution: its output is taken.
        stands: offset of the statement, where its name may be a variable; -1: within one.
        is_open: words are missing, as they are not known.
        output: the file that it writes, if any.
        kind: of ``programs.yaml``, if it is there.
        by_envcfg: envcfg starts it, and sets what the system needs.
    """

    name: str
    words: tuple[Word, ...]
    scope: Scope
    at: int
    context: Context
    number: int
    options: Mapping[str, Word] = {}
    parent: int | None = None
    variant: int = 0
    unit: int = 0
    substitution: bool = False
    is_open: bool = False
    output: Text = ()
    kind: str = ""
    stands: int = -1
    by_envcfg: bool = False

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words behind the name."""
        return self.words[1:]

    @property
    def is_step(self) -> bool:
        """Whether it starts tasks, as srun does."""
        return self.kind == "step"

    @property
    def is_image(self) -> bool:
        """Whether it starts a container from an image, with Apptainer's options."""
        return self.kind == "image"


class Assignment(NamedTuple):
    """A variable gets a value.

    Attributes:
        value: None where it is unset, or only declared.
        at, value_at: offsets of name and value.
        exported: programs that are started see it.
        command: number of the command for which alone it holds, or None.
        appended: by ``+=``.
        how: ``=``, ``export``, ``env`` (a dump), ``unset``, ``for``, ``read``.
    """

    name: str
    value: Value
    scope: Scope
    at: int
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
    """A ``$`` at its last shell.

    Attributes:
        number: of the command whose words it is in, where *use* is ``word``.
        is_known: the script itself says what it is.
        use: ``word``, ``value`` of an assignment, or ``document``.
    """

    hole: Hole
    context: Context
    number: int
    is_known: bool = False
    use: str = "word"

    @property
    def name(self) -> str:
        """The variable."""
        return self.hole.name

    @property
    def at(self) -> int:
        """Offset of the ``$``."""
        return self.hole.at


class Opaque(NamedTuple):
    """What was run and cannot be read: ``source ...``, ``module load ...``, a file."""

    what: str
    at: int
    scope: Scope


class Model:
    """What one script does, with all that it starts and sources.

    Attributes:
        opaque: what was run that cannot be read, and may set anything.
        functions: names of the functions that are defined.
        submitted: scripts that it writes itself and gives to sbatch.
        directives: options of ``#SBATCH`` lines, with those that come too late.
        given: the options that its scheduler reads; *problems*: what it makes of them.
        is_recognised: nobody named its system, which is known by signs alone.
        scheduler: by whose directives it asks for nodes: slurm, pbs or flux.
        flat: its text, if it asks for nodes; *options*: of its shell, by the first line.
        unread: why a part of it was not followed, and where the first such part begins.
    """

    def __init__(self, path: str, scope: Scope) -> None:
        """Begin with nothing."""
        self.path = path
        self.scope: Scope = scope
        self.commands: list[Command] = []
        self.assignments: list[Assignment] = []
        self.expansions: list[Expansion] = []
        self.directives: list[Given] = []
        self.given: list[Given] = []
        self.problems: list[Problem] = []
        self.opaque: list[Opaque] = []
        self.functions: set[str] = set()
        self.read: set[int] = set()
        self.submitted: list[Text] = []
        self.unread: dict[str, int] = {}
        self.own = self.size = 0
        self.is_dump = False
        self.scheduler = "slurm"
        self.is_recognised = False
        self.flat: Flat | None = None
        self.options: frozenset[str] = frozenset()
        self._children: dict[int, list[Command]] = {}
        self._counted = 0
        self._named: tuple[int, set[str]] = 0, set()

    def children(self, command: Command) -> list[Command]:
        """Return what *command* starts."""
        if self._counted != len(self.commands):
            self._counted = len(self.commands)
            self._children = {}
            for each in self.commands:
                if each.parent is not None:
                    self._children.setdefault(each.parent, []).append(each)
        return self._children.get(command.number, [])

    def ancestors(self, command: Command) -> list[Command]:
        """Return what starts *command*, the nearest first."""
        found = []
        while command.parent is not None:
            command = self.commands[command.parent]
            found.append(command)
        return found

    def step_of(self, command: Command) -> Command | None:
        """Return the step in which *command* runs, if it is known to run in one."""
        return next((each for each in self.ancestors(command) if each.is_step), None)

    def set_names(self) -> set[str]:
        """Return the variables that are set anywhere."""
        if self._named[0] != len(self.assignments):
            names = {each.name for each in self.assignments}
            self._named = len(self.assignments), names
        return self._named[1]
