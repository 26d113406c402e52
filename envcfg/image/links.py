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
    """

    library: Library
    asked: str
    needed_by: str
    why: str
    host: str = ""


class Missing(NamedTuple):
    """A library that nobody has: its name, and the path of that which needs it."""

    soname: str
    needed_by: str


class Chain(NamedTuple):
    """All that is loaded, from where, and what is missing."""

    links: tuple[Link, ...] = ()
    missing: tuple[Missing, ...] = ()


def follow(shelf: Shelf, starts: Sequence[tuple[str, str]]) -> Chain:
    """Return what is loaded with *starts*.

    Args:
        shelf: the libraries of the image, or of the image with the host's over it.
        starts: paths of the first libraries, and why each is one.
    """
    links: dict[str, Link] = {}
    missing: dict[str, Missing] = {}
    loaded: set[str] = set()  # by name: a second one of a name is not loaded
    waiting: list[Link] = []

    def take(path: str, asked: str, by: str, why: str) -> None:
        library = shelf.library(path)
        if library is None or library.path in links or len(links) >= _MOST:
            return
        host = ""
        if isinstance(shelf.tree, Overlay):
            host = shelf.tree.on_host(library.path) or ""
        link = Link(library, asked, by, why, host)
        links[library.path] = link
        loaded.update((asked, library.soname))
        waiting.append(link)

    for path, why in starts:
        take(path, path.rpartition("/")[2], "", why)
    while waiting:
        link = waiting.pop(0)
        for soname in link.library.needed:
            if soname in loaded:
                continue
            found = shelf.loader.find(soname, link.library)
            if found is None:
                missing.setdefault(soname, Missing(soname, link.library.path))
            else:
                take(found.path, soname, link.library.path, found.why)
    return Chain(tuple(links.values()), tuple(missing.values()))
