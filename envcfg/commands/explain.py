"""``envcfg explain``: the meaning of a rule or variable, with its source."""

import argparse
import sys

from envcfg.commands.option_arguments import add_defaults, use_defaults
from envcfg.commands.printing import say


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
    """Print the explanation."""
    use_defaults(options)
    from envcfg.core.explanation import UnknownNameError, explain, group, search
    from envcfg.report import explanation_report
    from envcfg.report.styled import put

    is_listed, words = False, " ".join(options.names)
    try:
        explanation = explain(
            options.names, profile=options.profile, tell=lambda note: say([note])
        )
    except UnknownNameError as error:
        # A single word similar to a name is probably that name, so the error
        # suggests it.
        is_name = len(options.names) == 1 and (error.is_near or not words.islower())
        explanation = group(words)
        if not explanation.entries and not is_name:
            explanation = search(words)
        if not explanation.entries:
            raise
        is_listed = True
    if options.json:
        sys.stdout.write(explanation_report.explained_json(*explanation))
    elif is_listed:
        put(explanation_report.listing(explanation.entries, explanation.topics))
    elif not options.names:
        put(explanation_report.index(explanation.entries, explanation.topics))
    else:
        put(explanation_report.explained_lines(*explanation))
    return 0
