"""CPU masks and the CPUs next to GPUs, as Linux lists them; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence


def cpus_of(text: str) -> set[int]:
    """Return the CPUs of a list of Linux: ``0-7,64-71``."""
    found: set[int] = set()
    for first, last in re.findall(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def judge_masks(
    masks: Sequence[str], online: str, near: Sequence[str]
) -> tuple[bool | None, str]:
    """Return whether masks are right, None: not seen; and what was seen.

    Args:
        masks: hexadecimal, one for each GPU.
        online: the CPUs of a node.
        near: the CPUs next to each of its GPUs, in the order of addresses, which is that
            of the drivers.
    """
    there = cpus_of(online)
    bits = [bin(int(each, 16))[:1:-1] for each in masks]
    wanted = [{cpu for cpu, bit in enumerate(each) if bit == "1"} for each in bits]
    if there and (beyond := set().union(*wanted) - there):
        return False, f"no CPU {min(beyond)}: a node has {len(there)}"
    if len(near) != len(wanted) or not all(map(cpus_of, near)):
        return None, f"a node has {len(there)} CPUs, and shows {len(near)} GPUs"
    for number, (mask, text) in enumerate(zip(wanted, near, strict=True)):
        if not mask <= cpus_of(text):
            return False, f"next to GPU {number} are the CPUs {text}"
    return True, "each is next to its GPU"


def masks_near(near: Sequence[str]) -> tuple[str, ...]:
    """Return a mask for each GPU: its share of the CPUs next to it; none: not known.

    Args:
        near: as ``judge_masks`` takes them; GPUs with the same CPUs share them out.
    """
    masks = []
    for number, text in enumerate(near):
        cpus, users = sorted(cpus_of(text)), near.count(text)
        size, at = len(cpus) // users, near[:number].count(text)
        masks.append(f"0x{sum(1 << each for each in cpus[at * size :][:size]):x}")
    return () if "0x0" in masks else tuple(masks)
