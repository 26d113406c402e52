"""The lines of a script that sbatch reads, with where each option stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.lint.grammar import parse
from envcfg.lint.model import Directive
from envcfg.lint.program import sbatch_options
from envcfg.lint.text import Flat

_LINE = re.compile(r"#SBATCH[ \t]+(.*)", re.DOTALL)
_WORD = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")
_FIRST = re.compile(r"^[ \t]*[^#\s]", re.MULTILINE)


def read_directives(flat: Flat) -> Iterator[Directive]:
    """Yield every option of every ``#SBATCH`` line; ``##SBATCH`` is a comment.

    Lines in here-documents are not of this script, nor are such within a branch.
    """
    first = _FIRST.search(flat.chars)
    end = first.start() if first else len(flat.chars)
    for node in parse(flat.chars).children:
        line = _LINE.match(flat.chars, node.start_byte, node.end_byte)
        begin = node.start_byte
        if node.type == "comment" and line and flat.chars[max(begin - 1, 0)] in "\n#":
            words = [
                (w[0], flat.origin(line.start(1) + w.start()))
                for w in _WORD.finditer(line[1])
            ]
            yield from _options(words, flat.origin(begin), late=begin > end)


def _options(
    words: list[tuple[str, int]], line_at: int, *, late: bool
) -> Iterator[Directive]:
    sbatch = sbatch_options()
    at = 0
    while at < len(words):
        word, offset = words[at]
        at += 1
        if word.startswith("#"):
            return
        if not word.startswith("-"):
            continue
        following = words[at][0] if at < len(words) else None
        value: str | None = None
        if word.startswith("--"):
            name, equals, rest = word[2:].partition("=")
            if equals:
                value = rest
            elif name in sbatch.values and following is not None:
                value = following
                at += 1
        else:
            name = sbatch.short.get(word[1:2], word[1:2])
            if len(word) > 2:
                value = word[2:].removeprefix("=")
            elif word[1:2] in sbatch.short and name != "exclude":
                value = following
                at += 1
        name = sbatch.same.get(name, name)
        value = value.strip("\"'") if value is not None else None
        yield Directive(name, value, offset, line_at, late)
