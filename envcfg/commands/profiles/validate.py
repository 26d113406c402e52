"""``envcfg profiles validate``: everything that is wrong in profile files, in one run."""

from __future__ import annotations

import argparse
import os
import sys

from envcfg.characters import one_line
from envcfg.commands.formats import add_format, put_result
from envcfg.errors import EXIT_CANNOT
from envcfg.profile.catalog import Catalog

DESCRIPTION = """\
Say everything that is wrong in profile files, in one run: their form, the names and values
of variables, and what shows only together with their families. Nothing is rendered."""
USAGE = "FILE|FOLDER... [--strict] [--format FORMAT | --json]"
EPILOG = """\
examples:
  envcfg profiles validate .envcfg/profiles/my-cluster.yaml
  envcfg profiles validate --strict /etc/envcfg/profiles/
  envcfg profiles validate --json *.yaml
  envcfg profiles validate --format github profiles/    # in a workflow of GitHub's

A file in a folder of profiles is checked as the layer that it is, any other as it would be
used by --profile FILE.

exit codes: 0 nothing is wrong, 1 something is, 4 a file cannot be read
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="profile, or folder of profiles"
    )
    parser.add_argument("--strict", action="store_true", help="warnings fail too")
    add_format(parser)


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Check every file, and print what is wrong."""
    from envcfg.profile.validate import validate
    from envcfg.report.findings import Result

    result = {}
    unread = []
    for given in options.files:
        files = _files(given)
        if not files:
            unread.append(
                f"envcfg: error: {one_line(given)}: no profile in this folder: its name "
                "ends in .yaml\n"
            )
        for path in files:
            if problem := _unreadable(path):
                said = f"{one_line(path)}: cannot be read: {problem}"
                unread.append(f"envcfg: error: {said}\n")
            else:
                result[path] = validate(path, catalog)
    code = put_result(Result(result), options.format, strict=options.strict)
    sys.stderr.write("".join(unread))
    if unread:
        sys.stderr.write(
            "  hint: a profile is a file; envcfg profiles list has names\n"
        )
        return EXIT_CANNOT
    return code


def _files(given: str) -> list[str]:
    """Return the profiles of a folder, or the file itself."""
    if not os.path.isdir(given):
        return [given]
    names = sorted(name for name in os.listdir(given) if name.endswith(".yaml"))
    return [os.path.join(given, name) for name in names]


def _unreadable(path: str) -> str | None:
    try:
        with open(path, "rb"):
            return None
    except OSError as err:
        return err.strerror
