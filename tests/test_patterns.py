"""No regular expression of envcfg takes exponential time.

A search backtracks through every way to match a text. Their number grows exponentially if
a loop of the pattern can match the same text in two ways: ``(a+)+``, ``(a|ab|b)*``. The
tests read the parsed patterns and search for such loops; no search is timed.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import envcfg

PACKAGE = Path(envcfg.__file__).parent
PARSER = importlib.import_module(
    "re._parser" if sys.version_info >= (3, 11) else "sre_parse"
)
CALLS = set("compile search match fullmatch sub subn split findall finditer".split())
KEYS = re.compile("pattern|match$")  # of patterns in data
MANY = 20  # a repeat with this limit counts as a loop without limit
ALPHABET = frozenset(map(chr, (*range(9, 14), *range(32, 127), 0xE9)))
CATEGORIES: Mapping[str, Callable[[str], bool]] = {
    "DIGIT": str.isdigit,
    "SPACE": str.isspace,
    "WORD": lambda char: char.isalnum() or char == "_",
}

# Loops whose two ways exclude each other by an assertion, which the automaton ignores.
EXCLUSIVE = {
    "(?!walltime=|cput=)": "an item of a list begins with these names, or does not",
    "(gres[:/]|(?!gres[:/]))": "an item begins with this word, or does not",
}


class Automaton:
    """The positions of a pattern that match a character, and the steps between them.

    Assertions and references count as empty, so more texts match than in reality.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        """Parse *pattern*."""
        self.flags = flags
        self.chars: list[frozenset[str]] = []
        self.loops: list[range] = []  # without those inside other loops
        self.steps: Counter[tuple[int, int]] = Counter()
        self._add_sequence(PARSER.parse(pattern, flags))
        self.next: list[set[int]] = [set() for _ in self.chars]
        for start, end in self.steps:
            self.next[start].add(end)

    def ambiguous_loop(self) -> str:
        """Return characters of a loop that matches a text in two ways, or nothing.

        All positions of a loop reach each other. So two ways from a position back to itself
        are also two ways from the loop's first position.
        """
        for loop in self.loops:
            for (start, end), number in self.steps.items():
                if number > 1 and start in loop and end in loop:
                    return self._shown(start)
            same = (loop[0], loop[0])
            before: dict[tuple[int, int], set[tuple[int, int]]] = {same: set()}
            waiting = [same]
            for pair in waiting:  # grows
                for following in self._next_pairs(pair, loop):
                    if following not in before:
                        waiting.append(following)
                    before.setdefault(following, set()).add(pair)
            for one, other in reach(same, before.__getitem__):
                if one != other:
                    return self._shown(one)
        return ""

    def _next_pairs(
        self, pair: tuple[int, int], loop: range
    ) -> Iterator[tuple[int, int]]:
        """Yield the pairs of positions in *loop* after the same character."""
        for one in self.next[pair[0]]:
            for other in self.next[pair[1]]:
                if (
                    one in loop
                    and other in loop
                    and self.chars[one] & self.chars[other]
                ):
                    yield one, other

    def _shown(self, position: int) -> str:
        return "".join(sorted(self.chars[position]))

    def _add_sequence(self, nodes: Sequence[Any]) -> tuple[bool, set[int], set[int]]:
        """Add *nodes*; return whether they can be empty, their first and last positions."""
        is_empty, first, last = True, set[int](), set[int]()
        for kind, value in nodes:
            can_be_empty, starts, ends = self._add_node(str(kind), value)
            self._connect(last, starts)
            first |= starts if is_empty else set()
            last = ends | last if can_be_empty else ends
            is_empty = is_empty and can_be_empty
        return is_empty, first, last

    def _add_node(self, kind: str, value: Any) -> tuple[bool, set[int], set[int]]:  # noqa: ANN401  # of the parser
        if kind == "SUBPATTERN":
            return self._add_sequence(value[-1])
        if kind == "BRANCH":
            parts = [self._add_sequence(branch) for branch in value[1]]
            empty, starts, ends = zip(*parts, strict=True)
            return any(empty), set().union(*starts), set().union(*ends)
        if kind.endswith("_REPEAT"):
            least, most, body = value
            begin = len(self.chars)
            is_empty, first, last = self._add_sequence(body)
            if most >= MANY:
                self._connect(last, first)
                loop = range(begin, len(self.chars))
                self.loops = [*(each for each in self.loops if each[0] < begin), loop]
            return is_empty or not least, first, last
        if kind in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            self.chars.append(self._matched(kind, value))
            position = {len(self.chars) - 1}
            return False, position, position
        if str(value) in ("AT_END", "AT_END_STRING") and not self.flags & re.MULTILINE:
            return False, set(), set()  # nothing follows
        assert kind in ("AT", "ASSERT", "ASSERT_NOT", "GROUPREF"), kind
        return True, set(), set()

    def _connect(self, starts: set[int], ends: set[int]) -> None:
        self.steps.update((start, end) for start in starts for end in ends)

    def _matched(self, kind: str, value: Any) -> frozenset[str]:  # noqa: ANN401  # of the parser
        if kind == "LITERAL" and not self.flags & re.IGNORECASE:
            return frozenset(chr(value))
        if kind == "ANY":
            return ALPHABET - ({"\n"} if not self.flags & re.DOTALL else set())
        if kind != "IN":
            items = [(kind.removeprefix("NOT_"), value)]
            negated = kind == "NOT_LITERAL"
        else:
            negated = str(value[0][0]) == "NEGATE"
            items = value[1:] if negated else value
        chars = {char for char in ALPHABET for item in items if contains(item, char)}
        if self.flags & re.IGNORECASE:
            chars |= {char.swapcase() for char in chars}
        return ALPHABET - chars if negated else frozenset(chars)


