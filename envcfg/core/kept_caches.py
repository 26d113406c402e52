"""The folder of ``--keep-caches``: its keys, their archives, and their removal.

The bash of a job writes it (``keep_caches.sh``). A key is a folder with a manifest for each
kind of cache. Nothing else in the folder is read or removed.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.common.errors import OutputError, UsageError
from envcfg.core.diagnostic_options import KEPT

if TYPE_CHECKING:
    from envcfg.log.cold_start import KeptStart

_KEY = re.compile(r"[0-9a-f]{40}")
_REMOVED = re.compile(r"\.removed-[0-9a-f]{40}")
# All names that a job makes in the folder of a key.
_PARTS = re.compile(
    r"about|lock|new|\.tmp-.+|[a-z0-9_-]+\.manifest|[a-z0-9_-]+-[0-9a-f]{16}\.tar(\.zst)?"
)
_LONGEST = 4096  # bytes of a manifest, and of the text about a key
_BUSY = 600  # seconds; older locks and parts are of jobs that were killed


class Archive(NamedTuple):
    """One cache of a key.

    Attributes:
        files: number of entries, with *size* bytes together.
        packed: bytes of the archive; None if it is missing.
        date: time of the last merge, as ``2026-11-25T15:00:00Z``.
    """

    kind: str
    files: int
    size: int
    packed: int | None
    date: str


class Key(NamedTuple):
    """All caches for one image, environment and hardware.

    Attributes:
        software: image and versions.
        used: time of the last start of a job, in seconds since 1970; None: unknown.
        cold, warm: seconds to the first step of a job that began without kept caches, and
            of one with them; None: no output shows them.
    """

    key: str
    software: str
    used: int | None
    archives: tuple[Archive, ...]
    cold: int | None = None
    warm: int | None = None

    @property
    def packed(self) -> int:
        """Bytes of all archives."""
        return sum(archive.packed or 0 for archive in self.archives)

    @property
    def saved(self) -> int | None:
        """Seconds that the caches save at a start; None: unknown."""
        if self.cold is None or self.warm is None:
            return None
        return self.cold - self.warm


def default_folder() -> str:
    """Return the folder of ``--keep-caches`` without a value."""
    return os.path.expanduser(KEPT.replace("${HOME}", "~"))


def read_keys(folder: str) -> tuple[list[Key], list[str]]:
    """Return the keys in *folder*, the last used one first, and other names in it.

    Raises:
        OutputError: the folder cannot be read, or jobs would not use it.
    """
    try:
        status = os.lstat(folder)
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return [], []
    except OSError as err:
        msg = f"{folder}: cannot be read: {err.strerror}"
        raise OutputError(msg) from None
    if not _is_own_folder(folder):
        msg = f"{folder}: a link, or of another user: no job uses it"
        raise OutputError(msg, hint="--folder DIR names the folder of --keep-caches")
    if stat.S_IMODE(status.st_mode) != 0o700:  # as the bash asks
        msg = f"{folder}: others may enter it, so no job uses it"
        raise OutputError(msg, hint=f"chmod 700 {folder}")
    keys, foreign = [], []
    for name in names:
        path = os.path.join(folder, name)
        if _KEY.fullmatch(name) and _is_own_folder(path):
            keys.append(_read_key(path))
        elif not _REMOVED.fullmatch(name) and not name.startswith(".said-"):
            foreign.append(name)
    return sorted(keys, key=lambda key: key.used or 0, reverse=True), foreign


def _is_own_folder(path: str) -> bool:
    status = os.lstat(path)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _read_key(path: str) -> Key:
    about = os.path.join(path, "about")
    try:
        used = int(os.lstat(about).st_mtime)
    except OSError:
        used = None
    return Key(os.path.basename(path), _text(about), used, tuple(_archives(path)))


def _archives(path: str) -> Iterator[Archive]:
    for name in sorted(os.listdir(path)):
        kind, dot, _ = name.rpartition(".manifest")
        words = _text(os.path.join(path, name)).split() if dot else []
        if len(words) == 5 and words[2].isdecimal() and words[3].isdecimal():
            packed = None
            if words[0].startswith(f"{kind}-") and _PARTS.fullmatch(words[0]):
                packed = _size(os.path.join(path, words[0]))
            yield Archive(kind, int(words[2]), int(words[3]), packed, words[4])


def _text(path: str) -> str:
    """Return the start of an own file; empty if it is a link, or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST).strip()
    except OSError:
        return ""


def _size(path: str) -> int | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def with_starts(keys: Iterable[Key], starts: Collection[KeptStart]) -> list[Key]:
    """Return *keys* with the seconds of *starts*: of several, those that show least."""
    result = []
    for key in keys:
        own = [start for start in starts if key.key.startswith(start.key)]
        cold = min((start.seconds for start in own if not start.is_warm), default=None)
        warm = max((start.seconds for start in own if start.is_warm), default=None)
        result.append(key._replace(cold=cold, warm=warm))
    return result


def choose_keys(keys: Sequence[Key], starts: Collection[str]) -> list[Key]:
    """Return the keys with a name that begins with one of *starts*.

    Raises:
        UsageError: no key, or several, begin like this.
    """
    chosen = {}
    for start in starts:
        matches = [key for key in keys if key.key.startswith(start)]
        if len(matches) != 1:
            msg = f"{start}: begins the names of {len(matches)} keys, instead of one"
            raise UsageError(msg, hint="envcfg caches list shows them")
        chosen[matches[0].key] = matches[0]
    return list(chosen.values())


def remove_key(folder: str, key: Key) -> None:
    """Remove *key*; jobs that would have used it compile anew.

    A job that ends holds the lock of the key while it merges. The key gets another name
    before its files go, so that no job sees a part of it.

    Raises:
        OutputError: a job is writing the key, or it has files that are not envcfg's.
    """
    import shutil

    path, lock = os.path.join(folder, key.key), os.path.join(folder, key.key, "lock")
    try:
        _remove_rest(folder)
        for name in os.listdir(path):
            status = os.lstat(os.path.join(path, name))
            is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
            is_own = is_plain and status.st_uid == os.getuid()
            if not (is_own and _PARTS.fullmatch(name)):
                msg = f"{path} stays: envcfg did not write {name} in it"
                raise OutputError(msg, hint="move it to another folder")
        if _is_busy(lock) or any(map(_is_busy, _children(os.path.join(path, "new")))):
            msg = f"{path} stays: a job is writing it"
            raise OutputError(msg, hint="try again when the job has ended")
        if os.path.lexists(lock):
            shutil.rmtree(lock)
        os.mkdir(lock)  # fails if a job was faster
        os.rename(path, os.path.join(folder, f".removed-{key.key}"))
        _remove_rest(folder)
    except OSError as err:
        msg = f"{path}: cannot be removed: {err.strerror}"
        raise OutputError(msg) from None


def _remove_rest(folder: str) -> None:
    """Remove the keys that have got another name, those of a killed command too."""
    import shutil

    for path in _children(folder):
        if _REMOVED.fullmatch(os.path.basename(path)) and _is_own_folder(path):
            shutil.rmtree(path)


def _is_busy(path: str) -> bool:
    try:
        return time.time() - os.lstat(path).st_mtime < _BUSY
    except OSError:
        return False


def _children(path: str) -> list[str]:
    try:
        return [os.path.join(path, name) for name in os.listdir(path)]
    except OSError:
        return []
