"""Names of nodes in the short form that srun's --nodelist and --exclude take; pure."""

import re
from collections.abc import Iterable

from envcfg.log.numbers import ranges

_NUMBERED = re.compile(r"(.*[^0-9]|)([0-9]+)")
_LONGEST = 18  # digits of the longest number in Slurm's ranges


def fold_nodes(names: Iterable[str]) -> str:
    """Return *names* as one list, numbers as ranges.

    >>> fold_nodes(["nid001001", "nid001000", "nid001003", "login"])
    'login,nid[001000-001001,001003]'
    """
    numbered: dict[tuple[str, int], list[int]] = {}
    parts: list[str] = []
    for name in sorted(set(names)):
        match = _NUMBERED.fullmatch(name)
        # Numbers of different width are different names, so they form their own range.
        if match and len(match[2]) <= _LONGEST:
            numbered.setdefault((match[1], len(match[2])), []).append(int(match[2]))
        else:
            parts.append(name)
    for (prefix, width), numbers in numbered.items():
        joined = ",".join(
            f"{first:0{width}}" + (f"-{last:0{width}}" if last > first else "")
            for first, last in ranges(sorted(numbers))
        )
        parts.append(prefix + (joined if len(numbers) == 1 else f"[{joined}]"))
    return ",".join(parts)
