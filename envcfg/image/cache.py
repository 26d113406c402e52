"""What was read of an image, kept for the next time: by its file, in a user's folder.

An image is the same as long as path, size, time of change and inode are. It is read anew
when what reads it has changed: an update need not change the version.
"""

import os
import stat
from collections.abc import Mapping
from typing import NamedTuple

from envcfg import cache
from envcfg.datafile import stamp


class Identity(NamedTuple):
    """By what a file is known again."""

    path: str
    size: int
    time: int  # of its last change, in nanoseconds
    inode: int


class CachedImage(NamedTuple):
    """What is kept of an image.

    Attributes:
        facts: the value of each, and where in the image it stands.
        bases: the images that it was made from, the nearest first.
        why: why nothing was read, if so.
    """

    facts: Mapping[str, tuple[str, str]] = {}
    bases: tuple[str, ...] = ()
    why: str = ""


def identify(path: str) -> Identity | None:
    """Return by what the file *path* is known again; None if it is no plain file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    real = os.path.realpath(path)
    return Identity(real, status.st_size, status.st_mtime_ns, status.st_ino)


def recall(folder: str, image: Identity) -> CachedImage | None:
    """Return what is kept of *image* in *folder*, or None."""
    found = cache.recall(f"{folder}/images", *_known_by(image))
    try:
        facts = {
            str(name): (str(value), str(evidence))
            for name, (value, evidence) in found["facts"].items()
        }
        return CachedImage(facts, tuple(map(str, found["bases"])), str(found["why"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # as good as nothing: it is read anew


def keep(folder: str, image: Identity, read: CachedImage) -> None:
    """Keep in *folder* what was read of *image*."""
    cache.keep(f"{folder}/images", *_known_by(image), read._asdict())


def _known_by(image: Identity) -> tuple[str, list[str | int]]:
    """Return name and key of what is kept; files are replaced, not written to."""
    from envcfg.provenance import sha256_of

    name = sha256_of(os.fsencode(image.path))[:32]
    return name, [*image, stamp(os.path.dirname(__file__))[-1]]