def contains(item: tuple[Any, Any], char: str) -> bool:
    """Return whether a part of a character set contains *char*."""
    kind, value = str(item[0]), item[1]
    if kind == "LITERAL":
        return ord(char) == value
    if kind == "RANGE":
        return value[0] <= ord(char) <= value[1]
    name = str(value).removeprefix("CATEGORY_")
    return CATEGORIES[name.removeprefix("NOT_")](char) != name.startswith("NOT_")


def reach(start: object, steps: Callable[[Any], Iterable[Any]]) -> set[Any]:
    """Return everything that steps lead to from *start*."""
    found: set[Any] = set()
    waiting = [start]
    while waiting:
        new = set(steps(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def patterns_in_modules() -> Iterator[tuple[str, str | bytes, int]]:
    """Yield the place, text and flags of each compiled or literal pattern."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = str(path.relative_to(PACKAGE))
        if path.name == "__main__.py" or "templates" in place:
            continue
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        module = importlib.import_module(name.removesuffix(".__init__"))
        waiting = list(vars(module).values())
        while waiting:
            value = waiting.pop()
            if isinstance(value, re.Pattern):
                yield place, value.pattern, value.flags
            elif isinstance(value, (tuple, list, set, frozenset)):
                waiting += value
            elif isinstance(value, dict):
                waiting += (*value, *value.values())
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in CALLS
                and ast.unparse(node.func.value) == "re"
                and isinstance(node.args[0], ast.Constant)
            ):
                yield f"{place}:{node.lineno}", node.args[0].value, 0


def patterns_in_data(data: object, place: str) -> Iterator[tuple[str, str, int]]:
    """Yield the texts under keys of patterns."""
    if isinstance(data, list):
        for entry in data:
            yield from patterns_in_data(entry, place)
    elif isinstance(data, dict):
        place = f"{place}: {data['id']}" if "id" in data else place
        for key, value in data.items():
            if isinstance(value, str) and KEYS.search(str(key)):
                yield place, value, 0
            else:
                yield from patterns_in_data(value, place)


def ambiguous(
    patterns: Iterable[tuple[str, str | bytes, int]],
) -> list[tuple[str, str | bytes]]:
    """Return the place and text of each pattern that can take exponential time."""
    return [
        (place, text)
        for place, text, flags in patterns
        if ambiguity(text, flags) and not any(part in str(text) for part in EXCLUSIVE)
    ]


def ambiguity(pattern: str | bytes, flags: int = 0) -> str:
    """Return the characters of an ambiguous loop of *pattern*, or nothing."""
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    flags &= re.IGNORECASE | re.DOTALL | re.VERBOSE | re.MULTILINE
    return Automaton(text, flags | re.compile(text, flags).flags).ambiguous_loop()


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)+", "(a*)*b", "(?:a|ab|b)*", r"(?:\w+ ?)*$", r"(?:a?b?)*", "(?i)(?:xa|Xa)+"),
        *(r"x(?:\d|[0-5a]b?)*y", r"(?:\s*\w+\s*)*", r"(?:a+|b){0,99}y"),
    ],
)  # fmt: skip
def test_a_loop_with_two_ways_to_match_is_found(pattern: str) -> None:
    assert ambiguity(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *("a+b+", "a+a+", r"(?:\s+\w+)*", "(?:a+|b){0,9}y*", r'"(?:[^"\\]|\\.)*"'),
        *(r"\d+(?:\.\d+)*", "(?:ab|ac)*", r"(?:[ \t].*)?(?:\n.+)*", "(?:a*b)*", "(?s).*"),
    ],
)  # fmt: skip
def test_a_loop_with_one_way_to_match_is_not(pattern: str) -> None:
    assert ambiguity(pattern) == ""


def test_no_pattern_of_a_module_takes_exponential_time() -> None:
    patterns = set(patterns_in_modules())
    assert len(patterns) > 500
    assert ambiguous(patterns) == []


def test_no_pattern_in_data_takes_exponential_time() -> None:
    patterns = {
        found
        for path in sorted(PACKAGE.rglob("*.yaml"))
        for found in patterns_in_data(
            yaml.load(path.read_text(), yaml.CSafeLoader), path.name
        )
    }
    assert len(patterns) > 300
    assert ambiguous(patterns) == []
