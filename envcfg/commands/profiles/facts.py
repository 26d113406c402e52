"""Options that state facts, for what shows and compares profiles."""

from __future__ import annotations

import argparse
from typing import Any

from envcfg.core.values import read_pair
from envcfg.launchers import LAUNCHERS


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
