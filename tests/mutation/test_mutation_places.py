"""Where the code is changed to see whether a test notices."""

from __future__ import annotations

from random import Random

import pytest

from scripts.mutation.finder import find_places
from scripts.mutation.places import change, draw, is_change, render_change

SAMPLE = '''\
"""A module's text stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from a import B

Word = Literal["x", "y"]
LIMIT = 3  # a comment stays


class Point(NamedTuple):
    """A class's text stays.

    Attributes:
        x: 1.
    """

    __slots__ = ("stays",)
    x: Literal[7] = 8

    def far(self, limit: "int" = 9) -> Literal["stays"]:
        """A function's text stays: 5 < 6."""
        if (
            self.x < limit  # and not this
            and not limit
        ):
            print(f"é {self.x + 1}")
        return "fär"[1:]
'''


def changes(source: str) -> set[str]:
    """Return what becomes of a one-line source."""
    text = source.encode()
    found = (each for each in find_places(text, "m.py") if is_change(text, each))
    return {change(text, place).decode() for place in found}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"a <= b"}),
        ("a is  not b", {"a is b"}),
        ("a not in b", {"a in b"}),
        ("a == b != c", {"a != b != c", "a == b == c"}),
        ("a and (b) and c", {"a or (b) and c", "a and (b) or c"}),
        ("not a", {"a"}),
        ("-a", {"a"}),
        ("a + b // c", {"a - b // c", "a + b / c"}),
        ("a += b", {"a -= b"}),
        ("a | b", {"a & b"}),
        ("a = 1", {"a = 2", "a = 0"}),
        ("a = True", {"a = False"}),
        ("a = 'b' 'c'", {"a = ''"}),
        ("a = rb'b'", {"a = rb''"}),
        ("a = ''", {"a = 'x'"}),
        ("a = f'{b}'", {"a = f''"}),
        ("a[b:c]", {"a[:c]", "a[b:]"}),
        ("a(b)", {"pass"}),
        ("a = all(b)", {"a = any(b)"}),
        ("a = b.startswith(c)", {"a = b.endswith(c)"}),
        ("a if b else c", {"a if True else c", "a if False else c"}),
        ("[a for a in b if c]", {"[a for a in b if True]", "[a for a in b if False]"}),
        ("while a: break", {"while False: break", "while a: continue"}),
        ("raise A", {"pass"}),
        ("def f(a=1): return a", {"def f(a=2): return a", "def f(a=0): return a", "def f(a=1): return None"}),
        ("def f(): return None", set()),
        ("if True: a", {"if False: a"}),
        ("a: 'int | None' = b", set()),
        ("Name = tuple['int', 3]", set()),
        ("__all__ = ['a']", set()),
        ("a = cast('int', b)", set()),
        ("@a(3)\ndef f(): b", set()),
        ("a", set()),
    ],
)  # fmt: skip
def test_a_place_is_changed_to_what_a_test_should_notice(
    source: str, expected: set[str]
) -> None:
    assert changes(source) == expected


def test_a_change_keeps_all_else_byte_for_byte_and_every_line_its_number() -> None:
    source = SAMPLE.encode()
    places = find_places(source, "m.py")
    assert len(places) > 20
    for place in places:
        changed = change(source, place)
        assert changed.count(b"\n") == source.count(b"\n")
        assert changed.startswith(source[: place.start])
        assert changed.endswith(source[place.end :])
        assert source.count(b"\n", 0, place.start) + 1 == place.line


def test_what_only_describes_the_code_is_never_changed() -> None:
    source = SAMPLE.encode()
    described = [
        (source.index(text), source.index(text) + len(text))
        for text in (
            b'"""A module\'s text stays."""',
            b"if TYPE_CHECKING:\n    from a import B",
            b'Word = Literal["x", "y"]',
            b"# a comment stays",
            b'"""A class\'s text stays.\n\n    Attributes:\n        x: 1.\n    """',
            b'__slots__ = ("stays",)',
            b"x: Literal[7] =",
            b'limit: "int" =',
            b'-> Literal["stays"]',
            b'"""A function\'s text stays: 5 < 6."""',
        )
    ]
    for place in find_places(source, "m.py"):
        for start, end in described:
            assert place.end <= start or end <= place.start


def test_a_place_knows_the_function_around_it() -> None:
    source = b"A = 1\n\n\n@deco\ndef f(a=2):\n    def g():\n        return 3\n"
    places = find_places(source, "m.py")
    known = {(source[each.start : each.end], each.function) for each in places}
    assert known == {(b"1", 0), (b"2", 4), (b"3", 4)}


def test_a_change_is_shown_as_lines_of_a_diff() -> None:
    source = SAMPLE.encode()
    shown = {render_change(source, each) for each in find_places(source, "m.py")}
    assert "-LIMIT = 3  # a comment stays\n+LIMIT = 4  # a comment stays" in shown
    assert (
        "-            self.x < limit  # and not this\n"
        "-            and not limit\n+            True"
    ) in shown


def test_the_same_seed_draws_the_same_places_and_only_good_ones() -> None:
    sources = {"m.py": SAMPLE.encode()}
    places = find_places(sources["m.py"], "m.py")
    drawn = draw(sources, places, 5, Random(3))
    assert drawn == draw(sources, places, 5, Random(3)) == sorted(drawn)
    assert len(set(drawn)) == 5
    assert drawn != draw(sources, places, 5, Random(4))
    assert len(draw(sources, places, 999, Random(3))) <= len(places)
