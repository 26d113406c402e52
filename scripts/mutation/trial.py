"""Changes tried one after the other: what each test does unchanged, then who notices."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path, PurePath
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

from scripts.mutation.choice import Choice, choose, find_importers
from scripts.mutation.lab import Lab, Project
from scripts.mutation.places import Place
from scripts.mutation.records import (
    Record,
    digest_files,
    keep_record,
    load_record,
    make_record,
    remove_old,
)

Work = TypeVar("Work")
Done = TypeVar("Done")
Tell = Callable[[str, int, int], None]

# The first batch of tests notices most changes; pytest alone takes a second to begin.
_FIRST = 4.0
_KEPT = ".mutate-cache"
# A test is stuck that takes that much longer than before, on a machine that is busy.
_TIMES = 10
_PAUSE = 20.0


class Trial(NamedTuple):
    """What became of a change.

    Attributes:
        place: the change.
        by: who noticed it: a test, a file that could not be imported, or a reason; None
            where nobody did.
        tests: how many ran, or would have.
        calling: how many of them run the changed code.
        known: how many tests do; more than *calling* where time was too short for all.
    """

    place: Place
    by: str | None
    tests: int
    calling: int
    known: int


class Labs:
    """Several copies of the tree, each with one thing to do at a time."""

    def __init__(self, project: Project, folder: Path, number: int) -> None:
        """Make *number* copies in *folder*."""
        self._labs = [Lab(project, folder / str(each), each) for each in range(number)]
        self._free: SimpleQueue[Lab] = SimpleQueue()
        for lab in self._labs:
            self._free.put(lab)

    def each(
        self, do: Callable[[Lab, Work], Done], work: Sequence[Work]
    ) -> Iterator[tuple[int, Done]]:
        """Yield what *do* returns for each of *work*, by its number, as they are done."""

        def in_lab(one: Work) -> Done:
            lab = self._free.get()
            try:
                return do(lab, one)
            finally:
                self._free.put(lab)

        with ThreadPoolExecutor(len(self._labs)) as pool:
            try:
                waiting: dict[Future[Done], int] = {
                    pool.submit(in_lab, one): number for number, one in enumerate(work)
                }
                while waiting:
                    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for each in done:
                        yield waiting.pop(each), each.result()
            except BaseException:  # Ctrl-C as well: leave no process behind
                pool.shutdown(wait=False, cancel_futures=True)
                for lab in self._labs:
                    lab.stop()
                raise


@contextmanager
def labs(project: Project, number: int) -> Iterator[Labs]:
    """Have *number* copies of the tree meanwhile."""
    with tempfile.TemporaryDirectory(
        prefix="mutate-", ignore_cleanup_errors=True
    ) as folder:
        yield Labs(project, Path(folder), number)


def take_records(project: Project, copies: Labs, *, tell: Tell) -> list[Record]:
    """Return what each test does; run those again that may do something else by now."""
    folder = project.root / _KEPT
    digests = digest_files(project)
    remove_old(folder)
    records = {name: load_record(folder, digests[name]) for name in digests}
    missing = [name for name, record in records.items() if record is None]
    done = copies.each(make_record, missing)
    tell("tests unchanged", 0, len(missing))
    for count, (_, record) in enumerate(done, 1):
        keep_record(folder, digests[record.file], record)
        records[record.file] = record
        tell("tests unchanged", count, len(missing))
    return [record for record in records.values() if record is not None]


def try_all(
    project: Project,
    copies: Labs,
    places: Sequence[Place],
    sources: Mapping[str, bytes],
    records: Sequence[Record],
    *,
    tell: Tell,
    budget: float,
) -> list[Trial]:
    """Return what became of each change, in the order of *places*."""

    def try_one(lab: Lab, place: Place) -> Trial:
        folder = PurePath(place.path).parent.relative_to(project.package)
        choice = choose(
            place,
            records,
            importers=find_importers(place.path, sources),
            near=str(PurePath(project.tests) / folder),
            first=_FIRST,
            budget=budget,
        )
        with lab.changed(sources[place.path], place):
            by = _who_notices(lab, choice, records)
        return Trial(place, by, choice.size, choice.calling, choice.known)

    trials: dict[int, Trial] = {}
    for number, trial in copies.each(try_one, places):
        trials[number] = trial
        tell("changes tried", len(trials), len(places))
    return [trials[number] for number in range(len(places))]


def _who_notices(lab: Lab, choice: Choice, records: Sequence[Record]) -> str | None:
    seconds = {
        name: ran.seconds for each in records for name, ran in each.tests.items()
    }
    for names in choice.batches:
        limits = {name: _TIMES * seconds[name] + _PAUSE for name in names}
        outcome = lab.run(
            list(dict.fromkeys(name.partition("::")[0] for name in names)),
            order=names,
            limits=limits,
            timeout=_TIMES * sum(seconds[name] for name in names) + 3 * _PAUSE,
            ends_early=True,
        )
        if not outcome.is_green:
            return outcome.failed[0] if outcome.failed else _last_line(outcome.said)
    return None


def _last_line(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else "pytest was killed"
