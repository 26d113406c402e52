"""Characters that a report or a terminal cannot hold, written out; how wide texts are.

A log, a file's name and a profile may hold any byte. They are read with
``surrogateescape``, so a text taken from them may hold what no file in UTF-8, no XML and no
strict JSON reader accepts; and escapes, by which a terminal shows what is not there.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

_MOST_DIGITS = 9  # of a number; no count of anything in a job has more
# Columns of a text: without a terminal, the fewest, the most.
_WIDTH, _NARROWEST, _WIDEST = 88, 60, 120
_SURROGATES = "[\ud800-\udfff]"
# Besides these, marks that turn the direction of text: a log line could use them to
# show itself as another.
_UNPRINTABLE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufffe\uffff]"
)


@lru_cache(maxsize=1)
def text_width() -> int:
    """Return how wide texts are, in columns: as the terminal, where that reads well.

    ``shutil`` would do it, and costs more than all else that a help needs.
    """
    try:
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns)
    except (ValueError, OSError):  # no number, or no terminal
        return _WIDTH
    return max(_NARROWEST, min(width, _WIDEST)) if width > 0 else _WIDTH


def whole_number(text: str | None) -> int | None:
    """Return the number that *text* is, in digits; None for anything else, or too many.

    ``isdigit`` alone takes signs that ``int`` refuses, and any number of digits, of which
    ``int`` refuses thousands.

    >>> whole_number("12"), whole_number("\u00b2"), whole_number("9" * 5000)
    (12, None, None)
    """
    if not text or not text.isascii() or not text.isdigit():
        return None
    return int(text) if len(text) <= _MOST_DIGITS else None


def without_surrogates(text: str) -> str:
    r"""Return *text* with bytes that were no UTF-8 written as ``\xNN``.

    >>> without_surrogates("nid\udcff") == r"nid\xff"
    True
    """
    return text if text.isascii() else re.sub(_SURROGATES, _visible, text)


def printable(text: str) -> str:
    r"""Return *text* with every character that a page or XML cannot hold written out.

    >>> printable("\x1b[31mred") == r"\x1b[31mred"
    True
    """
    return text if text.isprintable() else re.sub(_UNPRINTABLE, _visible, text)


def one_line(text: str) -> str:
    r"""Return *text* with all written out that a terminal would not show as it stands.

    >>> one_line("a\nb\x9b2K\u202e\xe9") == r"a\nb\x9b2K\u202e" + "\xe9"
    True
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
