"""The new script: the old one, line by line, with with_envcfg before its launch lines."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

from envcfg.bash.modules import template
from envcfg.conversion.lines import LaunchLine
from envcfg.profile.words import quote_comment

STEP = "with_envcfg"


class Edit(NamedTuple):
    """What is put in the place of a part of the script; offsets."""

    start: int
    end: int
    text: str


def edits(lines: Sequence[LaunchLine], body: int, wrap: Sequence[str]) -> list[Edit]:
    """Return what is to be changed in a script.

    Args:
        lines: its launch lines.
        body: offset of the first line that does something.
        wrap: the command line of ``envcfg wrap`` for each.
    """
    command = " ".join(map(quote, wrap))
    function = template("job/has_envcfg_here").rstrip("\n") + "\n"
    function += template(f"job/{STEP}").replace("ENVCFG_WRAP", command)
    is_run = any(each.written.is_run for each in lines)
    if is_run or any("exec" in each.written.before for each in lines):
        function += template(f"job/exec_{STEP}")
    if is_run:
        function += template(f"job/run_{STEP}")
    found = [Edit(body, body, f"{function}\n")]
    for line in lines:
        found += _line_edits(line)
    return found


def _line_edits(line: LaunchLine) -> list[Edit]:
    """Put the function before the line, in the place of what it cannot follow."""
    written = line.written
    at = written.spans[written.first or 0][0]
    if written.is_run:
        return [Edit(at, at, f'bash -c "$run_{STEP}" {STEP} ')]
    step = f"exec_{STEP}" if "exec" in written.before else STEP
    return [
        *(
            Edit(written.spans[number][0], written.spans[number + 1][0], "")
            for number, word in enumerate(written.before)
            if word in {"exec", "command"}
        ),
        Edit(at, at, f"{step} "),
    ]


def apply_edits(chars: str, changes: Sequence[Edit]) -> str:
    """Return *chars* with all changes, none of which overlap."""
    parts, at = [], 0
    for start, end, text in sorted(changes, key=lambda each: each[:2]):
        parts += [chars[at:start], text]
        at = end
    return "".join([*parts, chars[at:]])


def head_line(made_by: Sequence[str]) -> str:
    """Return the comment that says how the script was made."""
    return f"# made by: {quote_comment(' '.join(map(quote, made_by)))}\n"


def line_text(line: LaunchLine, chars: str) -> str:
    """Return a launch line as it is in the new script."""
    start, end = line.written.start, line.written.end
    moved = [
        Edit(each.start - start, each.end - start, each.text)
        for each in _line_edits(line)
    ]
    return apply_edits(chars[start:end], moved)
