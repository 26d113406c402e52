"""``envcfg profiles new``: a commented profile, from the machine's own facts."""

import argparse
import os
import sys

from envcfg.commands.formats import add_own
from envcfg.commands.printing import tell
from envcfg.common.characters import one_line
from envcfg.common.errors import OutputError, UsageError
from envcfg.profile.catalog import Catalog
from envcfg.profile.words import PROFILE_NAME


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_own(parser, "profiles new")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Write the new profile."""
    from envcfg.common.failure import STDOUT
    from envcfg.common.safe_output import (
        Output,
        check_outputs,
        descriptor_of,
        write_outputs,
    )
    from envcfg.site.machine import this_site
    from envcfg.site.unknown_cluster import draft

    name = options.name
    if not PROFILE_NAME.fullmatch(name):
        msg = f"{name!r} is not a name of a profile"
        raise UsageError(msg, hint="letters, digits, . - and _, as in my-cluster")
    # The layers are in order, and the last is the project's, if it exists.
    usual = os.path.join(catalog.folders[-1], f"{name}.yaml")
    path = usual if options.output is None else options.output
    files = catalog.files(name) if name in catalog.names() else []
    if files and not (options.force and files == [usual]):
        msg = f"there is a profile {name}: {', '.join(files)}"
        hint = "choose another name; a file of this name would be laid over it"
        raise UsageError(msg, hint=hint)
    is_named = os.path.basename(path) == f"{name}.yaml"
    is_stream = descriptor_of(path) is not None or (
        os.path.exists(path) and not os.path.isfile(path)
    )
    if path and not is_named and not is_stream:
        msg = f"--output {path}: the file must be named {name}.yaml"
        raise UsageError(msg, hint="the name of a profile is that of its file")
    site = None if options.blank else this_site()
    text = draft(catalog, name, options.extends, site)
    output = Output(
        name=path,
        option="--output",
        example=f"--output profiles/{name}.yaml",
        inputs=catalog.files_read(),
        force=options.force,
        keep_existing=True,
    )
    if is_named:
        try:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        except OSError as err:
            msg = f"cannot write {path}: {err.strerror}"
            raise OutputError(msg, hint="choose another place with --output") from err
    check_outputs([output])
    write_outputs([(output, text.encode())])
    if descriptor_of(path) == STDOUT:
        return 0
    sys.stdout.write(f"{path}\n")
    hint = f"envcfg profiles validate {one_line(path)}"
    tell("fill in what it says, and then try it", hint)
    return 0
