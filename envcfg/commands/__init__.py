"""The commands: their names, their modules, and what is said of each."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

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
_TEXTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "texts.yaml")


def load(name: str) -> Any:  # noqa: ANN401  # of a module, mypy knows nothing
    """Return the module of a command.

    Its ``add_options`` lets a parser read its options. Its ``run`` does it, and returns
    the exit code; it takes the options that were read. In them are ``command``, the words
    behind ``--`` (None where there was none), and ``argv``, the whole command line, which
    the header of a script names. An action takes the catalog, too.
    """
    module = _OTHER_NAMES.get(name, name).replace("-", "_")
    return import_module(f"envcfg.commands.{module}")


@cache
def texts() -> Mapping[str, Any]:
    """Return what ``texts.yaml`` says, which only help, errors and people need."""
    from envcfg.datafile import load_kept

    (found,) = load_kept("commands", [_TEXTS])
    for name, said in found.items():
        if name != "look":
            text = "".join(said["epilog"]).replace("{name}", name)
            said["epilog"] = text.replace("{program}", said.get("program", ""))
            if "description" not in said:
                said["description"] = f"{said['help'][0].upper()}{said['help'][1:]}."
    return dict(found)


def add_command(
    commands: "argparse._SubParsersAction[Parser]",
    name: str,
    add_options: Callable[[Any], None],
    *,
    path: str = "",
    is_listed: bool = True,
) -> None:
    """Let *commands* read the command *name*; its texts stand under *path* and name."""
    key = f"{path}{name}"
    listed = {"help": texts()[key]["help"]} if is_listed else {}
    parser = commands.add_parser(name, texts=lambda: texts()[key], **listed)
    add_options(parser)
