"""The commands: their names, and what each module keeps as its ``COMMAND``."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import argparse

    from envcfg.parser import Parser

# What they are for, as the help lists them. A command's module has its name, with an
# underscore for a dash.
ROLES: Mapping[str, tuple[str, ...]] = {
    "before the job": (
        *("profiles", "inspect", "wrap", "job", "sbatch", "qsub", "submit"),
        *("lint", "config", "completion"),
    ),
    "in the job": ("preflight", "monitor", "hang"),
    "after the job": ("check-log", "environment", "explain"),
}
NAMES = tuple(name for names in ROLES.values() for name in names)
_OTHER_NAMES = dict.fromkeys(("sbatch", "qsub", "submit"), "job")


class Next(NamedTuple):
    """What may come after a command; ``{name}`` is an option's value, or its first one.

    Attributes:
        done: after exit code 0.
        found: after findings, or what is inconclusive; None: as *done*.
    """

    done: str
    found: str | None = None


# Of what makes a job.
LOOK = (
    "when the job has run, envcfg check-log slurm-JOBID.out says which network it used"
)


class Command(NamedTuple):
    """What a module says of its command, or of its action of ``profiles``.

    Attributes:
        help: what the list of commands says of it.
        usage: how it is written.
        epilog: examples, and exit codes.
        add_options: lets a parser read its options.
        run: does it, and returns the exit code. It takes the options that were read; in
            them are ``command``, the words behind ``--`` (None where there was no ``--``),
            and ``argv``, the whole command line, which the header of a script names. An
            action takes the catalog, too.
        next: what one does after it, by the option that changes it; "": else.
        description: above its options; by default as *help*.
        also: its records by its other names.
    """

    help: str
    usage: str
    epilog: str
    add_options: Callable[[Any], None]
    run: Callable[..., int]
    next: Mapping[str, Next] = {}
    description: str | None = None
    also: Mapping[str, Any] = {}

    def add_to(self, commands: "argparse._SubParsersAction[Parser]", name: str) -> None:
        """Let *commands* read it as *name*."""
        what = self.description or f"{self.help[0].upper()}{self.help[1:]}."
        parser = commands.add_parser(
            name, help=self.help, description=what, usage=self.usage, epilog=self.epilog
        )
        self.add_options(parser)


def load(name: str) -> Command:
    """Return the record of a command, or of ``profiles.ACTION``; import its module."""
    module = _OTHER_NAMES.get(name, name).replace("-", "_")
    command: Command = import_module(f"envcfg.commands.{module}").COMMAND
    found: Command = command.also.get(name, command)
    return found
