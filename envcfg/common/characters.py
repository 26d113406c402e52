"""Replace characters that a report or terminal cannot show; compute the width of texts.

Logs, file names and profiles may contain any byte. They are read with
``surrogateescape``, so their texts may be invalid in UTF-8 files, XML and strict JSON.
They may also contain escapes that change the display of a terminal.
"""

import os
import re
from functools import lru_cache

Texts = tuple[str, ...]  # several names, paths or lines, in their order

_MOST_DIGITS = 9  # digits of a number; no count in a job has more
_MOST_CORES = 8192  # of a node
# Columns of a text: the default without a terminal, the fewest, and the most.
_WIDTH, _NARROWEST, _WIDEST = 80, 40, 120
# A command to copy, which stays on one line: options, placeholders, files, and all words
# after a double dash.
_COMMAND = (
    r"(?:\benvcfg [a-z-]+|\b(?:sed|sbatch|srun|python3?|source|export) \S+|--?\w[\w-]*)"
    r"(?: (?:-- [^;]*|-\S+|[A-Z]{2}\S*|\d\S*|\S*[/.=_]\S*))*"
)
_HELD = "\0"  # stands for a blank of a command
_SURROGATES = "[\ud800-\udfff]"
# Marks that change the direction of text are included: a log line could use them to
# look like another line.
_UNPRINTABLE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufffe\uffff]"
)


@lru_cache(maxsize=1)
def text_width() -> int:
    """Return the width of texts in columns: the terminal's width, within readable
    limits."""
    return min(screen_width(1) or _WIDTH, _WIDEST)


def screen_width(descriptor: int) -> int | None:
    """Return the columns of the stream *descriptor*; None for a pipe or a file.

    COLUMNS counts for every stream.

    ``shutil`` offers the same, but its import costs more than the rest of a help page.
    """
    try:
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size(descriptor)[0])
    except (ValueError, OSError):  # no number, or no terminal
        return None
    return max(_NARROWEST, width) if width > 0 else None


def fold(text: str, width: int | None) -> list[str]:
    """Return *text* as lines of at most *width* columns; None: one line.

    Words and commands to copy stay whole, even if they are longer. Further lines are
    indented by two more columns.

    >>> fold("  hint: write envcfg lint job.sh", 24)
    ['  hint: write', '    envcfg lint job.sh']
    """
    if width is None or len(text) <= width:
        return [text]
    import textwrap

    held = re.sub(_COMMAND, lambda match: match[0].replace(" ", _HELD), text)
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    # The room between columns of a table is part of the line.
    lines = textwrap.wrap(
        held,
        width,
        subsequent_indent=indent,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_HELD, " ") for line in lines]


def whole_number(text: str | None) -> int | None:
    """Return the decimal number in *text*; None for other texts, or too many digits.

    ``isdigit`` accepts characters that ``int`` rejects, and any number of digits, while
    ``int`` rejects thousands.

    >>> whole_number("12"), whole_number("\u00b2"), whole_number("9" * 5000)
    (12, None, None)
    """
    if not text or not text.isascii() or not text.isdigit():
        return None
    return int(text) if len(text) <= _MOST_DIGITS else None


def core_numbers(text: str) -> frozenset[int]:
    """Return the numbers of a list of cores such as ``0-7,64``; empty if it is none."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        a, b = whole_number(first), whole_number(last or first)
        if a is None or b is None or not 0 <= b - a < _MOST_CORES:
            return frozenset()
        numbers.update(range(a, b + 1))
    return frozenset(numbers)


def without_surrogates(text: str) -> str:
    r"""Return *text* with bytes that are not UTF-8 written as ``\xNN``.

    >>> without_surrogates("nid\udcff") == r"nid\xff"
    True
    """
    return text if text.isascii() else re.sub(_SURROGATES, _visible, text)


def printable(text: str) -> str:
    r"""Return *text* with an escape for every character that a page or XML cannot
    contain.

    >>> printable("\x1b[31mred") == r"\x1b[31mred"
    True
    """
    return text if text.isprintable() else re.sub(_UNPRINTABLE, _visible, text)


def split_lines(text: str) -> list[str]:
    r"""Return the lines of *text*, which end with a line feed and nothing else.

    ``splitlines`` also splits at form feeds, U+2028 and others, so that one line of a log
    or of a list could look like two.

    >>> split_lines("a\u2028b\r\nc\n")
    ['a\u2028b', 'c']
    """
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def joined_lines(text: str) -> str:
    r"""Return the lines of a program's message as one line.

    >>> joined_lines("error: no node\n  error: no job\n")
    'error: no node; error: no job'
    """
    lines = (line.strip() for line in split_lines(text))
    return "; ".join(filter(None, lines))


def one_line(text: str) -> str:
    r"""Return *text* with an escape for every character that a terminal would not show.

    >>> one_line("a\nb\x9b2K\u202e\xe9") == r"a\nb\x9b2K\u202e" + "\xe9"
    True
    """
    # Most texts are printable, and this test is fast.
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text
    )


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
