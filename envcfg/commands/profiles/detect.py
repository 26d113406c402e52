"""``envcfg profiles detect``: which profile fits this machine, and why."""

from __future__ import annotations

import argparse
import os
import sys

from envcfg.characters import one_line
from envcfg.commands.machine import job_kind
from envcfg.commands.options.selection import this_machine
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import Detection, Machine, detect

DESCRIPTION = "Say which profile fits this machine, and why; and why the others do not."
USAGE = "[--json]"
EPILOG = """\
examples:
  envcfg profiles detect
  envcfg wrap --profile "$(envcfg profiles detect --json | jq -r .profile)" ...

The cluster's name decides ($SLURM_CLUSTER_NAME); where there is none, the host's; where
neither is known, the network interfaces and devices that are here. A login node may lack
those of the nodes. $ENVCFG_PROFILE and --profile go before all of this.

exit codes: 0 found, 3 none, 2 more than one
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Ask every profile, and print the answers."""
    machine = this_machine()
    detection = detect(catalog, machine)
    _put(detection, machine, as_json=options.json)
    for path in map(one_line, detection.broken):
        sys.stderr.write(
            f"envcfg: warning: {path}: cannot be used, and was not asked\n"
        )
        sys.stderr.write(
            f"  hint: envcfg profiles validate {path} says what is wrong\n"
        )
    return {0: 3, 1: 0}.get(len(detection.found), 2)


def _put(detection: Detection, machine: Machine, *, as_json: bool) -> None:
    from envcfg.report.profile import detect as profile_detect

    if as_json:
        sys.stdout.write(profile_detect.detect_json(detection, machine))
    else:
        from envcfg.report.styled import put

        put(profile_detect.detect_lines(detection, machine))
        if chosen := os.environ.get("ENVCFG_PROFILE"):
            put([("yellow", f"ENVCFG_PROFILE={chosen} goes before this")])
    sys.stdout.flush()
    if len(detection.found) > 1:
        sys.stderr.write("envcfg: error: more than one profile fits\n")
        sys.stderr.write("  hint: choose one with --profile or ENVCFG_PROFILE\n")
    elif not detection.found and not os.environ.get("ENVCFG_PROFILE"):
        job = job_kind()
        then = (
            f"wrap asks for one in a {job} job" if job else "workstation will be used"
        )
        sys.stderr.write(f"envcfg: note: no profile fits; {then}\n")
        sys.stderr.write(
            "  hint: choose one with --profile; envcfg profiles list shows all\n"
        )
