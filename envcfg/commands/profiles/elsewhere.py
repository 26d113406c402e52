"""What ``add``, ``update`` and ``remove`` share: fetching, showing, asking, keeping."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.errors import ProfileError
from envcfg.origin.address import Address
from envcfg.origin.fetched import Fetched
from envcfg.origin.store import Store, in_two_sources
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import data_folder
from envcfg.profile.sources import Source
from envcfg.temporary import own_folder

if TYPE_CHECKING:
    from envcfg.report.profile.sources import Proposal


def open_store() -> Store:
    """Return where profiles from elsewhere are kept."""
    return Store(data_folder(os.environ))


def fetch(address: Address, ref: str | None, folder: str | None) -> Fetched:
    """Return the profiles that are there.

    Raises:
        OutputError: they cannot be read.
    """
    if address.kind == "folder":
        from envcfg.origin.folder import read_folder

        return read_folder(address.url, folder)
    from envcfg.origin.git import Repository

    with own_folder("elsewhere") as here, _progress() as progress:
        repository = Repository(here, os.environ, may_ask=sys.stdin.isatty())
        return repository.fetch(address.url, ref=ref, folder=folder, progress=progress)


def propose(
    catalog: Catalog,
    store: Store,
    before: Source | None,
    after: Source | None,
    fetched: Fetched | None,
) -> Proposal:
    """Return what would become of the profiles of a source.

    Raises:
        ProfileError: one that is to come cannot be used.
        UsageError: another source has a profile of its name.
    """
    from envcfg.profile.look.changes import changes, claims
    from envcfg.report.profile.sources import Proposal

    name = next(each.name for each in (after, before) if each)
    if fetched and (twice := store.also_in(fetched.files, name)):
        raise in_two_sources(*twice)
    others = [each for each in catalog.added if each != store.at(name)]
    below = [*catalog.folders[:2], *others]
    old = store.at(name) if before else None
    with own_folder("elsewhere") as made:
        new = os.path.join(made, name) if fetched else None
        if fetched and new:
            _lay_out(new, fetched)
        staged = (made + f"/{name}", os.path.dirname(store.at(name)) + f"/{name}")
        try:
            layers = [_layers(below, each) for each in (old, new)]
            found = changes(*layers, old=old, new=new)
            warned = tuple(claims(layers[1], new)) if new else ()
        except ProfileError as err:
            raise ProfileError(
                [
                    each._replace(
                        place=each.place
                        and each.place._replace(path=os.path.basename(each.place.path))
                    )
                    if each.place and each.place.path.startswith(made)
                    else each
                    for each in err.findings
                ]
            ) from err
    return Proposal(before, after, tuple(found), warned, staged)


def show(proposal: Proposal) -> None:
    """Write to stdout what would be set, and warnings to stderr."""
    from envcfg.commands.printing import say
    from envcfg.report.profile.sources import proposal_lines
    from envcfg.report.styled import put

    put(proposal_lines(proposal))
    sys.stdout.flush()
    say(proposal.findings)


def agrees(question: str, *, yes: bool, as_json: bool) -> bool:
    """Tell whether the user says yes: by an option, or on the terminal."""
    if yes:
        return True
    if as_json or not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{one_line(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def put_json(proposals: Iterable[Proposal]) -> None:
    """Write all proposals to stdout as JSON."""
    from envcfg.report.profile.sources import changes_json

    sys.stdout.write(changes_json(list(proposals)))


def pinned(
    name: str, address: Address, ref: str | None, fetched: Fetched, today: str
) -> Source:
    """Return what is to be known of a source."""
    return Source(
        name=name,
        url=address.url,
        ref=ref,
        folder=fetched.folder,
        commit=fetched.commit,
        date=fetched.date,
        by=fetched.by,
        added=today,
        digest=fetched.digest,
    )


def _layers(below: list[str], top: str | None) -> Catalog:
    folders = [*below, top] if top else below
    return Catalog(folders, added=[*below[2:], *([top] if top else [])])


def _lay_out(folder: str, fetched: Fetched) -> None:
    os.mkdir(folder)
    for name, data in fetched.files.items():
        with open(os.path.join(folder, name), "xb") as file:
            file.write(data)


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """Yield what shows the last word of git, on a terminal: one line, over and over."""
    from shutil import get_terminal_size

    from envcfg.report.styled import is_screen

    if not is_screen(sys.stderr):
        yield None
        return
    width = get_terminal_size().columns - 1

    def progress(text: str) -> None:
        # It is the other side's: a terminal's escapes in it are written out.
        sys.stderr.write(f"\r\x1b[K{one_line(text)[:width]}")
        sys.stderr.flush()

    try:
        yield progress
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
