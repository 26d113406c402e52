"""``envcfg profiles diff``: what differs between two resolved profiles."""

from __future__ import annotations

import argparse
import sys

from envcfg.commands import Command, Next
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


COMMAND = Command(
    help="what differs between two profiles",
    usage="envcfg profiles diff A B [--fact NAME=VALUE]... [options]",
    epilog="""\
examples:
  envcfg profiles diff lumi-g frontier
  envcfg profiles diff lumi-g frontier --fact rocm=6.2.4 --fact nodes=2
  envcfg profiles diff lumi-g ./my-lumi.yaml --json

Values count, not their reasons; a case that the facts rule out does not count.

exit codes: 0 the same, 1 different
""",
    add_options=add_options,
    run=run,
    next={"": Next("envcfg profiles show NAME says why a value is so")},
    description="Say what differs between two profiles, families and layers included.",
)
