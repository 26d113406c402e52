"""Options in, changes tried, report out."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random, SystemRandom
from typing import NoReturn

from scripts.mutation.finder import find_places
from scripts.mutation.lab import Project, list_files
from scripts.mutation.places import Place, draw
from scripts.mutation.records import Red
from scripts.mutation.report import render_json, render_text
from scripts.mutation.trial import labs, take_records, try_all

PROJECT = Project(
    root=Path(__file__).parents[2],
    package="envcfg",
    folders=tuple(
        f"envcfg/{name}"
        for name in ("profile launch bash request knowledge monitor probe log".split())
    ),
    edges=frozenset(  # what reads, writes and runs: see Structure in CONTRIBUTING.md
        f"envcfg/{name}.py"
        for name in (
            "profile/catalog",
            "log/rulebook",
            "log/source",
            "log/follow",
            "monitor/board",
            "probe/runner",
            "probe/slurm",
        )
    ),
    left_out=(
        "tests/cluster",
        "tests/test_entry.py",
        "tests/mutation",
        "tests/report/test_html_screenshot.py",
        "scripts/mutation",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ),
)

DESCRIPTION = """\
Change N random places of the pure modules, one at a time, and run the tests that could
notice. What no test notices is shown: a rule that nobody tests, or a change that changes
nothing. Judge yourself.

The changes are made in a copy of the tree. The first run notes what each test calls
(minutes; kept in .mutate-cache), later ones do so only for what is new. A change that is
noticed takes seconds, one that is not a minute or two.
"""
EPILOG = """\
examples:
  scripts/mutate 30                             30 changes, others each time
  scripts/mutate 30 --seed 7                    the same each time, after a new test too
  scripts/mutate 20 --only envcfg/launch        in one folder
  scripts/mutate 99 --only envcfg/log/rank.py:71 all of one line
  nice scripts/mutate 200 --jobs 2 --json >mutants.json

exit code: 0 all noticed, 1 some not, 2 usage, 4 tests fail before anything is changed
"""


def main(arguments: Sequence[str] | None = None, project: Project = PROJECT) -> int:
    """Return 0 if each change was noticed, 1 if not, 4 where nothing can be said."""
    options = _parse(arguments)
    sources = {
        name: (project.root / name).read_bytes()
        for name in list_files(project.root)
        if name.startswith(f"{project.package}/") and name.endswith(".py")
    }
    places = [
        place
        for name, source in sources.items()
        if name.startswith(tuple(f"{each}/" for each in project.folders))
        and name not in project.edges
        for place in find_places(source, name)
        if not options.only or any(_is_in(place, each) for each in options.only)
    ]
    if not places:
        return _fail(2, f"nothing to change in {' '.join(options.only)}")
    chosen = draw(sources, places, options.number, Random(options.seed))
    show = _Progress()
    try:
        with labs(project, min(options.jobs, len(chosen))) as copies:
            records = take_records(project, copies, tell=show)
            trials = try_all(
                project,
                copies,
                chosen,
                sources,
                records,
                tell=show,
                budget=options.seconds,
            )
    except Red as err:
        show.end()
        print(err, file=sys.stderr)
        return _fail(4, "tests fail before anything is changed")
    except OSError as err:
        return _fail(4, str(err))
    finally:
        show.end()
    render = render_json if options.json else render_text
    print(render(trials, sources, options.seed, len(places)))
    return 1 if any(trial.by is None for trial in trials) else 0


class _Progress:
    """A line on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._is_on = sys.stderr.isatty()
        self._began = time.monotonic()

    def __call__(self, what: str, done: int, of: int) -> None:
        if self._is_on:
            seconds = time.monotonic() - self._began
            sys.stderr.write(f"\r\033[K{what}: {done} of {of}, {seconds:.0f} s")
            sys.stderr.flush()

    def end(self) -> None:
        if self._is_on:
            sys.stderr.write("\r\033[K")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/mutate",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("number", type=_count, metavar="N", help="how many changes")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PATH[:LINE]",
        help="change only this folder, module or line; can be given again",
    )
    parser.add_argument("--seed", type=int, help="a number: the same changes each time")
    parser.add_argument(
        "--seconds",
        type=_count,
        default=60,
        metavar="S",
        help="how long the tests of a change may take, as measured before (60)",
    )
    parser.add_argument(
        "--jobs",
        type=_count,
        default=len(os.sched_getaffinity(0)),
        metavar="J",
        help="how many at a time (one for each core)",
    )
    parser.add_argument("--json", action="store_true", help="print all as JSON")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = SystemRandom().randrange(10**6)
    return options


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        message = f"'{text}' is no number above 0"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _is_in(place: Place, text: str) -> bool:
    path, _, line = text.partition(":")
    path = os.path.normpath(path)
    inside = place.path == path or place.path.startswith(f"{path}/")
    return inside and (not line or line == str(place.line))


def _fail(code: int, message: str) -> int:
    print(f"scripts/mutate: error: {message}", file=sys.stderr)
    return code


def run(project: Project = PROJECT) -> int:
    """Return the exit code of this program; who ends it half-way finds nothing left."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        return main(project=project)
    except KeyboardInterrupt:
        return 130


def _end(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(run())
