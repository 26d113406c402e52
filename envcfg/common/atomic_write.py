"""Files that replace others: written completely next to them, with the same mode."""

import os

from envcfg.common.failure import put


def make_beside(
    path: str, data: bytes, mode: int, old: os.stat_result | None, *, private: bool
) -> str:
    """Write *data* to a new file in the folder of *path* and return its name.

    Args:
        path: the file to replace, by ``os.replace``.
        data: the complete content.
        mode: the mode of a new file, limited by the umask.
        old: the file to replace; its mode and owner are kept.
        private: only the owner may read the file, whatever the mode.

    Raises:
        OSError: it cannot be written; no part of it remains.
    """
    # The name has a fixed length, because the name of *path* may already be the
    # longest possible.
    name = os.path.join(os.path.dirname(path), f".envcfg-{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    # The mode is strict until the content is complete.
    handle = os.open(name, flags, 0o600)
    try:
        put(handle, data)
        mode = _keep_owner(handle, old) if old else mode & ~_umask()
        os.fchmod(handle, mode & 0o700 if private else mode)
        # Without fsync, a crash may leave an empty file under the final name.
        os.fsync(handle)
    except BaseException:
        os.unlink(name)
        raise
    finally:
        os.close(handle)
    return name


def put_private(path: str, data: bytes) -> None:
    """Put *data* at *path* in one step, readable only by the owner.

    Raises:
        OSError: it cannot be put there; no part of it remains.
    """
    put_file(path, data, 0o600, private=True)


def put_file(path: str, data: bytes, mode: int, *, private: bool) -> None:
    """Put *data* at *path* in one step; arguments as for ``make_beside``.

    Raises:
        OSError: it cannot be put there; no part of it remains.
    """
    text = make_beside(path, data, mode, None, private=private)
    try:
        os.replace(text, path)
    except BaseException:
        os.unlink(text)
        raise


def _keep_owner(handle: int, old: os.stat_result) -> int:
    """Give a file to the owner and group of the *old* one; return the mode for it."""
    mode, new = old.st_mode & 0o777, os.fstat(handle)
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid):
        return mode
    # Only root may change the owner; the group alone may still be possible.
    for owner in (old.st_uid, -1):
        try:
            os.fchown(handle, owner, old.st_gid)
        except OSError:
            continue
        return mode
    return mode & 0o707  # the new group must not gain access


def _umask() -> int:
    # The umask can only be read by setting it; the strict value is safe in between.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
