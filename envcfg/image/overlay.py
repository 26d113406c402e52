"""Files of a host laid over those of an image, as bind mounts do."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple

from envcfg.image.record import Library
from envcfg.image.tree import Entry, Tree

_FOLDER = Entry("folder")


class Layer(NamedTuple):
    """A mount: *source* of the host appears at *target* of the image."""

    source: str
    target: str


class RecordedTree(Tree):
    """The libraries of a machine that is not here: what was written down of them."""

    def __init__(
        self, libraries: Mapping[str, Library], links: Mapping[str, str]
    ) -> None:
        """Know *libraries* by their paths, and other names of these.

        Args:
            libraries: by path, links followed.
            links: for a further name of a file its path.
        """
        self.libraries = libraries
        self._links = {
            name: path for name, path in links.items() if name not in libraries
        }
        self._names: dict[str, set[str]] = {}
        for path in (*libraries, *self._links):
            for each in (path, *_parents(path)):
                folder, name = posixpath.split(each)
                if name:
                    self._names.setdefault(folder, set()).add(name)

    def entry(self, path: str) -> Entry | None:
        """See ``Tree``."""
        if path in self.libraries:
            return Entry("file")
        if path in self._links:
            return Entry("link", target=self._links[path])
        return _FOLDER if path in self._names or path == "/" else None

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        return sorted(self._names.get(path, ()))

    def open_entry(self, path: str) -> BinaryIO:
        """See ``Tree``; only the record of a file is here."""
        msg = f"{path} was recorded on another machine, and is not here"
        raise OSError(msg)


class Overlay(Tree):
    """An image with mounts of a host over it, the last one on top."""

    def __init__(self, image: Tree, host: Tree, layers: Sequence[Layer]) -> None:
        """Lay *layers* of *host* over *image*; those whose source is absent are not."""
        self._image, self._host = image, host
        real = [(host.resolve(each.source), each.target.rstrip("/")) for each in layers]
        self._layers = [(each, target) for each, target in real if each and target][
            ::-1
        ]
        self._above = {
            parent for _, target in self._layers for parent in _parents(target)
        }

    def on_host(self, path: str) -> str | None:
        """Return where *path*, links followed, lies on the host; None: in the image."""
        for source, target in self._layers:
            if path == target or path.startswith(f"{target}/"):
                return source + path[len(target) :]
        return None

    def recorded(self, path: str) -> Library | None:
        """Return the record of a file that is not here to be read; else None."""
        here = self.on_host(path)
        if here is None or not isinstance(self._host, RecordedTree):
            return None
        return self._host.libraries.get(self._host.resolve(here) or here)

    def entry(self, path: str) -> Entry | None:
        """See ``Tree``."""
        here = self.on_host(path)
        if here is not None:
            return self._host.entry(here)
        return self._image.entry(path) or (_FOLDER if path in self._above else None)

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        here = self.on_host(path)
        if here is not None:
            return self._host.children(here)
        own = self._image.entry(path)
        names = set(self._image.children(path) if own and own.kind == "folder" else ())
        for target in (*self._above, *(target for _, target in self._layers)):
            folder, name = posixpath.split(target)
            if folder == path and name:
                names.add(name)
        return sorted(names)

    def open_entry(self, path: str) -> BinaryIO:
        """See ``Tree``."""
        here = self.on_host(path)
        return (
            self._image.open_entry(path)
            if here is None
            else self._host.open_entry(here)
        )


def _parents(path: str) -> list[str]:
    found = []
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        found.append(path)
    return found
