"""Layers over each other as one tree: what a store of containers keeps of an image."""

from __future__ import annotations

import abc
import os
import posixpath
import stat
from collections.abc import Sequence
from typing import BinaryIO

from envcfg.image.folder import FolderTree
from envcfg.image.tree import Entry, Tree

_WHITEOUT = ".wh."  # a file .wh.NAME hides NAME of the layers below
_OPAQUE = ".wh..wh..opq"  # a folder that holds it hides all of them
# The same, as overlayfs and fuse-overlayfs write it.
OPAQUE_ATTRIBUTES = (
    "trusted.overlay.opaque",
    "user.overlay.opaque",
    "user.fuseoverlayfs.opaque",
)


class Layer(Tree):
    """A tree that can hide what stands below it in other layers."""

    @abc.abstractmethod
    def is_whiteout(self, path: str) -> bool:
        """Return whether *path* is a device 0/0: as overlayfs marks what is removed."""

    @abc.abstractmethod
    def has_opaque_mark(self, path: str) -> bool:
        """Return whether an attribute of the folder *path* hides those below it."""

    def hides(self, path: str) -> bool:
        """Return whether a file says that *path* is removed, as archives of layers do.

        It counts for the layers below: what this one has itself under the name is there.
        """
        folder, name = posixpath.split(path)
        return self.entry(posixpath.join(folder, _WHITEOUT + name)) is not None

    def is_opaque(self, path: str) -> bool:
        """Return whether the folder *path* hides the same folder of layers below."""
        mark = posixpath.join(path, _OPAQUE)
        return self.has_opaque_mark(path) or self.entry(mark) is not None


class FolderLayer(FolderTree, Layer):
    """A layer that lies unpacked in a folder."""

    def is_whiteout(self, path: str) -> bool:
        """See ``Layer``."""
        try:
            status = os.lstat(self._root + path)
        except OSError:
            return False
        return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0

    def has_opaque_mark(self, path: str) -> bool:
        """See ``Layer``."""
        here = self._root + path
        try:
            names = os.listxattr(here, follow_symlinks=False)
            return any(
                os.getxattr(here, name, follow_symlinks=False) == b"y"
                for name in OPAQUE_ATTRIBUTES
                if name in names
            )
        except (OSError, ValueError):
            return False


class LayeredTree(Tree):
    """What a container sees of layers that lie over each other."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        """Read *layers*, the uppermost first."""
        self._layers = tuple(layers)
        self._seen: dict[str, tuple[Layer, ...]] = {}

    def entry(self, path: str) -> Entry | None:
        """See ``Tree``."""
        found = self._find(path)
        return None if found is None else found[1]

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        names: set[str] = set()
        hidden: set[str] = set()
        for layer in self._folders(path):
            here = layer.children(path)
            marks = {name for name in here if name.startswith(_WHITEOUT)}
            gone = {
                name for name in here if layer.is_whiteout(posixpath.join(path, name))
            }
            names |= set(here) - marks - gone - hidden
            hidden |= gone | {mark[len(_WHITEOUT) :] for mark in marks}
        return sorted(names)

    def open_entry(self, path: str) -> BinaryIO:
        """See ``Tree``."""
        found = self._find(path)
        if found is None:
            raise FileNotFoundError(path)
        return found[0].open_entry(path)

    def _find(self, path: str) -> tuple[Layer, Entry] | None:
        """Return the uppermost layer that says what *path* is."""
        folder = posixpath.dirname(path)
        for layer in self._layers if path == "/" else self._folders(folder):
            if layer.is_whiteout(path):
                return None
            if (entry := layer.entry(path)) is not None:
                return layer, entry
            if layer.hides(path):
                return None
        return None

    def _folders(self, path: str) -> tuple[Layer, ...]:
        """Return the layers that have a part in the folder *path*, uppermost first."""
        if path not in self._seen:
            above = posixpath.dirname(path)
            layers = self._layers if path == "/" else self._folders(above)
            self._seen[path] = _merged(layers, path)
        return self._seen[path]


def _merged(layers: Sequence[Layer], path: str) -> tuple[Layer, ...]:
    found = []
    for layer in layers:
        entry = layer.entry(path)
        if entry is not None and entry.kind != "folder":
            break
        if entry is not None:
            found.append(layer)
        if layer.hides(path) or (entry is not None and layer.is_opaque(path)):
            break
    return tuple(found)
