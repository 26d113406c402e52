"""Pieces of shell text: templates with blocks to fill in, and what is left of them.

A template is valid shell by itself. Blocks stand between ``# envcfg:begin NAME`` and
``# envcfg:end NAME``; functions that nothing calls are left out of the result.
"""

from __future__ import annotations

import os.path
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
_BLOCK = re.compile(
    r"^(?P<indent>[ ]*)# envcfg:begin (?P<name>\w+)\n"
    r"(?P<body>.*?)^[ ]*# envcfg:end (?P=name)\n",
    re.MULTILINE | re.DOTALL,
)
_FUNCTION = re.compile(  # with the comment above it and the empty line below
    r"^(?:#[^\n]*\n)*(?P<name>envcfg_\w+)\(\) \{.*?^\}\n\n?", re.MULTILINE | re.DOTALL
)
_WIDTH = 88
_WORD = re.compile(r"\benvcfg_\w+")


def template(name: str, blocks: Mapping[str, str] | None = None) -> Template:
    """Return the text of a template, without its shellcheck line, with blocks filled.

    Args:
        name: path in the folder of templates, without ``.sh``.
        blocks: text for blocks by name, free of values; the others keep theirs. It gets
            the margin that the block has.
    """
    text = _read(name)
    text = text.partition("\n")[2].lstrip("\n")  # the first line is for shellcheck
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


def has_template(name: str) -> bool:
    """Tell whether there is such a template."""
    return os.path.exists(os.path.join(_TEMPLATES, f"{name}.sh"))


def _read(name: str) -> str:
    with open(os.path.join(_TEMPLATES, f"{name}.sh"), encoding="utf-8") as file:
        return file.read()


def title(text: str) -> str:
    """Return the comment that begins a section."""
    return f"# --- {text} ".ljust(_WIDTH - 2, "-")


class Template(str):
    """Shell text of envcfg's own, without a value in it; ``assemble`` may shorten it."""

    __slots__ = ()


def assemble(pieces: Sequence[str], roots: Collection[str] = ()) -> str:
    """Join the pieces; functions of templates that nothing uses are left out.

    Generated pieces hold values of any shape, so only a ``Template`` is ever cut.

    Args:
        pieces: in order; an empty line goes between them.
        roots: names of functions that stay, used or not.
    """
    texts = list(pieces)
    uses = Counter(word for text in texts for word in _WORD.findall(text))

    def keep(match: re.Match[str]) -> str:
        words = Counter(_WORD.findall(match[0]))
        name = match["name"]
        if name in roots or uses[name] > words[name]:
            return match[0]
        uses.subtract(words)
        return ""

    before = -1
    while before != (before := sum(map(len, texts))):  # one cut may make way for others
        for at, text in enumerate(texts):
            if isinstance(text, Template):
                texts[at] = Template(_FUNCTION.sub(keep, text))
    bare = (text.strip("\n") for text in texts)
    return "\n\n".join(text for text in bare if text) + "\n"


def heredoc(variable: str, text: str) -> str:
    """Return bash that sets *variable* to *text*, to be read without any escapes."""
    mark = "ENVCFG_TEXT"
    lines = set(text.splitlines())
    while mark in lines:  # a value may hold any line, this one too
        mark += "_"
    return (
        f"IFS= builtin read -r -d '' {variable} <<'{mark}' || : # until the text ends\n"
        f"{text.rstrip()}\n{mark}\n"
    )
