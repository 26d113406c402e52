"""``envcfg explain``: what a rule or a variable means, and who says so."""

from __future__ import annotations

import argparse
import sys

from envcfg.commands import Command, Next
from envcfg.commands.printing import say
from envcfg.errors import UsageError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``explain``."""
    parser.add_argument(
        "names",
        metavar="RULE|VARIABLE|WORDS",
        nargs="*",
        help="id of a rule, as findings name it; a variable; or words to search for",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME|FILE",
        help="what this profile sets a variable to (default: all profiles)",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace) -> int:
    """Print what was asked for."""
    if options.command:
        msg = "envcfg explain takes no command"
        raise UsageError(msg, hint=f"leave out -- {' '.join(options.command)}")
    from envcfg.core.explanation import NOTHING_LIKE_IT, explain, search
    from envcfg.report.background import explained_json, explained_lines, listing
    from envcfg.report.styled import put

    is_listed = not options.names
    try:
        found = explain(
            options.names, profile=options.profile, tell=lambda note: say([note])
        )
    except UsageError as error:
        # One word that is nearly a name is meant as that: the error says which.
        found = search(" ".join(options.names))
        name = options.names[0]
        is_name = error.hint != NOTHING_LIKE_IT or not name.islower()
        if (len(options.names) == 1 and is_name) or not found.found:
            raise
        is_listed = True
    if options.json:
        sys.stdout.write(explained_json(*found))
    elif is_listed:
        put(listing(found.found, found.topics))
    else:
        put(explained_lines(*found))
    return 0


COMMAND = Command(
    help="say what a finding or a variable means, and what to do about it",
    usage="envcfg explain [RULE|VARIABLE|WORDS...] [--profile NAME|FILE] [--json]",
    epilog="""\
examples:
  envcfg explain socket-fallback     what stands behind it, and where to look further
  envcfg explain NCCL_NET_GDR_LEVEL  what it does and takes, and which profiles set it
  envcfg explain EC101               what lint finds, and what it leaves alone
  envcfg explain MIOPEN_USER_DB      what to write instead of a name that nobody reads
  envcfg explain NCCL_NET --profile lumi-g
  envcfg explain TCP sockets         what is about these words
  envcfg explain                     every finding there is, one line each, by topic
  envcfg explain --json              all of them for a program
""",
    add_options=add_options,
    run=run,
    next={
        "names": Next("envcfg wrap --set NAME=VALUE sets a variable of a job"),
        "": Next("envcfg explain RULE says more of one"),
    },
)
