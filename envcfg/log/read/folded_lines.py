r"""Several lines in one string of JSON, as collectors of logs fold them.

A launcher writes its report in one piece, and a collector keeps the piece as one record:
``{"log": "train.py FAILED\nRoot Cause ..."}``. Exports of CloudWatch put each record on
its own line: ``"message": "train.py FAILED",``.
"""

import re
from collections.abc import Iterator

_STRING = re.compile(
    rb'(?m)^[ \t]*(?:\{(?:[^\n]{0,400}?, ?)??)?"(?:log|message|msg)": ?'
    rb'"((?:[^"\\\n]|\\.)*)"[^\n]*$'
)
_ESCAPE = re.compile(rb'\\(u001[bB]|["\\/tr])')
_CHARACTERS = {b"u001b": b"\x1b", b"u001B": b"\x1b", b"t": b"\t", b"r": b" "}
_BREAK = b"\\n"
_PAIR = re.compile(rb"\\.")
# A quoted line of NCCL proves nothing, and JSON is such a quote. Samples of chats are data.
_QUOTED = re.compile(rb'NCCL |"(?:role|content|prompt|text)": ?')


def unfolded(text: bytes) -> bytes:
    """Return *text* with the lines in its strings of JSON, and with the same length."""
    # The common log has no record of JSON, which two fast searches show.
    if b"\\" not in text and b'"message": "' not in text:
        return text
    return _STRING.sub(_lines_of, text)


def rows_of(text: bytes, folded: bytes) -> list[int]:
    """Return for each line of *text* the number of its line in *folded*."""
    rows, start, row = [], 0, 0
    for line in text.removesuffix(b"\n").split(b"\n"):
        rows.append(row)
        end = start + len(line) + 1
        row += folded.count(b"\n", start, end)
        start = end
    return rows


def _lines_of(match: re.Match[bytes]) -> bytes:
    whole, string = match[0], match[1]
    is_record = whole.lstrip().startswith(b'"')
    parts = [*_parts(string)] or [b""]
    # One line in a record of an engine is read as such a record.
    if _QUOTED.search(whole) or not (is_record or len(parts) > 1):
        return whole
    plain = [_ESCAPE.sub(_character, part) for part in parts]
    lines = [line.ljust(len(part) + 1) for line, part in zip(plain, parts, strict=True)]
    last = lines.pop().rstrip()
    text = b"".join(line + b"\n" for line in lines) + last
    return text.ljust(len(whole))


def _parts(string: bytes) -> Iterator[bytes]:
    """Yield the lines in a string of JSON, without an empty one at its end."""
    start = 0
    for pair in _PAIR.finditer(string):
        if pair[0] == _BREAK:
            yield string[start : pair.start()]
            start = pair.end()
    if start < len(string):
        yield string[start:]


def _character(match: re.Match[bytes]) -> bytes:
    return _CHARACTERS.get(match[1], match[1])
