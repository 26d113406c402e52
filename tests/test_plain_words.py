"""Words that make readers stumble: how many there are in what users read may only fall."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent

# Phrases that readers stumbled over, with their counts in all texts; a count may only shrink.
# Who rewrites one lowers its number.
PHRASES: dict[str, int] = yaml.safe_load((ROOT / "tests/phrases.yaml").read_text())

# What to write instead: except, your, next to or also, gets, out of, unchanged, no longer,
# its, does not have, not set, unknown, inherits, that can connect, cannot connect, usually
# because, like X except.
WORDS = (
    "but for",
    "whatever stands for",
    "beside",
    "is told of",
    "for want of",
    "as it lay",
    "no more",
    "of its own",
    "has not",
    "nobody says",
    "what is not sure",
    "takes it over",
    "that could meet",
    "has no way",
    "mostly since",
    "the same, but",
)
_WORD = re.compile(
    r"\b(?:"
    + "|".join(word.replace(" ", r"\s+") for word in WORDS)
    + r")\b(?! than\b)",
    re.I,
)

_KINDS = (".md", ".json", ".yaml", ".sh")

# Texts that users read, and how many of these words are left in them. A new text has none;
# who rewrites one lowers the number.
LEFT = {
    "README.md": 0,
    "docs": 0,
    "examples": 0,
    "profiles": 0,
    "envcfg/**/*.py": 0,
    "envcfg/**/*.yaml": 0,
    "envcfg/**/*.sh": 0,
}


@pytest.mark.parametrize("area", LEFT)
def test_words_that_readers_stumble_over_get_fewer(area: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {word[0]}"
        for path in _files(area)
        for text in _texts(path)
        for word in _WORD.finditer(text)
    ]
    assert len(found) == LEFT[area], "\n".join(found)


def test_phrases_that_no_manual_uses_get_fewer() -> None:
    texts = [
        " ".join(text.lower().split())
        for area in LEFT
        for path in _files(area)
        for text in _texts(path)
    ]
    counts = {
        phrase: sum(len(re.findall(rf"\b{phrase}\b", text)) for text in texts)
        for phrase in PHRASES
    }
    assert {p: n for p, n in counts.items() if n > PHRASES[p]} == {}


def test_a_word_is_found_over_the_end_of_a_line_and_not_inside_another() -> None:
    text = "all but\n# for one, besides, Beside it; hasnot"
    found = [" ".join(w[0].split()) for w in _WORD.finditer(_without_marks(text))]
    assert found == ["but for", "Beside"]


def _files(area: str) -> Iterator[Path]:
    path = ROOT / area
    if "*" in area:
        yield from sorted(ROOT.glob(area))
    elif path.is_dir():
        yield from sorted(each for each in path.rglob("*") if each.suffix in _KINDS)
    else:
        yield path


def _texts(path: Path) -> Iterator[str]:
    """Yield what a user may read of a file: of Python its texts, without docstrings."""
    text = path.read_text()
    if path.suffix != ".py":
        yield _without_marks(text)
        return
    nodes = list(ast.walk(ast.parse(text)))
    silent = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if not isinstance(node, ast.Constant) or id(node) in silent:
            continue
        if isinstance(node.value, str):
            yield node.value


def _without_marks(text: str) -> str:
    """Return a text without what begins the lines of comments and quotes."""
    return re.sub(r"^\s*[#>]+ ?", "", text, flags=re.M)
