"""The commands: their names, modules and texts."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from envcfg.commands.arguments.parser import Parser

# Commands by purpose, in the order of the help. The module of a command has its
# name, with underscores for dashes.
ROLES: Mapping[str, tuple[str, ...]] = {
    "before the job": (
        *("profiles", "inspect", "wrap", "job", "submit"),
        *("lint", "doctor", "completion"),
    ),
    "in the job": ("preflight", "monitor", "hang"),
    "after the job": ("check-log", "jobs", "environment", "explain"),
}
ALIASES = {"sbatch": "job", "qsub": "job"}
NAMES = (*(name for names in ROLES.values() for name in names), *ALIASES)
# Commands with other words after a "--".
_WITH_WORDS = frozenset({"wrap", "job", "submit", "check-log", "completion", *ALIASES})
_MODULES = {"submit": "job", **ALIASES}


def load(name: str) -> Any:  # noqa: ANN401  # a module, which mypy cannot check
    """Return the module of a command.

    Its ``add_options`` adds its options to a parser. Its ``run`` takes the parsed
    options, runs it, and returns the exit code. The options contain ``command``, the
    words after ``--`` (None without it), and ``argv``, the whole command line for the
    header of a script. An action also takes the catalog.
    """
    module = _MODULES.get(name, name).replace("-", "_")
    return import_module(f"envcfg.commands.{module}")


def run(options: "argparse.Namespace") -> int:
    """Run the command that *options* name; return its exit code.

    Raises:
        UsageError: it takes no words after a ``--``; also the command's own errors.
    """
    name, words = options.command_name, options.command
    if words is not None and name not in _WITH_WORDS:
        import shlex

        from envcfg.common.errors import UsageError

        msg = f"envcfg {name} takes no command"
        raise UsageError(msg, hint=f"leave out {shlex.join(['--', *words])}")
    code: int = load(name).run(options)
    return code


@cache
def texts() -> Mapping[str, Any]:
    """Return ``texts.yaml``, which is needed only for help, errors and terminals."""
    from envcfg.common.datafile import load_kept_file

    entries = load_kept_file("commands/texts.yaml")
    for name, entry in entries.items():
        if name != "look" and "description" not in entry:
            entry["description"] = f"{entry['help'][0].upper()}{entry['help'][1:]}."
    return dict(entries)


def add_command(
    commands: "argparse._SubParsersAction[Parser]",
    name: str,
    add_options: Callable[[Any], None],
    *,
    path: str = "",
    is_listed: bool = True,
) -> None:
    """Add the command *name* to *commands*; its texts are under *path* and name."""
    key = f"{path}{ALIASES.get(name, name)}"
    listed = {"help": texts()[key]["help"]} if is_listed else {}
    parser = commands.add_parser(name, texts=lambda: texts()[key], **listed)
    add_options(parser)
