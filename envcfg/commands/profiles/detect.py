"""``envcfg profiles detect``: which profile fits this machine, and why."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.commands.printing import tell
from envcfg.core.site import job_kind, scheduler_here
from envcfg.profile.catalog import Catalog

if TYPE_CHECKING:
    from envcfg.core.profiles import Detected


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Ask every profile, and print the answers."""
    from envcfg.core.profiles import detect_here

    detected = detect_here(catalog)
    detection = detected.detection
    _put(detected, as_json=options.json)
    for path in map(one_line, detection.broken):
        hint = f"envcfg profiles validate {path} says what is wrong"
        tell(f"{path}: cannot be used, and was not asked", hint, severity="warning")
    return {0: 3, 1: 0}.get(len(detection.found), 2)


def _put(detected: Detected, *, as_json: bool) -> None:
    from envcfg.report.profile.list import detect_json, detect_lines

    if as_json:
        sys.stdout.write(detect_json(*detected))
    else:
        from envcfg.report.styled import put

        put(detect_lines(*detected))
        if chosen := os.environ.get("ENVCFG_PROFILE"):
            put([("yellow", f"ENVCFG_PROFILE={chosen} goes before this")])
    sys.stdout.flush()
    found = detected.detection.found
    if len(found) > 1:
        hint = "choose one with --profile or ENVCFG_PROFILE"
        tell("more than one profile fits", hint, severity="error")
    elif not found and not os.environ.get("ENVCFG_PROFILE"):
        hint = "choose one with --profile; envcfg profiles list shows all"
        if job := job_kind():
            then = f"wrap asks for one in a {job} job"
        elif scheduler := scheduler_here():
            then = f"wrap and job read this cluster from {scheduler.title}"
            hint = (
                "envcfg profiles show here reads it now; or choose one with --profile"
            )
        else:
            then = "workstation will be used"
        tell(f"no profile fits; {then}", hint)
