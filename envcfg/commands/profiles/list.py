"""``envcfg profiles list``: all profiles, with their state and where they come from."""

from __future__ import annotations

import argparse
import sys

from envcfg.errors import ProfileError
from envcfg.profile.catalog import Catalog
from envcfg.profile.look.survey import survey


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Print the profiles that can be used, and what is wrong with the others."""
    from shutil import get_terminal_size

    from envcfg.report.profile.list import list_json, list_lines
    from envcfg.report.styled import put

    summaries, problems = survey(catalog)
    if options.json:
        sys.stdout.write(list_json(summaries, problems))
    else:
        width = get_terminal_size().columns if sys.stdout.isatty() else None
        put(list_lines(summaries, width))
    if not problems:
        return 0
    sys.stdout.flush()
    sys.stderr.write("\n".join(ProfileError(problems).lines()) + "\n")
    return 1
