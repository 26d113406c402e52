"""Pieces of shell text: templates with blocks to fill in, and what is left of them.

A template is valid shell by itself. Blocks stand between ``# envcfg:begin NAME`` and
``# envcfg:end NAME``; functions that nothing calls are left out of the result.
"""

import os.path
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from envcfg.datafile import is_data, read_text

_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
_BEGIN = "# envcfg:begin "
_BLOCK = re.compile(
    r"^(?P<indent>[ ]*)# envcfg:begin (?P<name>[\w-]+)\n"
    r"(?P<body>.*?)^[ ]*# envcfg:end (?P=name)\n",
    re.MULTILINE | re.DOTALL,
)
_FUNCTION = re.compile(r"\n(?P<name>envcfg_\w+)\(\) \{")
_WIDTH = 88
_WORD = re.compile(r"envcfg_\w+")


def template(name: str, blocks: Mapping[str, str] | None = None) -> "Template":
    """Return the text of a template, without its shellcheck line, with blocks filled.

    Args:
        name: path in the folder of templates, without ``.sh``.
        blocks: text for blocks by name, free of values; the others keep theirs. It gets
            the margin that the block has.
    """
    text = _read(name)
    text = text.partition("\n")[2].lstrip("\n")  # the first line is for shellcheck
    if _BEGIN not in text:
        return Template(text)
    given = blocks or {}

    def fill(match: re.Match[str]) -> str:
        if match["name"] not in given:
            return match["body"]
        lines = given[match["name"]].splitlines(keepends=True)
        return "".join(f"{match['indent']}{line}" for line in lines)

    return Template(_BLOCK.sub(fill, text))


def blocks_of(name: str) -> dict[str, str]:
    """Return what the blocks of a template hold, by name."""
    return {match["name"]: match["body"] for match in _BLOCK.finditer(_read(name))}


@cache
def has_template(name: str) -> bool:
    """Tell whether there is such a template."""
    return is_data(os.path.join(_TEMPLATES, f"{name}.sh"))


@cache
def _read(name: str) -> str:
    return read_text(os.path.join(_TEMPLATES, f"{name}.sh"))


def title(text: str) -> str:
    """Return the comment that begins a section."""
    return f"# --- {text} ".ljust(_WIDTH - 2, "-")


class Template(str):
    """Shell text of envcfg's own, without a value in it; ``assemble`` may shorten it."""

    __slots__ = ()


class _Part(NamedTuple):
    """A part of a piece.

    Attributes:
        name: the function that it is, with the comment above it and the empty line below;
            empty for all else.
        text: its lines.
        words: the names of functions in it, its own among them, each as often as it is
            there.
    """

    name: str
    text: str
    words: tuple[str, ...]


def assemble(pieces: Sequence[str], roots: Collection[str] = ()) -> str:
    """Join the pieces; functions of templates that nothing uses are left out.

    Generated pieces hold values of any shape, so only a ``Template`` is ever cut.

    Args:
        pieces: in order; an empty line goes between them.
        roots: names of functions that stay, used or not.
    """
    cut = [
        _cut(text) if isinstance(text, Template) else (_part("", text),)
        for text in pieces
    ]
    uses = Counter(word for parts in cut for part in parts for word in part.words)
    functions = [
        part for parts in cut for part in parts if part.name not in {"", *roots}
    ]
    left_out: list[_Part] = []
    before = -1
    while before != (before := len(left_out)):  # one that goes may make way for others
        for part in functions:
            if uses[part.name] <= part.words.count(part.name):
                uses.subtract(part.words)
                left_out.append(part)
        functions = [part for part in functions if part not in left_out]
    bare = (
        "".join(part.text for part in parts if part not in left_out).strip("\n")
        for parts in cut
    )
    return "\n\n".join(text for text in bare if text) + "\n"


@cache
def _cut(text: str) -> tuple[_Part, ...]:
    """Return the functions of *text*, and what stands between them."""
    parts: list[_Part] = []
    done = 0
    for head in _FUNCTION.finditer(f"\n{text}"):
        start = head.start()  # the match begins a line break before its line
        while start > done:
            above = text.rfind("\n", 0, start - 1) + 1
            if not text.startswith("#", above):
                break
            start = above
        end = text.index("\n}\n", head.end() - 1) + len("\n}\n")
        end += text.startswith("\n", end)
        parts += [_part("", text[done:start]), _part(head["name"], text[start:end])]
        done = end
    return (*parts, _part("", text[done:]))


def _part(name: str, text: str) -> _Part:
    return _Part(name, text, tuple(functions_in(text)))


def functions_in(text: str) -> list[str]:
    """Return the names of envcfg's functions in *text*, each as often as it is there."""
    return _WORD.findall(text)


def heredoc(variable: str, text: str) -> str:
    """Return bash that sets *variable* to *text*, to be read without any escapes."""
    mark = "ENVCFG_TEXT"
    lines = set(text.splitlines())
    while mark in lines:  # a value may hold any line, this one too
        mark += "_"
    return (
        f"IFS= builtin read -r -d '' {variable} <<'{mark}' "
        "|| builtin : # until the text ends\n"
        f"{text.rstrip()}\n{mark}\n"
    )
