"""``envcfg explain``: the meaning of a rule or variable, with its source."""

import argparse
import sys

from envcfg.commands.formats import add_own
from envcfg.commands.option_arguments import add_defaults, use_defaults
from envcfg.commands.printing import say, tell
from envcfg.common.characters import one_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``explain``."""
    add_own(parser, "explain")
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
    except UnknownNameError:
        explanation, match = group(words), "words"
        # A name with a misprint is no text to search for.
        is_text = " " in words or words.isalpha() or words.isdigit()
        if not explanation.entries and is_text:
            explanation, match = search(words)
        if not explanation.entries:
            raise
        if match == "none":
            tell(f"no text has all words of {one_line(words)!r}; these are the nearest")
        is_listed = match != "line"
    if options.json:
        sys.stdout.write(explanation_report.explained_json(*explanation))
    elif is_listed:
        put(explanation_report.listing(explanation.entries, explanation.topics))
    elif not options.names:
        put(explanation_report.index(explanation.entries, explanation.topics))
    else:
        put(explanation_report.explained_lines(*explanation))
    return 0
