"""Trees over each other: layers in a store of containers, mounts of a host on an image."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from typing import NamedTuple

from envcfg.image.record import Library
from envcfg.image.tree import Entry, Tree

_WHITEOUT = ".wh."  # a file .wh.NAME hides NAME of the layers below
_OPAQUE = ".wh..wh..opq"  # a folder that holds it hides all of them
_FOLDER = Entry("folder")


class LayeredTree(Tree):
    """What a container sees of layers that lie over each other."""

    def __init__(self, layers: Sequence[Tree]) -> None:
        """Read *layers*, the uppermost first."""
        self._layers = tuple(layers)
        self._seen: dict[str, tuple[Tree, ...]] = {}

    def entry(self, path: str) -> Entry | None:
        """See ``Tree``."""
        found = self._find(path)
        return None if found is None else found[1]

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        names: set[str] = set()
        hidden: set[str] = set()
        for layer in self._folders(path):
            here = set(layer.children(path))
            marks = {name for name in here if name.startswith(_WHITEOUT)}
            gone = {n for n in here if layer.is_whiteout(posixpath.join(path, n))}
            names |= here - marks - gone - hidden
            hidden |= gone | {mark[len(_WHITEOUT) :] for mark in marks}
        return sorted(names)

    def open_entry(self, path: str) -> BufferedReader:
        """See ``Tree``."""
        found = self._find(path)
        if found is None:
            raise FileNotFoundError(path)
        return found[0].open_entry(path)

    def _find(self, path: str) -> tuple[Tree, Entry] | None:
        """Return the uppermost layer that says what *path* is."""
        folder = posixpath.dirname(path)
        for layer in self._layers if path == "/" else self._folders(folder):
            if layer.is_whiteout(path):
                return None
            if (entry := layer.entry(path)) is not None:
                return layer, entry
            if _hides(layer, path):
                break
        return None

    def _folders(self, path: str) -> tuple[Tree, ...]:
        """Return the layers that have a part in the folder *path*, uppermost first."""
        if path not in self._seen:
            found = []
            above = posixpath.dirname(path)
            for layer in self._layers if path == "/" else self._folders(above):
                entry = layer.entry(path)
                if entry is not None:
                    if entry.kind != "folder":
                        break
                    found.append(layer)
                mark = posixpath.join(path, _OPAQUE)
                if _hides(layer, path) or (
                    entry and (layer.has_opaque_mark(path) or layer.entry(mark))
                ):
                    break
            self._seen[path] = tuple(found)
        return self._seen[path]


def _hides(layer: Tree, path: str) -> bool:
    """Return whether a file says that *path* is removed, as archives of layers do.

    It counts for the layers below: what this one has itself under the name is there.
    """
    folder, name = posixpath.split(path)
    return layer.entry(posixpath.join(folder, _WHITEOUT + name)) is not None


class Mount(NamedTuple):
    """A mount: *source* of the host appears at *target* of the image."""

    source: str
    target: str


class RecordedTree(Tree):
    """The libraries of a machine that is not here: what was written down of them."""

    def __init__(
        self, libraries: Mapping[str, Library], links: Mapping[str, str]
    ) -> None:
        """Know *libraries* by their paths, and by *links* the paths of other names."""
        self.libraries = libraries
        self._links = {n: path for n, path in links.items() if n not in libraries}
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

    def open_entry(self, path: str) -> BufferedReader:
        """See ``Tree``; only the record of a file is here."""
        msg = f"{path} was recorded on another machine, and is not here"
        raise OSError(msg)


class Overlay(Tree):
    """An image with mounts of a host over it, the last one on top."""

    def __init__(self, image: Tree, host: Tree, mounts: Sequence[Mount]) -> None:
        """Lay *mounts* of *host* over *image*; those whose source is absent are not."""
        self._image, self._host = image, host
        real = [(host.resolve(each.source), each.target.rstrip("/")) for each in mounts]
        self._layers = [(at, target) for at, target in reversed(real) if at and target]
        self._above = {up for _, target in self._layers for up in _parents(target)}

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
        if (here := self.on_host(path)) is not None:
            return self._host.entry(here)
        return self._image.entry(path) or (_FOLDER if path in self._above else None)

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        if (here := self.on_host(path)) is not None:
            return self._host.children(here)
        own = self._image.entry(path)
        names = set(self._image.children(path) if own and own.kind == "folder" else ())
        for target in (*self._above, *(target for _, target in self._layers)):
            folder, name = posixpath.split(target)
            names |= {name} if folder == path and name else set()
        return sorted(names)

    def open_entry(self, path: str) -> BufferedReader:
        """See ``Tree``."""
        if (here := self.on_host(path)) is not None:
            return self._host.open_entry(here)
        return self._image.open_entry(path)


def _parents(path: str) -> Iterator[str]:
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        yield path
