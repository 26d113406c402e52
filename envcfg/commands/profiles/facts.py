"""Options that state facts, and the facts that they make."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from envcfg.commands.options.arguments import read_pair
from envcfg.launchers import LAUNCHERS
from envcfg.profile.model import Profile


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


def facts_of(profile: Profile, options: argparse.Namespace) -> Mapping[str, str]:
    """Return what is known with these options, as ``known_facts``."""
    return known_facts(
        profile, dict(options.fact), image=options.container, launcher=options.launcher
    )


def known_facts(
    profile: Profile,
    stated: Mapping[str, str],
    *,
    image: str | None = None,
    launcher: str | None = None,
) -> Mapping[str, str]:
    """Return what is known with these facts, as ``wrap`` would know it.

    Raises:
        UsageError: for a fact that cannot be, or a launcher that the profile lacks.
    """
    from envcfg.launch.container import named_runtimes
    from envcfg.launch.facts import check_facts
    from envcfg.launch.plan import Options
    from envcfg.launch.resolve import resolve

    check_facts(stated)
    wanted = Options(
        container=None if image == "none" else image,
        image_file=image and os.path.realpath(image),
        launcher=launcher,
        facts=stated,
    )
    known = resolve(profile, "", wanted).facts
    facts = {name: fact.value for name, fact in known.items()}
    if image is None and "container" not in stated:
        del facts["container"]  # not given is not known
        if "runtime" not in stated:  # as the launcher: the profile's first
            facts["runtime"] = named_runtimes(profile)[0].kind
    return facts
