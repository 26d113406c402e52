"""``envcfg profiles show``: one profile, resolved, with the reason of every value."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from envcfg.core.values import read_pair
from envcfg.launchers import LAUNCHERS
from envcfg.profile.catalog import Catalog


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("name", metavar="NAME|FILE", help="profile")
    add_facts(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Print the profile."""
    from envcfg.core.profiles import show
    from envcfg.report.profile.view import view_json, view_lines
    from envcfg.report.styled import put

    view = show(catalog, options.name, **facts_of(options))
    if options.json:
        sys.stdout.write(view_json(view))
    else:
        put(view_lines(view))
    return 0


def add_facts(parser: argparse.ArgumentParser) -> None:
    """Add the options that decide conditions."""
    parser.add_argument(
        "--fact",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=read_pair,
        help="state what a condition asks for, as in rocm=6.2.4; may be repeated",
    )
    parser.add_argument(
        "--launcher",
        metavar="NAME",
        choices=LAUNCHERS,
        help=f"who starts the ranks: {', '.join(LAUNCHERS)}",
    )
    parser.add_argument(
        "--container", metavar="IMAGE", help="image file or URI; none: no container"
    )


def facts_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return what they say, as ``core.profiles.show`` takes it."""
    return {
        "facts": dict(options.fact),
        "image": options.container,
        "launcher": options.launcher,
    }
