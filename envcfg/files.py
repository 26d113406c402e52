"""Writing a file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from envcfg.errors import OutputError


def write_whole(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replace *path* by *data* in one step; *mode* is what the umask leaves of it.

    Raises:
        OSError: it cannot be written; what was there is as it was.
    """
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_report(name: str, text: str) -> None:
    """Write *text* to the file *name*; ``/dev/stdout`` and other devices are written to.

    Raises:
        OutputError: it cannot be written.
    """
    path = Path(name)
    data = text.encode("utf-8", "backslashreplace")
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                file.write(data)
        else:
            write_whole(path.resolve() if path.is_symlink() else path, data)
    except OSError as err:
        msg = f"cannot write {name}: {err.strerror}"
        raise OutputError(msg, hint="choose another file") from err


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
