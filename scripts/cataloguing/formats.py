"""What C sources print: calls of the logging macros, their formats, and what follows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL
)
_CALL = re.compile(r"\b(?P<macro>(?:NCCL_OFI_)?(?:WARN|INFO))\s*\(")
_PIECE = re.compile(r'"((?:\\.|[^"\\])*)"|(\w+)|(\?)')
_CONVERSION = re.compile(
    r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?(?:hh?|ll?|[zjtLq])?([diouxXcsfgeEpn])"
)
_KINDS = {**dict.fromkeys("diou", "d"), **dict.fromkeys("xXp", "x"), "s": "s", "c": "s"}
_FAILS = re.compile(
    r"\bgoto\b|\bthrow\b|\b(?:exit|abort)\s*\(|\breturn\s+(?!ncclSuccess|0\s*;|;)\S"
    r"|\b\w*(?:ret|res|result|rc|status|err|error)\w*\s*=\s*(?:nccl\w*Error|-\w)"
    r"|=\s*nccl(?:System|Internal|Invalid|Unhandled|Remote)\w+"
)
_ENDS = re.compile(r"[{}]|\b(?:case\b|default\s*:)")
_NEAR = 400  # characters in which what follows a warning is looked for


class Printed(NamedTuple):
    """A format that a source prints.

    Attributes:
        warns: it is a warning; else a line of level INFO.
        format: conversions are %s, %d, %x or %f, ends of lines are \\n.
        fails: the call that prints it fails, as far as the lines around it show.
    """

    warns: bool
    format: str
    fails: bool


def printed(source: str) -> Iterator[Printed]:
    """Yield every format that *source*, a C or C++ file, prints as a warning or INFO."""
    text = _without_comments(source)
    for found in _CALL.finditer(text):
        line = text.rfind("\n", 0, found.start()) + 1
        if re.match(r"\s*#\s*define\s+\w*$", text[line : found.start()]):
            continue
        end = _end(text, found.end())
        warns = found["macro"].endswith("WARN")
        words = text[found.end() : end]
        prefix = "NET/OFI " if found["macro"].startswith("NCCL_OFI_") else ""
        fails = _is_failure(text, found.start(), end)
        for each in _formats(words if warns else words.partition(",")[2]):
            yield Printed(warns, f"{prefix}{each}", fails)


def _without_comments(source: str) -> str:
    """Return *source* without comments, and without ends of lines inside statements."""
    source = source.replace("\\\r\n", " ").replace("\\\n", " ")
    return _TOKEN.sub(lambda m: m[0] if m[0][0] in "\"'" else " ", source)


def _end(text: str, at: int) -> int:
    """Return where the parenthesis that is open at *at* is closed."""
    depth = 1
    for found in re.compile(rf"{_TOKEN.pattern}|[()]", re.DOTALL).finditer(text, at):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if not depth:
            return found.start()
    return at


def _formats(words: str) -> list[str]:
    """Return the formats in *words*, arguments of a call: two where a condition chooses.

    What is put together from macros holds %s where their text would be.
    """
    alternatives, text, chosen = [], "", False
    depth = 0
    for found in re.compile(rf"{_PIECE.pattern}|([(),:])").finditer(words):
        literal, name, question, mark = found.groups()
        if mark == "," and depth == 0:
            break
        depth += {"(": 1, ")": -1}.get(mark, 0)
        if question:
            text, chosen = "", True
        elif mark == ":" and chosen:
            alternatives.append(text)
            text = ""
        elif literal is not None:
            text += literal
        elif name and name.startswith("PRI"):
            text += "x" if name[3] in "xX" else "d"
        elif name and not chosen:
            text += "%s"
    return [
        _plain(each)
        for each in (*alternatives, text)
        if re.search("[A-Za-z]", _CONVERSION.sub("", each))
    ]


def _plain(text: str) -> str:
    """Return a format with the same words for the same thing."""
    text = text.replace("%%", "\0")
    text = _CONVERSION.sub(lambda m: f"%{_KINDS.get(m[1], 'f')}", text)
    text = text.replace("\0", "%%").replace('\\"', '"').replace("\\t", " ")
    return re.sub(r" +", " ", text).strip().removesuffix("\\n").strip()


def _is_failure(text: str, start: int, end: int) -> bool:
    """Return whether the block of a call at *start* hands an error up.

    That is so where, before the block ends, it returns or jumps with an error, or where
    the statement before the call has set one.
    """
    behind = text[end : end + _NEAR]
    if ends := _ENDS.search(behind):
        behind = behind[: ends.start()]
    before = text[max(0, start - _NEAR) : start]
    before = before[max(before.rfind(each) for each in "{}") + 1 :]
    return bool(_FAILS.search(behind) or _FAILS.search(before))
