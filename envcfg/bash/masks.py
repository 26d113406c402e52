"""CPU masks, in the forms that programs want; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence


def cpu_ranges(mask: str) -> str:
    """Return the CPUs of a mask as a list of ranges: ``8-15,40-47``."""
    bits = f"{int(mask, 16):b}"[::-1]
    return ",".join(
        f"{match.start()}-{match.end() - 1}" for match in re.finditer("1+", bits)
    )


def union_of(masks: Sequence[str]) -> str:
    """Return all masks together, in groups of 32 bits, as /proc/self/status writes them."""
    union = 0
    for mask in masks:
        union |= int(mask, 16)
    groups = []
    while union:
        groups.append(f"{union & 0xFFFFFFFF:08x}")
        union >>= 32
    return ",".join(reversed(groups))
