"""``envcfg profiles detect``: which profile fits this machine, and why."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.commands import Command, Next
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


COMMAND = Command(
    help="which profile fits this machine, and why",
    usage="envcfg profiles detect [--json]",
    epilog="""\
examples:
  envcfg profiles detect
  envcfg wrap --profile "$(envcfg profiles detect --json | jq -r .profile)" ...

The cluster's name decides ($SLURM_CLUSTER_NAME); where there is none, marks of the system
(files in /etc, variables of the site), then the host's name. Outside a job the scheduler
is asked for its cluster's name next; last come network interfaces and devices that are
here. $ENVCFG_PROFILE and --profile go before all of this.

exit codes: 0 found, 3 none, 2 more than one
""",
    add_options=add_options,
    run=run,
    next={
        "": Next(
            "envcfg profiles show NAME has every value of one, and why",
            "envcfg profiles list has all; envcfg profiles new begins one of your own",
        )
    },
    description="Say which profile fits this machine, and why; and why the others do not.",
)
