"""Measure the language of the project: names, docstrings, comments and texts.

The counts show where a reader may stumble; they do not judge style. The lists hold the
words that readers of the project reported as unclear.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_VAGUE_NAMES = frozenset(
    "said known found given made asked wanted told taken kept shown seen left named read"
    " held chosen started each one other others at what who whole whose there here them"
    " they it".split()
)
_NOUN_CLAUSE = re.compile(
    r"\b(what|who|whose|whom|where it|of which|as it is)\b", re.IGNORECASE
)
_PHRASES = re.compile(
    r"\bstands?\b(?!-| for\b| out\b| still\b| alone\b)"
    r"|\b(?:says?|said|tells?|told)\b"
    r"|who says so|whose word|the user's word"
    r"|\b[Ww]here (?:it|there|no|that|one|a|the|nobody|somebody|its|they)\b"
    r"|\bfor ever\b"
    r"|, as (?:it|they|the|only|its|of|there|ranks|each|such)\b"
    r"|\bof (?:which|whom)\b|\bby (?:which|whom)\b"
    r"|\b(?:held|hold|holds) (?:a |each |every |it |its |the )?[^.]{0,20}against"
    r"|\blet\b|\b(?:nobody|somebody|everybody)\b|\balike\b|\bbut for\b"
)
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
# Generated pages repeat the texts of rules, profiles and variables.
_GENERATED = frozenset({"lint", "systems", "reference"})


class Share(NamedTuple):
    """A count, the total it refers to, and the places of the counted cases."""

    count: int
    total: int
    places: tuple[str, ...] = ()

    @property
    def percent(self) -> float:
        """The count in percent of the total."""
        return 100 * self.count / max(1, self.total)


class Language(NamedTuple):
    """The measures of a checkout.

    Attributes:
        names: bound names (assignments, loop variables, arguments) that are pronouns or
            bare participles.
        docstrings: first paragraphs of docstrings with a noun clause ("what ...").
        comments: comments, of the non-empty lines of code.
        texts: unusual phrases, of the words in README, handwritten pages and help.
    """

    names: Share
    docstrings: Share
    comments: Share
    texts: Share


def measure_language(root: Path) -> Language:
    """Return the four measures of the checkout at *root*."""
    sources = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in sorted((root / "envcfg").rglob("*.py"))
    }
    trees = {path: ast.parse(source) for path, source in sources.items()}
    return Language(
        _measure_names(trees),
        _measure_docstrings(trees),
        _measure_comments(sources.values()),
        _measure_texts(root),
    )


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each bound name with its line: assignments, loop variables and arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def first_paragraphs(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the first paragraph of each docstring with the line of its owner."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node)
            if text:
                first = text.split("\n\n")[0].replace("\n", " ")
                yield first, getattr(node, "lineno", 1)


def _measure_names(trees: dict[str, ast.Module]) -> Share:
    names = [
        (name, f"{path}:{line}: {name}")
        for path, tree in trees.items()
        for name, line in bound_names(tree)
    ]
    places = tuple(place for name, place in names if name in _VAGUE_NAMES)
    return Share(len(places), len(names), places)


def _measure_docstrings(trees: dict[str, ast.Module]) -> Share:
    paragraphs = [
        (text, f"{path}:{line}: {text}")
        for path, tree in trees.items()
        for text, line in first_paragraphs(tree)
    ]
    places = tuple(place for text, place in paragraphs if _NOUN_CLAUSE.search(text))
    return Share(len(places), len(paragraphs), places)


def _measure_comments(sources: Iterable[str]) -> Share:
    lines = count = 0
    for source in sources:
        lines += sum(bool(line.strip()) for line in source.splitlines())
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        count += sum(token.type == tokenize.COMMENT for token in tokens)
    return Share(count, lines)


def _measure_texts(root: Path) -> Share:
    pages = [
        page
        for page in sorted((root / "docs").rglob("*.md"))
        if not _GENERATED & set(page.relative_to(root / "docs").parts)
    ]
    helps = sorted((root / "envcfg/core").glob("*.yaml"))
    count = words = 0
    places: list[str] = []
    for page in [
        root / "README.md",
        *pages,
        root / "envcfg/commands/texts.yaml",
        *helps,
    ]:
        text = _CODE.sub("", page.read_text(encoding="utf-8"))
        words += len(text.split())
        phrases = _PHRASES.findall(text)
        count += len(phrases)
        if phrases:
            places.append(f"{page.relative_to(root)}: {len(phrases)}")
    return Share(count, words, tuple(places))
