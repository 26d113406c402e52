"""Lines with a style each: colours on a terminal, plain text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable

Line = tuple[str, str]  # style, as rich names it, and text


def put(lines: Iterable[Line]) -> None:
    """Write *lines* to stdout."""
    if not sys.stdout.isatty():
        sys.stdout.write("".join(f"{text}\n" for _, text in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for style, text in lines:
        console.print(Text(text, style=style), soft_wrap=True)
