"""Which tests look at a change, in which order: who calls it first, then who is near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from scripts.mutation.places import Place
from scripts.mutation.records import Record


class Choice(NamedTuple):
    """Tests for a change.

    Attributes:
        batches: names, to run one batch after the other until a test fails.
        calling: how many of them run the changed code.
        known: how many tests there are that do.
    """

    batches: tuple[tuple[str, ...], ...]
    calling: int
    known: int

    @property
    def size(self) -> int:
        """How many tests there are in all batches."""
        return sum(map(len, self.batches))


def choose(
    place: Place,
    records: Sequence[Record],
    *,
    importers: Collection[str],
    near: str,
    first: float,
    budget: float,
) -> Choice:
    """Return what to run for the change at *place*.

    Args:
        place: what is changed.
        records: of all tests.
        importers: modules that take something from the changed one.
        near: the folder of tests of the changed module's folder.
        first: seconds for the first batch, which notices most changes.
        budget: seconds for all; who calls the changed code goes first, and of each test
            function the quickest, so that what is left out is more of the same.
    """
    seconds = {
        name: ran.seconds for each in records for name, ran in each.tests.items()
    }
    callers = set(_iter_callers(place, records, importers))
    files = {record.file for record in records if callers & record.tests.keys()}
    # What is remembered from one test to the next was called by the first one only.
    others = {
        name
        for record in records
        if record.file in files or PurePath(near) in PurePath(record.file).parents
        for name in record.tests
    } - callers
    in_turns = [*take_turns(callers, seconds), *take_turns(others, seconds)]
    chosen = list(_take_those_below(in_turns, seconds, budget))
    quick = dict.fromkeys(_take_those_below(chosen, seconds, first))
    batches = tuple(quick), tuple(name for name in chosen if name not in quick)
    return Choice(
        tuple(batch for batch in batches if batch),
        sum(name in callers for name in chosen),
        len(callers),
    )


def take_turns(names: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """Return the quickest case of each test function, then the second of each, ..."""
    turns: Counter[str] = Counter()
    places = []
    for name in sorted(names, key=lambda each: (seconds[each], each)):
        function = name.partition("[")[0]
        places.append((turns[function], seconds[name], name))
        turns[function] += 1
    return [name for _, _, name in sorted(places)]


def find_importers(path: str, sources: Mapping[str, bytes]) -> set[str]:
    """Return those of *sources* that import the module *path*, by their text."""
    module = path.removesuffix(".py").replace("/", ".")
    package, _, name = module.rpartition(".")
    ways = (
        f"from {module} import ".encode(),
        f"import {module}".encode(),
        f"from {package} import {name}".encode(),
    )
    return {
        other for other, source in sources.items() if any(way in source for way in ways)
    }


def _iter_callers(
    place: Place, records: Iterable[Record], importers: Collection[str]
) -> Iterator[str]:
    """Yield the tests that run the changed code, or what uses the changed data."""

    def is_it(call: str) -> bool:
        path, _, line = call.rpartition(":")
        if place.function:
            return path == place.path and int(line) == place.function
        return path == place.path or path in importers

    known: dict[str, bool] = {}

    def matters(calls: Iterable[str]) -> bool:
        for call in calls:
            if call not in known:
                known[call] = is_it(call)
            if known[call]:
                return True
        return False

    for record in records:
        before = matters(record.before)
        for name, ran in record.tests.items():
            if before or matters(ran.calls):
                yield name


def _take_those_below(
    names: Iterable[str], seconds: Mapping[str, float], budget: float
) -> Iterator[str]:
    for name in names:
        if seconds[name] <= budget:
            budget -= seconds[name]
            yield name
