"""A cache for slow results in the user's own folder.

A file that cannot be written, that others could have written, or that has other
content, is ignored: its result is computed again.
"""

import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

from envcfg import __version__

_MOST = 16 << 20  # bytes of a cache file
_FORM = f"2 {__version__}"  # the version of the format; other files are ignored


def kept_folder(
    environ: Mapping[str, str], variable: str = "XDG_CACHE_HOME", own: str = ".cache"
) -> str | None:
    """Return the folder of cache files, from the environment; None without a home.

    *variable* names the folder, which is *own* in the home if it is unset.
    """
    cache = environ.get(variable, "")
    if not cache.startswith("/"):  # the XDG specification ignores relative paths
        home = environ.get("HOME", "")
        if not home.startswith("/"):
            return None
        cache = f"{home}/{own}"
    return f"{cache}/envcfg"


def remember(
    name: str,
    key: object,
    make: Callable[[], Any],
    is_valid: Callable[[Any], bool] = lambda _: True,
) -> Any:  # noqa: ANN401  # what JSON can say
    """Return the value stored under *name* for *key*; else that of *make*, now stored.

    Args:
        name: the name of the file, without suffix, perhaps in a folder.
        key: a JSON value that changes whenever the result may change.
        make: returns a JSON value; None: there is none, and nothing is stored.
        is_valid: whether a stored value still counts.
    """
    folder = kept_folder(os.environ)
    value = recall(folder, name, key) if folder else None
    if value is None or not is_valid(value):
        value = make()
        if folder and value is not None:
            keep(folder, name, key, value)
    return value


def recall(folder: str, name: str, key: object) -> Any:  # noqa: ANN401  # what JSON can say
    """Return the value stored under *name* in *folder* if its key is equal to *key*."""
    import json

    from envcfg.common.provenance import sha256_of

    try:
        path = os.path.join(folder, f"{name}.json")
        # Opening a pipe must not block, because it may have no writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            # The open file is checked, because the path could change in between.
            status = os.fstat(file.fileno())
            is_own = status.st_uid == os.geteuid() and not status.st_mode & 0o022
            if not is_own or not stat.S_ISREG(status.st_mode):
                return None
            head, _, text = file.read(_MOST).partition(b"\n")
        # Only the output of keep() is used. Any other content could mislead.
        if head == _head(key, sha256_of(text)):
            return json.loads(text)
    except OSError:
        pass
    return None


def keep(folder: str, name: str, key: object, value: object) -> None:
    """Store *value* with its *key*; both must be representable in JSON."""
    import json

    from envcfg.common.atomic_write import put_private
    from envcfg.common.provenance import sha256_of

    text = json.dumps(value).encode("ascii")
    data = _head(key, sha256_of(text)) + b"\n" + text
    path = os.path.join(folder, f"{name}.json")
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        put_private(path, data)
    # A cache that cannot be written only costs time.
    except OSError:
        return


def _head(key: object, digest: str) -> bytes:
    """Return the first line of a cache file: key, and checksum of the second line."""
    import json

    return json.dumps({"form": _FORM, "key": key, "sha256": digest}).encode("ascii")
