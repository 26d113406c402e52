"""What this machine shows of itself."""

from __future__ import annotations

import os


def interfaces() -> list[str]:
    """Return the names of the network interfaces, sorted; none where there is no /sys."""
    try:
        return sorted(os.listdir("/sys/class/net"))
    except OSError:
        return []
