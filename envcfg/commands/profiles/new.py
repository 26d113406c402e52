"""``envcfg profiles new``: a commented starter for a system of one's own."""

from __future__ import annotations

import argparse
import os
import sys

from envcfg.errors import OutputError, UsageError
from envcfg.profile.catalog import Catalog
from envcfg.profile.naming import unknown_profile
from envcfg.profile.words import PROFILE_NAME

DESCRIPTION = (
    "Write a commented starter for a system of your own; it is valid as it is."
)
USAGE = "NAME --extends FAMILY [--output FILE]"
EPILOG = """\
examples:
  envcfg profiles new my-cluster --extends infiniband-cuda
  envcfg profiles new my-cluster --extends slingshot-rocm --output - | less

It goes into .envcfg/profiles/ of the project, where there is one, else into the user's
folder (~/.config/envcfg/profiles/). A file that is there is never replaced. To change some
values of a profile that is there, write a file of its name with these values alone.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("name", metavar="NAME", help="as in my-cluster")
    parser.add_argument(
        "--extends",
        metavar="FAMILY",
        required=True,
        help="the profile that it is to build on; envcfg profiles list has them",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="NAME.yaml anywhere; -: standard output"
    )


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Write the starter."""
    from datetime import date

    from envcfg.profile.starter import starter

    name, output = options.name, options.output
    if not PROFILE_NAME.fullmatch(name):
        msg = f"{name!r} is no name of a profile"
        raise UsageError(msg, hint="letters, digits, . - and _, as in my-cluster")
    if name in catalog.names():
        msg = f"there is a profile {name}: {', '.join(catalog.files(name))}"
        raise UsageError(
            msg, hint="choose another name; a file of this name would be laid over it"
        )
    if output not in {None, "-"} and os.path.basename(output) != f"{name}.yaml":
        msg = f"--output {output}: the file must be named {name}.yaml"
        raise UsageError(msg, hint="the name of a profile is that of its file")
    if options.extends not in catalog.names():
        raise unknown_profile(options.extends, catalog.names())
    family = catalog.load(options.extends)
    text = starter(name, options.extends, family, date.today().isoformat())
    if output == "-":
        sys.stdout.write(text)
        return 0
    # The layers are in order; the last is the project's, where there is one.
    path = output or os.path.join(catalog.folders[-1], f"{name}.yaml")
    _write(path, text)
    sys.stdout.write(f"{path}\n")
    sys.stderr.write(
        f"envcfg: note: fill in what it says, and then try it\n"
        f"  hint: envcfg profiles validate {path}\n"
    )
    return 0


def _write(path: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as err:
        msg = f"{path}: is there already, and is not replaced"
        raise OutputError(msg, hint="choose another name, or --output") from err
    except OSError as err:
        msg = f"{path}: cannot be written: {err.strerror}"
        raise OutputError(msg, hint="choose another place with --output") from err
