"""What was read of an image, kept for the next time: by its file, in a user's folder.

An image is the same as long as path, size, time of change and inode are.
"""

import os
import stat
from collections.abc import Mapping
from typing import NamedTuple

from envcfg import __version__

FORM = 1  # counts what is kept; another is read anew
_MOST = 1 << 20  # bytes of such a file


class Identity(NamedTuple):
    """By what a file is known again."""

    path: str
    size: int
    time: int  # of its last change, in nanoseconds
    inode: int


class Memory(NamedTuple):
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


def memory_folder(environ: Mapping[str, str]) -> str | None:
    """Return where the user's memories are, by the environment; None without a home."""
    cache = environ.get("XDG_CACHE_HOME", "")
    if not cache.startswith("/"):  # as its specification has it
        home = environ.get("HOME", "")
        if not home.startswith("/"):
            return None
        cache = f"{home}/.cache"
    return f"{cache}/envcfg/images"


def recall(folder: str, image: Identity) -> Memory | None:
    """Return what is kept of *image*, or None: nothing, or not ours, or of another."""
    import json

    try:
        with open(_file(folder, image), "rb") as file:
            if not _is_own(os.fstat(file.fileno())):
                return None
            found = json.loads(file.read(_MOST))
        if found["form"] != _form() or found["image"] != list(image):
            return None
        facts = {
            str(name): (str(value), str(evidence))
            for name, (value, evidence) in found["facts"].items()
        }
        return Memory(facts, tuple(map(str, found["bases"])), str(found["why"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # as good as nothing: it is read anew


def keep(folder: str, image: Identity, memory: Memory) -> None:
    """Keep what was read of *image*; where that cannot be, it is read again."""
    import json

    from envcfg.files import make_beside

    document = {"form": _form(), "image": list(image), **memory._asdict()}
    data = json.dumps(document).encode("ascii")
    path = _file(folder, image)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        made = make_beside(path, data, 0o600, None, private=True)
        os.replace(made, path)
    except OSError:
        return


def _form() -> str:
    return f"{FORM} {__version__}"


def _file(folder: str, image: Identity) -> str:
    from envcfg.digest import sha256_of

    name = sha256_of(os.fsencode(image.path))[:32]
    return os.path.join(folder, f"{name}.json")


def _is_own(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
