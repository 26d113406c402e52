"""Help for narrow terminals: folds the lines that argparse leaves as they are written."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

SCREEN = 40  # lines of a help that is read at once
_WORD = re.compile(r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+")  # as a shell splits them
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FORMS = r"\n(?= +envcfg )"  # a usage may have several, each in a line of its own
_COLUMNS = re.compile(r"(?<=\S) {2,}(?=\S)")  # between a command and what it is for


def shortened(epilog: str, room: int) -> str:
    """Return as much of *epilog* as has room.

    What it must have are the first examples and the exit codes; the text above them comes
    next, then further examples.

    Args:
        room: lines that there are.
    """
    above, _, below = epilog.partition("examples:\n")
    first, *rest = re.split(r"\n\n(?=\S)", below)[0].rstrip().split("\n\n")
    codes = re.search(r"(?m)^exit codes: .*(?:\n .*)*", epilog)
    end = f"\n{codes[0]}\n" if codes else ""
    text = f"\nexamples:\n{first}\n"
    if above and f"{above}{text}{end}".count("\n") < room:
        text = f"\n{above.strip()}\n{text}"
    for each in rest:
        if f"{text}\n{each}\n{end}".count("\n") > room:
            break
        text += f"\n{each}\n"
    return text + end


def fold(text: str, width: int) -> str:
    """Return *text* with no line wider than *width* columns, but for words that are.

    What stands below ``examples:`` stays what a shell can read.
    """
    lines: list[str] = []
    is_shell = False
    for block in re.split(r"(?<=\n)(?=\n)|(?<=examples:\n)", text):
        first = block.lstrip("\n")[:1].strip()
        is_shell = (is_shell and not first) or block.endswith("examples:\n")
        fits = all(_seen(line) <= width for line in block.splitlines())
        if fits or block.strip().partition("\n")[0].endswith(":"):  # a list of options
            lines += block.splitlines()
        elif is_shell:
            for line in block.splitlines():
                lines += _fold_shell(line, width) if _seen(line) > width else [line]
        else:
            for form in re.split(_FORMS, block):
                lines += _fold_text(form, width)
    return "".join(f"{line}\n" for line in lines)


def _seen(line: str) -> int:
    """Return how many columns a line takes; Python 3.14 has colours in it."""
    return len(_COLOURS.sub("", line))


def _fold_text(block: str, width: int) -> Iterator[str]:
    """Yield a paragraph anew, its later lines indented as its second one is."""
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
    for what in rest:
        comment = what if what.startswith("#") else f"# {what}"
        yield from _wrap(f"{margin}  {comment}", width, f"{margin}  # ")


def _fold_command(line: str, width: int, margin: str) -> Iterator[str]:
    made = margin
    for word in _WORD.findall(line):
        if made.strip() and len(f"{made} {word} \\") > width:
            yield f"{made} \\"
            made = f"{margin}    "
        made += f" {word}" if made.strip() else word
    yield made
