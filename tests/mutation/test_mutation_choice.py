"""Which tests look at a change of the code."""

from __future__ import annotations

import pytest

from scripts.mutation.choice import choose, find_importers, take_turns
from scripts.mutation.lab import Ran
from scripts.mutation.places import Place
from scripts.mutation.records import Record

PLACE = Place("p/log/a.py", 7, 0, 1, b"", "number", 5)
RECORDS = [
    Record(
        "tests/log/test_a.py",
        frozenset(),
        {
            "tests/log/test_a.py::test_slow": Ran(9, ("p/log/a.py:5",)),
            "tests/log/test_a.py::test_quick": Ran(1, ("p/log/a.py:5", "p/x.py:5")),
            "tests/log/test_a.py::test_other": Ran(0.1, ("p/log/a.py:9",)),
        },
    ),
    Record(
        "tests/log/test_b.py",
        frozenset(),
        {"tests/log/test_b.py::test_near": Ran(2, ())},
    ),
    Record(
        "tests/test_far.py",
        frozenset(),
        {"tests/test_far.py::test_far": Ran(0.1, ("p/log/b.py:5",))},
    ),
    Record(
        "tests/test_table.py",
        frozenset({"p/log/a.py:5"}),
        {"tests/test_table.py::test_all[1]": Ran(0.2, ())},
    ),
]


def chosen(place: Place, *, budget: float = 60) -> list[str]:
    choice = choose(
        place,
        RECORDS,
        importers={"p/log/b.py"},
        near="tests/log",
        first=1.5,
        budget=budget,
    )
    return [
        name.rpartition("::")[2] for batch in choice.batches for name in (*batch, "|")
    ]


@pytest.mark.parametrize(
    ("place", "budget", "expected"),
    [
        (PLACE, 60, "test_all[1] test_quick test_other | test_slow test_near |"),
        (PLACE, 9, "test_all[1] test_quick test_other | test_near |"),
        (PLACE, 0.15, "test_other |"),
        (PLACE, 0.01, ""),
        (PLACE._replace(function=0), 60, "test_other test_far test_all[1] test_quick | test_slow test_near |"),
        (PLACE._replace(function=99), 60, "test_other test_quick | test_near test_slow |"),
    ],
)  # fmt: skip
def test_who_runs_the_code_goes_first_then_who_is_near_as_time_allows(
    place: Place, budget: float, expected: str
) -> None:
    assert chosen(place, budget=budget) == expected.split()


def test_who_runs_the_code_is_counted_also_where_time_is_short() -> None:
    choice = choose(PLACE, RECORDS, importers=(), near="tests/log", first=1, budget=1.3)
    assert (choice.size, choice.calling, choice.known) == (3, 2, 3)


def test_each_test_function_has_its_turn_before_any_has_a_second() -> None:
    seconds = {"f::a[1]": 2.0, "f::a[2]": 1.0, "f::a[3]": 1.5, "f::b": 3.0, "f::c": 0.1}
    assert take_turns(seconds, seconds) == [
        "f::c",
        "f::a[2]",
        "f::b",
        "f::a[3]",
        "f::a[1]",
    ]


def test_importers_of_a_module_are_found_in_their_text() -> None:
    sources = {
        "p/one.py": b"from p.log.a import (\n    X,\n)\n",
        "p/two.py": b"from p.log import a\n",
        "p/three.py": b"import p.log.a as a\n",
        "p/four.py": b"from p.log.ab import X\n",
    }
    assert find_importers("p/log/a.py", sources) == {
        "p/one.py",
        "p/two.py",
        "p/three.py",
    }
