"""Help for narrow terminals: fold the lines that argparse leaves unchanged."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

SCREEN = 40  # lines of a help page that can be read at once
_WORD = re.compile(r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+")  # words as in a shell
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FORMS = r"\n(?= +envcfg )"  # a usage may have several forms, each on its own line
_COLUMNS = re.compile(r"(?<=\S) {2,}(?=\S)")  # between a command and its purpose


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


def fold(text: str, width: int) -> str:
    """Wrap *text* at *width* columns, except for longer words.

    Lines below ``examples:`` remain valid for a shell.
    """
    lines: list[str] = []
    is_shell = False
    for block in re.split(r"(?<=\n)(?=\n)|(?<=examples:\n)", text):
        first = block.lstrip("\n")[:1].strip()
        is_shell = (is_shell and not first) or block.endswith("examples:\n")
        fits = all(_width(line) <= width for line in block.splitlines())
        if fits:
            lines += block.splitlines()
        elif block.strip().partition("\n")[0].endswith(":"):  # a list in columns
            for line in block.splitlines():
                is_title = line.endswith(":") and _width(line) > width
                lines += _wrap(line, width, _margin(line)) if is_title else [line]
        elif is_shell:
            for line in block.splitlines():
                lines += _fold_shell(line, width) if _width(line) > width else [line]
        else:
            for form in re.split(_FORMS, block):
                lines += _fold_text(form, width)
    return "".join(f"{line}\n" for line in lines)


def _width(line: str) -> int:
    """Return the number of columns of a line; Python 3.14 adds colours to it."""
    return len(_COLOURS.sub("", line))


def _fold_text(block: str, width: int) -> Iterator[str]:
    """Yield a paragraph wrapped again, with the indentation of its second line."""
    first, *rest = block.strip("\n").splitlines()
    yield from [""] * (len(block) - len(block.lstrip("\n")))
    is_usage = first.startswith(("usage:", " "))
    margin = _margin(rest[0]) if rest else f"{_margin(first)}  " if is_usage else ""
    yield from _wrap(" ".join([first, *(line.strip() for line in rest)]), width, margin)


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _wrap(line: str, width: int, margin: str) -> list[str]:
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _fold_shell(line: str, width: int) -> Iterator[str]:
    margin = _margin(line)
    if line.startswith(f"{margin}# "):
        yield from _wrap(line, width, f"{margin}# ")
        return
    command, *rest = _COLUMNS.split(line, maxsplit=1)
    yield from _fold_command(command, width, margin)
    for message in rest:
        comment = message if message.startswith("#") else f"# {message}"
        yield from _wrap(f"{margin}  {comment}", width, f"{margin}  # ")


def _fold_command(line: str, width: int, margin: str) -> Iterator[str]:
    text = margin
    for word in _WORD.findall(line):
        if text.strip() and len(f"{text} {word} \\") > width:
            yield f"{text} \\"
            text = f"{margin}    "
        text += f" {word}" if text.strip() else word
    yield text
