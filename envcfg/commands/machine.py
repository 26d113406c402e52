"""What this machine shows of itself."""

from __future__ import annotations

import os

from envcfg.errors import UsageError


def current_folder() -> str:
    """Return the path of the current folder.

    Raises:
        UsageError: somebody has removed it.
    """
    try:
        return os.getcwd()
    except OSError as err:
        msg = "the current folder does not exist any more"
        raise UsageError(msg, hint="cd to another one") from err


def interfaces() -> list[str]:
    """Return the names of the network interfaces, sorted; none where there is no /sys."""
    try:
        return sorted(os.listdir("/sys/class/net"))
    except OSError:
        return []
