"""``envcfg profiles confirm``: a profile gets a record of its run on its system."""

from __future__ import annotations

import argparse
import os

from envcfg.commands import Command, Next
from envcfg.commands.printing import tell
from envcfg.errors import UsageError
from envcfg.profile.catalog import Catalog


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("profile", metavar="PROFILE.yaml", help="the profile's file")
    parser.add_argument(
        "report", metavar="REPORT.json", help="what envcfg profiles probe wrote"
    )


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Write the profile with its run."""
    from envcfg.core.confirmation import confirm
    from envcfg.safe_output import Output, check_outputs, write_outputs

    path, report = options.profile, options.report
    for name in (path, report):
        if not os.path.isfile(name):
            msg = f"{name} is no file"
            raise UsageError(
                msg, hint="envcfg profiles confirm PROFILE.yaml REPORT.json"
            )
    output = Output(path, "PROFILE.yaml", path, [report], force=True)
    check_outputs([output])
    with open(report, "rb") as file:
        data = file.read()
    text = confirm(catalog, os.path.abspath(path), report, data)
    write_outputs([(output, text.encode())])
    tell(f"{path}: its section run tells of {report}")
    return 0


COMMAND = Command(
    help="record in a profile that it ran on its system, by the report of a probe",
    usage="envcfg profiles confirm PROFILE.yaml REPORT.json",
    epilog="""\
examples:
  envcfg profiles confirm profiles/lumi-g.yaml probe-lumi-g.json
  envcfg profiles confirm .envcfg/profiles/my-cluster.yaml probe-my-cluster.json

The file gets a section run: date, nodes, versions, bandwidth. A value that the report
contradicts must be corrected first; any other change of the profile needs a new report.

exit codes: 0 recorded, 2 the report contradicts the profile, or is of another one
""",
    add_options=add_options,
    run=run,
    next={"": Next("envcfg profiles show {profile} has it; send both files")},
    description="Record in a profile that it ran on its system. Each value is held against "
    "the report once more.",
)
