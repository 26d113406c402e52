"""``envcfg profiles``: the profiles there are; one module for each action."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from envcfg.commands.printing import say
from envcfg.core.selection import open_catalog, untrusted
from envcfg.errors import UsageError
from envcfg.parser import Parser

# What each action does; its module is imported when it is chosen.
ACTIONS = {
    "list": "all profiles, with their state and where they come from",
    "show": "one profile, resolved: every value, why, and when it applies",
    "validate": "everything that is wrong in profile files",
    "diff": "what differs between two profiles",
    "new": "a commented starter for a system of your own, by what this machine says",
    "detect": "which profile fits this machine, and why",
    "trust": "let a profile count that others may write, as it is now",
}
_EPILOG = """\
examples:
  envcfg profiles list
  envcfg profiles show lumi-g --fact rocm=6.2.4
  envcfg profiles diff builtin:lumi-g lumi-g    # what my own layers change
  envcfg profiles validate .envcfg/profiles/*.yaml
  envcfg profiles diff lumi-g frontier
  envcfg profiles new my-cluster --extends infiniband-cuda
  envcfg profiles detect
  envcfg profiles trust .envcfg/profiles/
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the actions of ``profiles``, each with its options."""
    parser = commands.add_parser(
        "profiles",
        help="list, show, check, compare and start profiles",
        description="List, show, check, compare and start profiles.",
        usage="envcfg profiles ACTION [options]",
        epilog=_EPILOG,
    )
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", prog="envcfg profiles", parser_class=Parser
    )
    for name, what in ACTIONS.items():
        module = _module(name)
        added = actions.add_parser(
            name,
            help=what,
            description=module.DESCRIPTION,
            usage=f"envcfg profiles {name} {module.USAGE}",
            epilog=module.EPILOG,
        )
        module.add_options(added)


def run(
    options: argparse.Namespace, more: Sequence[str] | None, _: Sequence[str]
) -> int:
    """Run the action."""
    if options.action is None:
        msg = "no action given"
        raise UsageError(msg, hint=f"envcfg profiles {'|'.join(ACTIONS)}")
    if more:
        msg = f"envcfg profiles {options.action} runs no command"
        raise UsageError(msg, hint=f"leave out -- {more[0]}")
    # What new writes counts; the others only look.
    catalog = open_catalog(enforce=options.action == "new")
    code: int = _module(options.action).run(options, catalog)
    sys.stdout.flush()
    say(untrusted(catalog))
    return code


def _module(action: str) -> Any:  # noqa: ANN401  # a module of this package
    return import_module(f"envcfg.commands.profiles.{action}")
