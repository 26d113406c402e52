"""Help that fits on a screen: the examples that there is room for."""

from __future__ import annotations

import re

SCREEN = 40  # lines of a help page that can be read at once


def shortened(epilog: str, room: int) -> str:
    """Return the parts of *epilog* that fit.

    The first examples and the exit codes are always included. The text above them comes
    next, then further examples.

    Args:
        room: the number of available lines.
    """
    above, _, below = epilog.partition("examples:\n")
    first, *rest = re.split(r"\n\n(?=\S)", below)[0].rstrip().split("\n\n")
    codes = re.search(r"(?m)^exit codes: .*(?:\n.+)*", epilog)
    end = f"\n{codes[0]}\n" if codes else ""
    text = f"\nexamples:\n{first}\n"
    if above and f"{above}{text}{end}".count("\n") < room:
        text = f"\n{above.strip()}\n{text}"
    for line in rest:
        if f"{text}\n{line}\n{end}".count("\n") > room:
            break
        text += f"\n{line}\n"
    return text + end
