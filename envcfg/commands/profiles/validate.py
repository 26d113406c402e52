"""``envcfg profiles validate``: everything that is wrong in profile files, in one run."""

from __future__ import annotations

import argparse
import sys

from envcfg.characters import one_line
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
