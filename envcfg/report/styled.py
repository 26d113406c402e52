"""Lines with styles: colours on a terminal, plain text elsewhere.

Quoted texts may be hostile, so no line is split or changes the terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TextIO

from envcfg.common.characters import fold, screen_width, text_width
from envcfg.common.failure import STDOUT, CommandLine
from envcfg.common.secrets import safe_line

if TYPE_CHECKING:
    from rich.console import Console

Line = tuple[str, str]  # style, as rich names it, and text
_LEAST = 8  # columns of a cell that is cut
_PLAIN = frozenset({"dumb", "unknown"})  # values of TERM


def is_styled(stream: TextIO | None = None) -> bool:
    """Return whether *stream* (default: stdout) gets colours.

    ``--color`` comes first, unless it is ``auto``. NO_COLOR turns colours off, whatever
    its value (https://no-color.org). Otherwise FORCE_COLOR (https://force-color.org; 0:
    off) and CLICOLOR_FORCE turn them on, even in a pipe. Without these, only a terminal
    gets colours.
    """
    if CommandLine.color in {"always", "never"}:
        return CommandLine.color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced != "0"
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") not in _PLAIN


def is_screen(stream: TextIO | None = None) -> bool:
    """Return whether lines of *stream* can be overwritten, as for a progress bar."""
    has_cursor = (stream or sys.stdout).isatty()
    return has_cursor and is_styled(stream) and os.environ.get("TERM") not in _PLAIN


def make_console() -> Console:
    """Return a console for stdout, with escapes only if they are wanted."""
    from rich.console import Console

    if not is_styled():
        return Console(highlight=False, color_system=None)
    plain = os.environ.get("TERM") in _PLAIN
    system: Literal["standard", "auto"] = "standard" if plain else "auto"
    # The result of is_styled overrides the variables that rich reads itself.
    return Console(
        highlight=False, color_system=system, force_terminal=True, no_color=False
    )


def wrapped(text: str, first: str, then: str | None = None) -> list[str]:
    """Return *text* wrapped at the text width, after *first* and *then* (default:
    *first*)."""
    import textwrap

    return textwrap.wrap(
        text,
        text_width(),
        initial_indent=first,
        subsequent_indent=first if then is None else then,
        break_long_words=False,
        break_on_hyphens=False,
    )


def in_columns(rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Return a line for each row, its cells as wide as the widest of their column.

    Args:
        rows: texts, with those of the head first.
        width: the most columns of a line, for which the widest cells are cut.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = width - 2 * len(widths) if width else sum(widths)
    while sum(widths) > room and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    padded = (map(_cut, row, widths) for row in rows)
    return ["  ".join(cells).rstrip() for cells in padded]


def _cut(cell: str, width: int) -> str:
    return cell.ljust(width) if len(cell) <= width else f"{cell[: width - 1]}…"


def put(lines: Iterable[Line]) -> None:
    """Write *lines* to stdout, no wider than its terminal."""
    width = screen_width(STDOUT)
    lines = (
        (style, part) for style, text in lines for part in fold(safe_line(text), width)
    )
    if not is_styled():
        sys.stdout.write("".join(f"{text}\n" for _, text in lines))
        return
    from rich.text import Text

    console = make_console()
    for style, text in lines:
        console.print(Text(text, style=style), soft_wrap=True)
