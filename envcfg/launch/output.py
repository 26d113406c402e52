"""Writing a script to a file: whole or not at all, and never over other people's work."""

from __future__ import annotations

from pathlib import Path

from envcfg.errors import OutputError
from envcfg.files import write_whole
from envcfg.launch.job import JOB_MARK, is_untouched_job
from envcfg.launch.render import ID_MARK, is_untouched


def write_script(name: str, data: bytes, *, force: bool) -> None:
    """Write *data* to *path*, executable; an existing file is replaced only if ours.

    Raises:
        OutputError: if the file is not ours, or cannot be written.
    """
    path = Path(name)
    if path.is_symlink():
        path = path.resolve()  # what it leads to is replaced, not the link
    try:
        if path.exists() and not path.is_file():
            msg = f"{path} is no plain file"
            raise OutputError(msg, hint="choose another file with -o")
        if path.exists() and not force:
            _check_ours(path)
        write_whole(path, data, mode=0o777)
    except OSError as err:
        msg = f"cannot write {path}: {err.strerror}"
        raise OutputError(msg, hint="choose another file with -o") from err


def _check_ours(path: Path) -> None:
    text = path.read_bytes()
    if not text.partition(b"\n")[2].startswith((ID_MARK.encode(), JOB_MARK.encode())):
        msg = f"{path} was not written by envcfg"
        raise OutputError(msg, hint="choose another file, or give --force")
    if not (is_untouched(text) or is_untouched_job(text)):
        msg = f"{path} has been changed since envcfg wrote it"
        raise OutputError(msg, hint="keep your changes elsewhere, or give --force")
