"""``envcfg profiles new``: a commented starter for a system, by what it says of itself."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.errors import OutputError, UsageError
from envcfg.profile.catalog import Catalog
from envcfg.profile.words import PROFILE_NAME

if TYPE_CHECKING:
    from envcfg.profile.site.model import Site

DESCRIPTION = """\
Write a commented starter for a system of your own, with what this machine
says of partitions, nodes, billing, network and runtimes. It is valid as it is."""
USAGE = "NAME [--extends FAMILY] [--blank] [--output FILE]"
EPILOG = """\
examples:
  envcfg profiles new my-cluster               # best on a node with GPUs, in a job
  envcfg profiles new my-cluster --extends infiniband-cuda
  envcfg profiles new my-cluster --extends slingshot-rocm --output - | less

Asked are scontrol, sinfo, /sys, /dev, PATH and MODULEPATH; each entry says where it was
read, and comments what to check. What is not there is left as an example.

It goes into .envcfg/profiles/ of the project, where there is one, else into the user's
folder (~/.config/envcfg/profiles/). A file that is there is kept, unless --force is given.
To change some values of a profile that is there, write a file of its name with these alone.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("name", metavar="NAME", help="as in my-cluster")
    parser.add_argument(
        "--extends",
        metavar="FAMILY",
        help="the profile that it is to build on (default: by network and GPUs)",
    )
    parser.add_argument(
        "--blank", action="store_true", help="with nothing of this machine in it"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="NAME.yaml anywhere; -: standard output"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a file that is there"
    )


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Write the starter."""
    from datetime import date

    from envcfg.commands.site import this_site
    from envcfg.failure import STDOUT
    from envcfg.outputs import (
        Output,
        check_outputs,
        descriptor_of,
        write_outputs,
    )
    from envcfg.profile.draft import starter
    from envcfg.profile.site.entries import Draft

    name = options.name
    if not PROFILE_NAME.fullmatch(name):
        msg = f"{name!r} is no name of a profile"
        raise UsageError(msg, hint="letters, digits, . - and _, as in my-cluster")
    # The layers are in order; the last is the project's, where there is one.
    usual = os.path.join(catalog.folders[-1], f"{name}.yaml")
    path = usual if options.output is None else options.output
    if name in catalog.names() and not (
        options.force and catalog.files(name) == [usual]
    ):
        msg = f"there is a profile {name}: {', '.join(catalog.files(name))}"
        raise UsageError(
            msg, hint="choose another name; a file of this name would be laid over it"
        )
    is_named = os.path.basename(path) == f"{name}.yaml"
    if path and not is_named and not _is_stream(path):
        msg = f"--output {path}: the file must be named {name}.yaml"
        raise UsageError(msg, hint="the name of a profile is that of its file")
    if options.extends:
        catalog.files(options.extends)
    site = None if options.blank else this_site()
    parent, why = _family(options.extends, site)
    today = date.today().isoformat()
    sections: Mapping[str, str] = {}
    if site:
        claimed_by = _claimed_by(site.cluster, catalog)
        sections = Draft(site, claimed_by=claimed_by, today=today).sections()
    family = catalog.load(parent)
    text = starter(name, parent, family, today, why=why, sections=sections)
    output = Output(
        name=path,
        option="--output",
        example=f"--output profiles/{name}.yaml",
        inputs=catalog.files_read(),
        force=options.force,
        kept=True,
    )
    if is_named:
        _make_folder(path)
    check_outputs([output])
    write_outputs([(output, text.encode())])
    if descriptor_of(path) == STDOUT:
        return 0
    sys.stdout.write(f"{path}\n")
    path = one_line(path)
    sys.stderr.write(
        f"envcfg: note: fill in what it says, and then try it\n"
        f"  hint: envcfg profiles validate {path}\n"
    )
    return 0


def _family(given: str | None, site: Site | None) -> tuple[str, str | None]:
    """Return the profile to build on, and by what it was chosen.

    Raises:
        UsageError: none is given, and the machine does not tell.
    """
    from envcfg.profile.site.model import family_of

    if site is None:
        if given is None:
            msg = "--extends is missing: --blank asks nothing of this machine"
            raise UsageError(
                msg, hint="--extends FAMILY; envcfg profiles list has them"
            )
        return given, None
    found, why = family_of(site)
    if given is not None:
        return given, "as it was asked for"
    if found is None:
        msg = f"--extends is missing: {why}"
        hint = "--extends FAMILY; or try it in a job, on a node with GPUs"
        raise UsageError(msg, hint=hint)
    return found, why


def _claimed_by(cluster: str | None, catalog: Catalog) -> str | None:
    """Return the profile that the name of this cluster leads to."""
    from envcfg.profile.detect import Machine, detect

    if cluster is None:
        return None
    found = detect(catalog, Machine(cluster=cluster, host="")).found
    return found[0].name if found else None


def _is_stream(path: str) -> bool:
    from envcfg.outputs import descriptor_of

    is_there = os.path.exists(path)
    return descriptor_of(path) is not None or (is_there and not os.path.isfile(path))


def _make_folder(path: str) -> None:
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    except OSError as err:
        msg = f"cannot write {path}: {err.strerror}"
        raise OutputError(msg, hint="choose another place with --output") from err
