"""For which system a script was written, as far as it shows that by two signs or more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from envcfg.datafile import load_yaml
from envcfg.lint.source import Source

_FILE = os.path.join(os.path.dirname(__file__), "systems.yaml")
_COMMENT = re.compile(r"^[ \t]*#(?!SBATCH|PBS|flux:).*$", re.MULTILINE)
ENOUGH = 2


class Recognised(NamedTuple):
    """A profile, and by which signs the scripts show it."""

    profile: str
    signs: tuple[str, ...]


def recognise(sources: Iterable[Source]) -> Recognised | None:
    """Return the one system whose signs the scripts show; None where it is not clear."""
    text = "\n".join(_COMMENT.sub("", each.chars) for each in sources)
    found = []
    for name, signs in load_yaml(_FILE).items():
        seen = tuple(
            each["sign"]
            for each in signs
            if re.search(each["pattern"], text, re.MULTILINE)
        )
        if len(seen) >= ENOUGH:
            found.append(Recognised(name, seen))
    most = max((len(each.signs) for each in found), default=0)
    best = [each for each in found if len(each.signs) == most]
    return best[0] if len(best) == 1 else None
