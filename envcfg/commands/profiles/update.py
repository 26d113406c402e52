"""``envcfg profiles update``: take what has changed where added profiles are from."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.errors import EnvcfgError, UsageError, suggest
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.sources import Source

if TYPE_CHECKING:
    from envcfg.origin.store import Store
    from envcfg.report.profile.sources import Proposal

DESCRIPTION = """\
Look where added profiles are from; show what differs between the pinned commit and the
new one, ask, and pin the new one."""
USAGE = "[NAME] [--ref REF] [--yes] [--json]"
EPILOG = """\
examples:
  envcfg profiles update                   # all sources, one after another
  envcfg profiles update centre --ref v1.3
  envcfg profiles update --json            # only looks

Shown are the values that jobs get, old and new; the whole of what is new by its name.

exit codes: 0 all is as it is there, 1 something differs and was not taken, 2 one is broken,
4 cannot be fetched or kept
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="of the source; all of them if left out"
    )
    parser.add_argument(
        "--ref", metavar="REF", help="branch, tag or commit from now on"
    )
    parser.add_argument("--yes", action="store_true", help="take it without asking")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Look at every source, show, ask and keep."""
    from envcfg.commands.profiles import elsewhere
    from envcfg.origin.address import check_ref

    check_ref(options.ref)
    store = elsewhere.open_store()
    sources = known_sources(store, options.name)
    if options.ref and options.name is None:
        msg = "--ref is for one source"
        raise UsageError(msg, hint=f"name it: {', '.join(sources) or 'there is none'}")
    code, proposals = 0, []
    for source in sources.values():
        try:
            proposal = _update(source, options, catalog, store)
        except EnvcfgError as err:
            if options.name:
                raise
            # One that cannot be reached does not keep the others from being looked at.
            sys.stdout.flush()
            sys.stderr.write("\n".join(err.lines()) + "\n")
            code = max(code, err.exit_code)
            continue
        proposals.append(proposal)
        code = max(code, 0 if proposal.done else 1)
    if options.json:
        elsewhere.put_json(proposals)
    elif not sources:
        sys.stderr.write("envcfg: note: no profiles were added from elsewhere\n")
        sys.stderr.write("  hint: envcfg profiles add URL\n")
    return code


def known_sources(store: Store, name: str | None) -> dict[str, Source]:
    """Return the sources, or the one of *name*.

    Raises:
        UsageError: there is none, or what was known of it is lost.
    """
    found = store.sources()
    if name is not None and name not in found:
        msg = f"no source is named {name!r}"
        raise UsageError(msg, hint=suggest(name, found) if found else None)
    wanted = {each: source for each, source in found.items() if name in (None, each)}
    for each, source in wanted.items():
        if source is None:
            msg = f"{store.at(each)}: what was known of it is lost"
            raise UsageError(
                msg, hint=f"envcfg profiles remove {each}, and add it again"
            )
    return {each: source for each, source in wanted.items() if source}


def _update(
    source: Source, options: argparse.Namespace, catalog: Catalog, store: Store
) -> Proposal:
    from datetime import date

    from envcfg.commands.profiles import elsewhere
    from envcfg.origin.address import read_address
    from envcfg.report.profile.sources import Proposal

    name, ref = source.name, options.ref or source.ref
    address = read_address(source.url)
    fetched = elsewhere.fetch(address, ref, source.folder)
    today = date.today().isoformat()
    after = elsewhere.pinned(name, address, ref, fetched, today)
    if (after.commit, after.digest, ref) == (source.commit, source.digest, source.ref):
        if not options.json:
            sys.stdout.write(f"{one_line(name)}: as it is there, {source.pin}\n")
        return Proposal(source, source, (), done=True)
    proposal = elsewhere.propose(catalog, store, source, after, fetched)
    if after.date and source.date and after.date < source.date:
        proposal = proposal._replace(findings=(*proposal.findings, _older(after)))
    if not options.json:
        elsewhere.show(proposal)
    ask = f"pin {name} at {after.pin}?"
    done = elsewhere.agrees(ask, yes=options.yes, as_json=options.json)
    if done:
        store.keep(after, fetched.files, before=source)
    if not options.json:
        said = f"pinned at {after.pin}" if done else f"stays at {source.pin}"
        sys.stdout.write(f"{one_line(name)}: {said}\n")
        sys.stdout.flush()
    return proposal._replace(done=done)


def _older(after: Source) -> Finding:
    return Finding(
        rule="source-older",
        severity="warning",
        subject=after.name,
        message="what is there now is older than what is pinned",
        fix="somebody may have taken changes back, or put another branch there",
    )
