"""What is loaded with a plug-in: from library to library, as the loader goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from envcfg.image.overlay import Overlay
from envcfg.image.record import Library
from envcfg.image.shelf import Shelf

_MOST = 500  # libraries; PyTorch has some hundred


class Link(NamedTuple):
    """A library of the chain.

    Attributes:
        library: what it is; its path is that in the container.
        asked: the name by which it is loaded.
        needed_by: the path of the library that loads it first; empty: the program.
        why: how the loader found it.
        host: its path on the host, if it is bound over the image; else empty.
        is_before: it is there before: PyTorch has loaded it.
    """

    library: Library
    asked: str
    needed_by: str
    why: str
    host: str = ""
    is_before: bool = False


class Missing(NamedTuple):
    """A library that nobody has: its name, and the path of that which needs it."""

    soname: str
    needed_by: str


class Chain(NamedTuple):
    """All that is loaded, from where, and what is missing."""

    links: tuple[Link, ...] = ()
    missing: tuple[Missing, ...] = ()

    @property
    def own(self) -> tuple[Link, ...]:
        """Those that are not there before."""
        return tuple(each for each in self.links if not each.is_before)


def follow(
    shelf: Shelf, starts: Sequence[tuple[str, str]], before: Sequence[str] = ()
) -> Chain:
    """Return what is loaded with *starts*.

    Args:
        shelf: the libraries of the image, or of the image with the host's over it.
        starts: paths of the first libraries, and why each is one.
        before: paths of libraries that are loaded, with all that they need, before.
            What they miss is not looked at.
    """
    links: dict[str, Link] = {}
    missing: dict[str, Missing] = {}
    loaded: set[str] = set()  # by name: a second one of a name is not loaded

    def take(path: str, link: Link) -> None:
        library = shelf.library(path)
        if library is None or library.path in links or len(links) >= _MOST:
            return
        host = ""
        if isinstance(shelf.tree, Overlay):
            host = shelf.tree.on_host(library.path) or ""
        links[library.path] = link._replace(library=library, host=host)
        loaded.update((link.asked, library.soname))
        waiting.append(links[library.path])

    for is_before, paths in ((True, [(each, "") for each in before]), (False, starts)):
        waiting: list[Link] = []
        for path, why in paths:
            name = path.rpartition("/")[2]
            take(path, Link(Library(path), name, "", why, is_before=is_before))
        while waiting:
            link = waiting.pop(0)
            by = link.library
            for soname in by.needed:
                if soname in loaded:
                    continue
                if found := shelf.loader.find(soname, by):
                    take(
                        found.path, Link(by, soname, by.path, found.why, "", is_before)
                    )
                elif not is_before:
                    missing.setdefault(soname, Missing(soname, by.path))
    return Chain(tuple(links.values()), tuple(missing.values()))
