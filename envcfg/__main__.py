"""The entry point of envcfg: as ``envcfg`` and as ``python -m envcfg``."""

from __future__ import annotations

import gc
import os
import sys

from envcfg.common.failure import fail
from envcfg.common.interrupts import listen

_OLDEST = (3, 10)
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run envcfg and end with its exit code."""
    listen()  # first of all: imports take time, and a signal may come
    gc.disable()  # imported objects are permanent, so a search for garbage is wasted
    _forget_programs()
    _forget_current_folder()
    if sys.version_info < _OLDEST:
        version = ".".join(map(str, sys.version_info[:2]))
        lines = [
            f"envcfg: error: Python {version} is too old: 3.10 or newer is needed",
            "  hint: use another Python, as in python3.10 -m envcfg",
        ]
        os._exit(fail(lines, 70))
    try:
        from envcfg.cli import main as run
    except Exception as err:  # noqa: BLE001  # the job must not go on without its step
        os._exit(fail([f"envcfg: error: this installation is broken: {err!r}"], 70))
    # All output is written. A normal exit takes milliseconds, in which a signal could
    # still change the exit code.
    os._exit(run())


def _forget_programs() -> None:
    """Prevent imports from the folder of the program ``envcfg``, which Python searches
    first.

    For an installed program this folder contains other programs, and each import would
    search it.
    """
    programs = f"{sys.prefix}/bin"
    sys.path[:] = [path for path in sys.path if path != programs]


def _forget_current_folder() -> None:
    """Prevent imports from the current folder, which other users may be able to write.

    ``python -m`` puts it first on the path, an empty entry of PYTHONPATH somewhere. It
    stays where envcfg or Python itself comes from, as in a checkout.
    """
    from posix import getcwd

    try:
        folder = getcwd()
    except OSError:  # the folder is gone, so nothing can be imported from it
        return
    own = (f"{sys.prefix}/", f"{sys.base_prefix}/")
    if __file__ == f"{folder}/envcfg/__main__.py" or f"{folder}/".startswith(own):
        return
    sys.path[:] = [path for path in sys.path if path not in {"", ".", folder}]


if __name__ == "__main__":
    main()
