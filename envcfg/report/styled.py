"""Lines with a style each: colours on a terminal, plain text elsewhere.

What they quote may be anybody's: no line becomes two, or does anything to a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from envcfg.characters import one_line

if TYPE_CHECKING:
    from rich.console import Console

Line = tuple[str, str]  # style, as rich names it, and text


def is_styled(stream: TextIO | None = None) -> bool:
    """Return whether *stream* (default: stdout) is a terminal that is to show colours.

    https://no-color.org: whatever NO_COLOR is set to, but to nothing, turns them off.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
    return not plain and (stream or sys.stdout).isatty()


def make_console() -> Console:
    """Return what prints to stdout, with escapes only where they are wanted."""
    from rich.console import Console

    return Console(highlight=False, color_system="auto" if is_styled() else None)


def put(lines: Iterable[Line]) -> None:
    """Write *lines* to stdout."""
    if not is_styled():
        sys.stdout.write("".join(f"{one_line(text)}\n" for _, text in lines))
        return
    from rich.text import Text

    console = make_console()
    for style, text in lines:
        console.print(Text(one_line(text), style=style), soft_wrap=True)
