"""``envcfg profiles``: the profiles there are; one module for each action."""

from __future__ import annotations

import argparse
import sys

from envcfg.commands import Command, load
from envcfg.commands.printing import say
from envcfg.core.selection import open_catalog, untrusted
from envcfg.errors import UsageError
from envcfg.parser import Parser

# In the order of the help. An action's module has its name.
ACTIONS = (
    "list",
    "show",
    "validate",
    "diff",
    "new",
    "detect",
    "trust",
    "probe",
    "confirm",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``profiles``, each with its options."""
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", prog="envcfg profiles", parser_class=Parser
    )
    for name in ACTIONS:
        load(f"profiles.{name}").add_to(actions, name)


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
    code = load(f"profiles.{options.action}").run(options, catalog)
    sys.stdout.flush()
    say(untrusted(catalog))
    return code


COMMAND = Command(
    help="list, show, check, compare and start profiles",
    usage="envcfg profiles ACTION [options]",
    epilog="""\
examples:
  envcfg profiles list
  envcfg profiles show lumi-g --fact rocm=6.2.4
  envcfg profiles diff builtin:lumi-g lumi-g    # what my own layers change
  envcfg profiles validate .envcfg/profiles/*.yaml
  envcfg profiles diff lumi-g frontier
  envcfg profiles new my-cluster --extends infiniband-cuda
  envcfg profiles detect
  envcfg profiles trust .envcfg/profiles/
  envcfg profiles probe --profile lumi-g --account project_465000001
""",
    add_options=add_options,
    run=run,
)
