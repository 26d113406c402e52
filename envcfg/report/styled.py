"""Lines with a style each: colours on a terminal, plain text elsewhere.

What they quote may be anybody's: no line becomes two, or does anything to a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from envcfg.report.characters import one_line

Line = tuple[str, str]  # style, as rich names it, and text


def put(lines: Iterable[Line]) -> None:
    """Write *lines* to stdout."""
    if not sys.stdout.isatty():
        sys.stdout.write("".join(f"{one_line(text)}\n" for _, text in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for style, text in lines:
        console.print(Text(one_line(text), style=style), soft_wrap=True)
