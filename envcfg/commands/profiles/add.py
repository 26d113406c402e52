"""``envcfg profiles add``: take profiles from elsewhere, pinned, after a look at them."""

from __future__ import annotations

import argparse
import sys

from envcfg.errors import UsageError
from envcfg.profile.catalog import Catalog

DESCRIPTION = """\
Take the profiles of a git repository or a folder: show all that they would set, ask, and
keep them as they are now. Nothing of a repository is run."""
USAGE = "URL|PATH [--ref REF] [--folder FOLDER] [--name NAME] [--yes] [--json]"
EPILOG = """\
examples:
  envcfg profiles add https://example.org/hpc/profiles.git
  envcfg profiles add git@example.org:hpc/profiles.git --ref v1.2 --name centre
  envcfg profiles add /project/project_465000001/profiles --yes
  envcfg profiles add https://example.org/hpc/profiles.git --json   # only looks

They lie in profiles/, .envcfg/profiles/ or at the top of the repository, or in --folder.
What was shown is what counts, until envcfg profiles update shows what has changed. They
stand over those of the site, and below your own (~/.config/envcfg/profiles).

Without --yes, and where nobody can be asked (no terminal, or --json), nothing is added.

exit codes: 0 added, 1 shown and not added, 2 one is broken, or its name is taken,
4 cannot be fetched or kept
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "url", metavar="URL", help="of a repository, by https or ssh; or a path"
    )
    parser.add_argument("--ref", metavar="REF", help="branch, tag or commit")
    parser.add_argument(
        "--folder", metavar="FOLDER", help="where the profiles lie in it"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="of the source; else the last word of its URL"
    )
    parser.add_argument("--yes", action="store_true", help="add them without asking")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Fetch, show, ask and keep."""
    from datetime import date

    from envcfg.commands.profiles import elsewhere
    from envcfg.origin.address import (
        check_folder,
        check_ref,
        read_address,
        source_name,
    )

    check_ref(options.ref)
    check_folder(options.folder)
    address = read_address(options.url)
    if options.ref and address.kind == "folder":
        msg = f"--ref {options.ref}: {address.url} is no repository of git"
        raise UsageError(msg, hint="leave it out: a folder is taken as it is")
    name = source_name(address, options.name)
    store = elsewhere.open_store()
    if name in store.sources():
        msg = f"there is a source {name}"
        hint = f"envcfg profiles update {name} takes what is new; or --name ANOTHER"
        raise UsageError(msg, hint=hint)
    fetched = elsewhere.fetch(address, options.ref, options.folder)
    today = date.today().isoformat()
    source = elsewhere.pinned(name, address, options.ref, fetched, today)
    proposal = elsewhere.propose(catalog, store, None, source, fetched)
    if not options.json:
        elsewhere.show(proposal)
    count = len(fetched.files)
    ask = f"add {count} profile{'s' if count > 1 else ''} as {name}?"
    done = elsewhere.agrees(ask, yes=options.yes, as_json=options.json)
    if done:
        store.keep(source, fetched.files, before=None)
    if options.json:
        elsewhere.put_json([proposal._replace(done=done)])
    elif done:
        sys.stdout.write(f"added: {name}, pinned at {source.pin}\n")
    else:
        sys.stderr.write(
            "envcfg: note: nothing was added\n"
            "  hint: --yes adds what is shown above, without a question\n"
        )
    return 0 if done else 1
