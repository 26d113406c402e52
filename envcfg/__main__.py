"""Run envcfg: as ``python -m envcfg``, and as the command of that name."""

from __future__ import annotations

import os

from envcfg.failure import fail
from envcfg.interrupts import listen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run envcfg and end with its exit code."""
    listen()  # first of all: what is imported then takes time, in which a signal may come
    try:
        from envcfg.cli import main as run
    except Exception as err:  # noqa: BLE001  # the job must not go on without its step
        os._exit(fail([f"envcfg: error: this installation is broken: {err!r}"], 70))
    # All is written. The end of the interpreter would take milliseconds, in which a signal
    # spoils the exit code of a run that is done.
    os._exit(run())


if __name__ == "__main__":
    main()
