"""What took long to find out, kept for the next time in the user's own folder.

A file that cannot be written, that somebody else could have written, or that holds
something else, is as good as none: what it would have said is found out again.
"""

import os
import stat
from collections.abc import Mapping
from typing import Any

from envcfg import __version__

_MOST = 16 << 20  # bytes of such a file
_FORM = f"2 {__version__}"  # counts what is kept; another is found out again


def kept_folder(environ: Mapping[str, str]) -> str | None:
    """Return where such files are, by the environment; None without a home."""
    cache = environ.get("XDG_CACHE_HOME", "")
    if not cache.startswith("/"):  # as its specification has it
        home = environ.get("HOME", "")
        if not home.startswith("/"):
            return None
        cache = f"{home}/.cache"
    return f"{cache}/envcfg"


def recall(folder: str, name: str, key: object) -> Any:  # noqa: ANN401  # what JSON can say
    """Return what is kept under *name* in *folder*, if it was found out of *key*.

    Args:
        folder: as ``kept_folder`` has it, or one below.
        name: of the file, without its ending.
        key: by what it is known that nothing has changed; what JSON can say.
    """
    import json

    from envcfg.provenance import sha256_of

    try:
        path = os.path.join(folder, f"{name}.json")
        # A pipe in its place has nobody who writes to it.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            status = os.fstat(file.fileno())
            is_own = status.st_uid == os.geteuid() and not status.st_mode & 0o022
            if not is_own or not stat.S_ISREG(status.st_mode):
                return None
            head, _, text = file.read(_MOST).partition(b"\n")
        # Only what keep() has written is taken: whatever else it is, it would mislead.
        if head == _head(key, sha256_of(text)):
            return json.loads(text)
    except OSError:
        pass
    return None


def keep(folder: str, name: str, key: object, value: object) -> None:
    """Keep *value*, which was found out of *key*; both are what JSON can say."""
    import json

    from envcfg.atomic_write import put_private
    from envcfg.provenance import sha256_of

    text = json.dumps(value).encode("ascii")
    data = _head(key, sha256_of(text)) + b"\n" + text
    path = os.path.join(folder, f"{name}.json")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        put_private(path, data)
    except OSError:
        return


def _head(key: object, digest: str) -> bytes:
    """Return the first line of a file: by what it is known that the second line counts."""
    import json

    return json.dumps({"form": _FORM, "key": key, "sha256": digest}).encode("ascii")
