"""Files that take the place of others: made whole beside them, with their mode."""

from __future__ import annotations

import os

from envcfg.failure import put


def make_beside(
    path: str, data: bytes, mode: int, old: os.stat_result | None, *, private: bool
) -> str:
    """Write *data* to a new file in the folder of *path* and return its name.

    Args:
        path: what it is to replace, by ``os.replace``.
        data: all that is to stand in it.
        mode: of a file that replaces none; the umask leaves of it what it leaves.
        old: what is replaced: its mode and owner are kept.
        private: whatever else, nobody but the owner may read it.

    Raises:
        OSError: it cannot be written; nothing is left of it.
    """
    # A name of its own length: that of *path* may be as long as names can be.
    name = os.path.join(os.path.dirname(path), f".envcfg-{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(name, flags, 0o600)
    try:
        put(handle, data)
        mode = _keep_owner(handle, old) if old else mode & ~_umask()
        os.fchmod(handle, mode & 0o700 if private else mode)
        os.fsync(handle)
    except BaseException:
        os.unlink(name)
        raise
    finally:
        os.close(handle)
    return name


def put_private(path: str, data: bytes) -> None:
    """Put *data* at *path* as a whole, for nobody but the owner.

    Raises:
        OSError: it cannot be put there; nothing is left of it.
    """
    made = make_beside(path, data, 0o600, None, private=True)
    try:
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise


def _keep_owner(handle: int, old: os.stat_result) -> int:
    """Give a file to the owner and group of the *old* one; return the mode for it."""
    mode, new = old.st_mode & 0o777, os.fstat(handle)
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid):
        return mode
    for owner in (old.st_uid, -1):
        try:
            os.fchown(handle, owner, old.st_gid)
        except OSError:
            continue
        return mode
    return mode & 0o707  # its group is another one, which was not to read it


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
