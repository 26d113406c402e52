"""Texts that bash refuses: scripts, and the strings that their shells run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from envcfg.lint.bash_check import NoBashError, Refusal, find_refusal
from envcfg.lint.grammar import parse
from envcfg.lint.lint_rule import Edit, Fault, ScriptJob, detects, known_values
from envcfg.lint.script_source import BASH
from envcfg.lint.traced_text import Flat

_MOST = 40  # texts for bash itself
_ENDS = re.compile(r"(?:exit|exec)\b")
_DOCUMENT = re.compile(r"here-document at line (\d+) ")


@detects("EC748")
def refused_text(job: ScriptJob) -> Iterator[Fault]:
    """Text that bash refuses to read to its end."""
    seen: set[tuple[str, int]] = set()
    for text in job.model.texts:
        key = text.flat.chars, text.flat.origin(0)
        if text.shell not in BASH or key in seen or not text.flat.chars.strip():
            continue
        seen.add(key)
        refusal = None
        # Without bash, notes name the parts that the grammar cannot read.
        with suppress(NoBashError):
            refusal = find_refusal(text.flat.chars) if len(seen) <= _MOST else None
        if refusal is not None:
            yield _refused(text.flat, refusal)


def _refused(flat: Flat, refusal: Refusal) -> Fault:
    """Return the fault that bash reports, at the slip that causes it, if there is one."""
    words_of_bash, line = {"message": refusal.message}, _line(flat.chars, refusal.line)
    if refusal.is_warning:
        document = _DOCUMENT.search(refusal.message)
        begin, _ = _line(flat.chars, int(document[1])) if document else line
        return Fault(flat.origin(begin), words_of_bash, "no-end")
    # Text after the end of the script is never read, so it is only a note.
    if _ends_before(flat.chars, line[0]):
        return Fault(flat.origin(line[0]), words_of_bash, "never")
    for slip in known_values("EC748", "slips")["patterns"]:
        for match in re.compile(slip["pattern"]).finditer(flat.chars, 0, line[1]):
            fault = _mended(flat, match, slip, words_of_bash)
            if fault is not None:
                return fault
    placeholder = re.compile(r"<[^<>|;&\n]+>").search(flat.chars, *line)
    if placeholder:
        words = {**words_of_bash, "name": placeholder[0]}
        return Fault(flat.origin(placeholder.start()), words, "placeholder")
    return Fault(flat.origin(line[0]), words_of_bash)


def _mended(
    flat: Flat,
    match: re.Match[str],
    slip: dict[str, str],
    words_of_bash: dict[str, str],
) -> Fault | None:
    """Return the fault of a slip; None if bash refuses the text even after its repair."""
    right = match.expand(slip["right"])
    chars = flat.chars[: match.start()] + right + flat.chars[match.end() :]
    try:
        after = find_refusal(chars)
    except NoBashError:
        return None
    before = flat.chars.count("\n", 0, match.start()) + 1
    # The slip is proven only if its repair moves the error further down.
    if after is not None and (after.is_warning or after.line <= before):
        return None
    begin, end = flat.origin(match.start()), flat.origin(match.end() - 1) + 1
    is_one = end - begin == len(match[0])
    edit = Edit(begin, end, right) if is_one and after is None else None
    words = {**words_of_bash, "wrong": match[0].strip(), "right": right.strip()}
    return Fault(begin, words, "slip", edit=edit)


def _line(chars: str, number: int) -> tuple[int, int]:
    """Return the offsets of a line's first character after blanks, and of its end."""
    begin = 0
    for _ in range(number - 1):
        following = chars.find("\n", begin) + 1
        if not 0 < following < len(chars):
            break
        begin = following
    end = chars.find("\n", begin)
    end = end if end >= 0 else len(chars)
    return begin + len(chars[begin:end]) - len(chars[begin:end].lstrip()), end


def _ends_before(chars: str, at: int) -> bool:
    """Return whether the script ends before an offset, so that bash never reads it."""
    for node in parse(chars).children:
        if node.end_byte > at or node.type == "ERROR":
            return False
        if node.type == "command" and _ENDS.match(chars, node.start_byte):
            return node.child_count > 1 or chars.startswith("exit", node.start_byte)
    return False
