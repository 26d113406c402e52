"""``envcfg profiles diff``: what differs between two resolved profiles."""

from __future__ import annotations

import argparse
import sys

from envcfg.commands.profiles.show import add_facts, facts_of
from envcfg.profile.catalog import Catalog


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("old", metavar="A", help="profile, or file of one")
    parser.add_argument("new", metavar="B", help="the same")
    add_facts(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Print what differs."""
    from envcfg.core.profiles import compare
    from envcfg.report.profile.view import diff_json, diff_lines
    from envcfg.report.styled import put

    compared = compare(catalog, options.old, options.new, **facts_of(options))
    if options.json:
        sys.stdout.write(diff_json(*compared))
    else:
        put(diff_lines(*compared))
    return int(bool(compared.found))
