"""``envcfg profiles``: the profiles there are; one module for each action."""

from __future__ import annotations

import argparse
import sys

from envcfg.commands import add_command, load
from envcfg.commands.printing import say
from envcfg.core.selection import open_catalog, untrusted
from envcfg.errors import UsageError
from envcfg.parser import Parser

# In the order of the help. An action's module has its name.
ACTIONS = ("list", "show", "validate", "diff", "new", "detect", "trust")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``profiles``, each with its options."""
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", prog="envcfg profiles", parser_class=Parser
    )
    for name in ACTIONS:
        add_command(actions, name, path="profiles.")


def run(options: argparse.Namespace) -> int:
    """Run the action."""
    if options.action is None:
        msg = "no action given"
        raise UsageError(msg, hint=f"envcfg profiles {'|'.join(ACTIONS)}")
    if options.command:
        msg = f"envcfg profiles {options.action} runs no command"
        raise UsageError(msg, hint=f"leave out -- {options.command[0]}")
    # What new writes counts; the others only look.
    catalog = open_catalog(enforce=options.action == "new")
    code: int = load(f"profiles.{options.action}").run(options, catalog)
    sys.stdout.flush()
    say(untrusted(catalog))
    return code
