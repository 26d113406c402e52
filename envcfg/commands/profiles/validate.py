"""``envcfg profiles validate``: everything that is wrong in profile files, in one run."""

from __future__ import annotations

import argparse
import sys

from envcfg.characters import one_line
from envcfg.commands import Command, Next
from envcfg.commands.formats import add_format, put_result
from envcfg.errors import EXIT_CANNOT
from envcfg.profile.catalog import Catalog


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="profile, or folder of profiles"
    )
    parser.add_argument("--strict", action="store_true", help="warnings fail too")
    add_format(parser)


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Check every file, and print what is wrong."""
    from envcfg.core.profiles import validate
    from envcfg.report.findings import Result

    found, unread = validate(catalog, options.files)
    code = put_result(Result(found), options.format, strict=options.strict)
    for path, why in unread:
        sys.stderr.write(f"envcfg: error: {one_line(path)}: {why}\n")
    if unread:
        sys.stderr.write(
            "  hint: a profile is a file; envcfg profiles list has names\n"
        )
        return EXIT_CANNOT
    return code


COMMAND = Command(
    help="everything that is wrong in profile files",
    usage="envcfg profiles validate FILE|FOLDER... [--strict] [--format FORMAT | --json]",
    epilog="""\
examples:
  envcfg profiles validate .envcfg/profiles/my-cluster.yaml
  envcfg profiles validate --strict /etc/envcfg/profiles/
  envcfg profiles validate --json *.yaml
  envcfg profiles validate --format github profiles/    # in a workflow of GitHub's

A file in a folder of profiles is checked as the layer that it is, any other as it would be
used by --profile FILE.

exit codes: 0 nothing is wrong, 1 something is, 4 a file cannot be read
""",
    add_options=add_options,
    run=run,
    next={
        "": Next(
            "envcfg profiles show {files} has every value, as it will be used",
            "docs/profile-keys.md says what each key takes",
        )
    },
    description="""\
Say everything that is wrong in profile files, in one run: their form, the names and values
of variables, and what shows only together with their families. Nothing is rendered.""",
)
