"""``envcfg explain``: what a rule or a variable means, and who says so."""

from __future__ import annotations

import argparse
import sys

from envcfg.commands.options import add_defaults, use_defaults
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
    add_defaults(parser, "profile")


def run(options: argparse.Namespace) -> int:
    """Print what was asked for."""
    if options.command:
        msg = "envcfg explain takes no command"
        raise UsageError(msg, hint=f"leave out -- {' '.join(options.command)}")
    use_defaults(options)
    from envcfg.core.explanation import NOTHING_LIKE_IT, explain, group, search
    from envcfg.report import background
    from envcfg.report.styled import put

    is_listed, words = False, " ".join(options.names)
    try:
        found = explain(
            options.names, profile=options.profile, tell=lambda note: say([note])
        )
    except UsageError as error:
        # One word that is nearly a name is meant as that: the error says which.
        name = options.names[0]
        is_name = error.hint != NOTHING_LIKE_IT or not name.islower()
        is_name = is_name and len(options.names) == 1
        found = group(words)
        if not found.found and not is_name:
            found = search(words)
        if not found.found:
            raise
        is_listed = True
    if options.json:
        sys.stdout.write(background.explained_json(*found))
    elif is_listed:
        put(background.listing(found.found, found.topics))
    elif not options.names:
        put(background.index(found.found, found.topics))
    else:
        put(background.explained_lines(*found))
    return 0
