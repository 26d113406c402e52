"""Where envcfg starts: as ``envcfg`` and as ``python -m envcfg``."""

from __future__ import annotations

import gc
import os
import sys

from envcfg.failure import fail
from envcfg.interrupts import listen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run envcfg and end with its exit code."""
    listen()  # before all else: what is imported takes time, in which a signal may come
    gc.disable()  # what is imported is no garbage, and need not be searched for any
    _forget_programs()
    _forget_current_folder()
    try:
        from envcfg.cli import main as run
    except Exception as err:  # noqa: BLE001  # the job must not go on without its step
        os._exit(fail([f"envcfg: error: this installation is broken: {err!r}"], 70))
    # All is written. The end of the interpreter would take milliseconds, in which a signal
    # spoils the exit code of a run that is done.
    os._exit(run())


def _forget_programs() -> None:
    """Let no module come from beside the program ``envcfg``, where Python looks first.

    Where it is installed that is a folder of programs, and each import would ask for it.
    """
    programs = f"{sys.prefix}/bin"
    sys.path[:] = [each for each in sys.path if each != programs]


def _forget_current_folder() -> None:
    """Let no module come from the current folder, which may be anybody's.

    ``python -m`` puts it first on the path, an empty entry of PYTHONPATH somewhere. It
    stays where envcfg or Python itself comes from, as in a checkout.
    """
    from posix import getcwd

    try:
        here = getcwd()
    except OSError:  # it is gone, and nothing can come from it
        return
    own = (f"{sys.prefix}/", f"{sys.base_prefix}/")
    if __file__ == f"{here}/envcfg/__main__.py" or f"{here}/".startswith(own):
        return
    sys.path[:] = [each for each in sys.path if each not in {"", ".", here}]


if __name__ == "__main__":
    main()
