"""``envcfg profiles remove``: take back profiles that were added from elsewhere."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from envcfg.characters import one_line
from envcfg.errors import ProfileError
from envcfg.profile.catalog import Catalog

DESCRIPTION = (
    "Take back the profiles of a source that was added; say what jobs get then."
)
USAGE = "NAME [--json]"
EPILOG = """\
examples:
  envcfg profiles remove centre

NAME is that of the source; envcfg profiles list shows them below the profiles.

exit codes: 0 removed, 2 there is no such source, 4 cannot be removed
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("name", metavar="NAME", help="of the source")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Remove it, and say what that changes."""
    from envcfg.commands.profiles import elsewhere
    from envcfg.errors import UsageError, suggest
    from envcfg.report.profile.sources import Proposal

    store = elsewhere.open_store()
    found = store.sources()
    if options.name not in found:
        msg = f"no source is named {options.name!r}"
        raise UsageError(msg, hint=suggest(options.name, found) if found else None)
    source = found[options.name]
    proposal = Proposal(source, None, ())
    if source:
        with suppress(ProfileError):  # broken: the more reason to go
            proposal = elsewhere.propose(catalog, store, source, None, None)
    store.drop(options.name)
    proposal = proposal._replace(done=True)
    if options.json:
        elsewhere.put_json([proposal])
    else:
        elsewhere.show(proposal)
        sys.stdout.write(f"removed: {one_line(options.name)}\n")
    return 0
