"""Stacked trees: the layers in a container store, and mounts of a host over an image."""

import posixpath
from collections.abc import Iterator, Sequence
from io import BufferedReader

from envcfg.common.bind import Bind
from envcfg.image.tree import Tree, TreeEntry

_WHITEOUT = ".wh."  # a file .wh.NAME hides NAME of the layers below
_OPAQUE = ".wh..wh..opq"  # a folder with this file hides the lower ones
_FOLDER = TreeEntry("folder")


class LayeredTree(Tree):
    """The merged view of stacked layers in a container."""

    def __init__(self, layers: Sequence[Tree]) -> None:
        """Read *layers*, the uppermost first."""
        self._layers = tuple(layers)
        self._seen: dict[str, tuple[Tree, ...]] = {}

    def entry(self, path: str) -> TreeEntry | None:
        """See ``Tree``."""
        hit = self._find(path)
        return None if hit is None else hit[1]

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        names: set[str] = set()
        hidden: set[str] = set()
        # The order is from the top, so that a removed name hides those of lower
        # layers only.
        for layer in self._folders(path):
            layer_names = set(layer.children(path))
            marks = {name for name in layer_names if name.startswith(_WHITEOUT)}
            gone = {
                n for n in layer_names if layer.is_whiteout(posixpath.join(path, n))
            }
            names |= layer_names - marks - gone - hidden
            hidden |= gone | {mark[len(_WHITEOUT) :] for mark in marks}
        return sorted(names)

    def open_entry(self, path: str) -> BufferedReader:
        """See ``Tree``."""
        hit = self._find(path)
        if hit is None:
            raise FileNotFoundError(path)
        return hit[0].open_entry(path)

    def _find(self, path: str) -> tuple[Tree, TreeEntry] | None:
        """Return the uppermost layer with an entry for *path*, or None if it is removed."""
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
        """Return the layers that contribute to the folder *path*, uppermost first."""
        if path not in self._seen:
            folders = []
            above = posixpath.dirname(path)
            for layer in self._layers if path == "/" else self._folders(above):
                entry = layer.entry(path)
                if entry is not None:
                    if entry.kind != "folder":
                        break
                    folders.append(layer)
                mark = posixpath.join(path, _OPAQUE)
                if _hides(layer, path) or (
                    entry and (layer.has_opaque_mark(path) or layer.entry(mark))
                ):
                    break
            self._seen[path] = tuple(folders)
        return self._seen[path]


def _hides(layer: Tree, path: str) -> bool:
    """Return whether a whiteout file removes *path*, as in archives of layers.

    It affects only lower layers: an entry of the same layer still exists.
    """
    folder, name = posixpath.split(path)
    return layer.entry(posixpath.join(folder, _WHITEOUT + name)) is not None


class Overlay(Tree):
    """An image with mounts of a host over it, the last one on top."""

    def __init__(self, image: Tree, host: Tree, mounts: Sequence[Bind]) -> None:
        """Lay *mounts* of *host* over *image*; mounts with a missing source are skipped."""
        self._image, self._host = image, host
        real = [
            (host.resolve(bind.source), (bind.target or bind.source).rstrip("/"))
            for bind in mounts
        ]
        self._layers = [
            (place, target) for place, target in reversed(real) if place and target
        ]
        self._above = {up for _, target in self._layers for up in _parents(target)}

    def on_host(self, path: str) -> str | None:
        """Return the place of *path* on the host, without links; None if it is in the
        image."""
        for source, target in self._layers:
            if path == target or path.startswith(f"{target}/"):
                return source + path[len(target) :]
        return None

    def entry(self, path: str) -> TreeEntry | None:
        """See ``Tree``."""
        if (host_path := self.on_host(path)) is not None:
            return self._host.entry(host_path)
        return self._image.entry(path) or (_FOLDER if path in self._above else None)

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        if (host_path := self.on_host(path)) is not None:
            return self._host.children(host_path)
        own = self._image.entry(path)
        names = set(self._image.children(path) if own and own.kind == "folder" else ())
        for target in (*self._above, *(target for _, target in self._layers)):
            folder, name = posixpath.split(target)
            names |= {name} if folder == path and name else set()
        return sorted(names)

    def open_entry(self, path: str) -> BufferedReader:
        """See ``Tree``."""
        host_path = self.on_host(path)
        tree = self._image if host_path is None else self._host
        return tree.open_entry(host_path or path)


def _parents(path: str) -> Iterator[str]:
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        yield path
