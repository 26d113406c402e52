"""Options in, changes tried one after the other, report out."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random, SystemRandom

from scripts.mutation.changes import Change, find_changes

ROOT = Path(__file__).parents[2]
DESCRIPTION = """\
Change N random places of the code, one at a time, and run the tests that call it. A change
that no test notices is shown: nothing tests that place, or the change has no effect.

The changes are made in a copy of the tree. The first run records the functions that each
test calls (many minutes; kept in .mutate-cache until a file changes). Tests that start
Python without PYTHONPATH run the unchanged code.
"""
EPILOG = """\
examples:
  scripts/mutate 30                              30 changes, others each time
  scripts/mutate 30 --seed 7                     the same each time
  scripts/mutate 20 --only envcfg/job            in one folder
  scripts/mutate 99 --only envcfg/log/rank.py:71 all of one line

exit code: 0 all noticed, 1 some not, 2 usage, 4 tests fail before anything is changed
"""
_LEFT_OUT = ("tests/cluster/", "tests/mutation/", "tests/fuzz/", "tests/test_zipapp")
_BUDGET = 60.0  # seconds of tests for one change, as recorded
_SLOWER = 10  # a test is stuck if it takes that many times longer
_Record = Mapping[str, tuple[float, Sequence[str]]]


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Return 0 if each change was noticed, 1 if not, 2 or 4 if nothing can be said."""
    options = _parse(arguments)
    names = _list_files(root)
    sources = {
        name: (root / name).read_text()
        for name in names
        if name.startswith("envcfg/") and name.endswith(".py")
    }
    possible = [
        change
        for path, source in sources.items()
        if not options.only or any(_is_in(path, only) for only in options.only)
        for change in find_changes(source, path)
        if not options.only or any(_is_in(path, o, change) for o in options.only)
    ]
    if not possible:
        return _fail(2, f"nothing to change in {' '.join(options.only)}")
    chosen = Random(options.seed).sample(possible, min(options.number, len(possible)))
    missed = 0
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        tree = Path(folder) / "tree"
        for name in names:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, tree / name, follow_symlinks=False)
        try:
            record = _take_records(tree, names, root / ".mutate-cache")
        except subprocess.CalledProcessError as err:
            print(err.output)
            return _fail(4, "tests fail before anything is changed")
        for change in sorted(chosen):
            tests = choose_tests(change, record)
            (tree / change.path).write_text(change.source)
            is_noticed = bool(tests) and not _passes(tree, tests, record)
            (tree / change.path).write_text(sources[change.path])
            missed += not is_noticed
            if not is_noticed:
                print(f"{change.path}:{change.line}: not noticed by {len(tests)} tests")
                print(f"- {change.old}\n+ {change.new}\n", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} noticed, --seed {options.seed}")
    return 1 if missed else 0


def choose_tests(change: Change, record: _Record) -> list[str]:
    """Return the names of the tests that call the changed function, the quickest first.

    Code that runs at import is tested by all that call a function of its module.
    """

    def is_called(call: str) -> bool:
        path, _, line = call.rpartition(":")
        return path == change.path and int(line) in (change.function or int(line),)

    callers = [
        (seconds, name)
        for name, (seconds, calls) in record.items()
        if any(map(is_called, calls))
    ]
    chosen, left = [], _BUDGET
    for seconds, name in sorted(callers):
        left -= seconds
        if left > 0:
            chosen.append(name)
    return chosen


def _take_records(tree: Path, names: Sequence[str], cache: Path) -> _Record:
    """Return what each test calls; a file of tests runs again if anything has changed."""
    cache.mkdir(exist_ok=True)
    tests = [
        name
        for name in names
        if name.startswith("tests/")
        and Path(name).name.startswith("test_")
        and name.endswith(".py")
        and not name.startswith(_LEFT_OUT)
    ]
    shared = hashlib.sha256()
    for name in names:
        if name not in tests and name.startswith(("envcfg/", "tests/")):
            shared.update((tree / name).read_bytes())
    record: dict[str, tuple[float, Sequence[str]]] = {}
    for name in tests:
        digest = shared.copy()
        digest.update((tree / name).read_bytes())
        kept = cache / f"{digest.hexdigest()}.json"
        if not kept.exists():
            _run(
                tree, [name], {"MUTATION_RECORD": str(tree / "record")}
            ).check_returncode()
            shutil.move(tree / "record", kept)
        record |= json.loads(kept.read_text())
    return record


def _passes(tree: Path, tests: Sequence[str], record: _Record) -> bool:
    """Return whether *tests* pass, and in time."""
    (tree / "tests.json").write_text(json.dumps(tests))
    files = sorted({name.partition("::")[0] for name in tests})
    limit = 60 + _SLOWER * sum(record[name][0] for name in tests)
    variables = {"MUTATION_TESTS": str(tree / "tests.json")}
    try:
        return _run(tree, ["-x", *files], variables, limit).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _run(
    tree: Path, arguments: Sequence[str], variables: Mapping[str, str],
    limit: float | None = None,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run pytest in the copy; no tests (5) are no failure."""
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    command += ["-p", "scripts.mutation.plugin", *arguments]
    own = {"MUTATION_TREE": str(tree), "PYTHONPATH": f"{tree}:{ROOT}"}
    with subprocess.Popen(
        command, cwd=tree, env=os.environ | own | variables, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=limit)
        finally:
            # Tests may leave processes of their own, also if Ctrl-C ends this program.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    code = 0 if process.returncode == 5 else process.returncode
    return subprocess.CompletedProcess(command, code, output)


def _list_files(root: Path) -> list[str]:
    """Return the files below *root* that git has or would take, sorted."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.check_output(command, cwd=root, text=True)
    names = sorted({*listed.split("\0")} - {""})
    return [name for name in names if os.path.lexists(root / name)]


def _is_in(path: str, only: str, change: Change | None = None) -> bool:
    folder, _, line = only.partition(":")
    is_inside = path == folder or path.startswith(f"{folder.rstrip('/')}/")
    return is_inside and (not line or change is None or line == str(change.line))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/mutate",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("number", type=int, metavar="N", help="how many changes")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PATH[:LINE]",
        help="change only this folder, module or line; can be given again",
    )
    seed = SystemRandom().randrange(10**6)
    parser.add_argument("--seed", type=int, default=seed, help="for the same changes")
    return parser.parse_args(arguments)


def _fail(code: int, message: str) -> int:
    print(f"scripts/mutate: error: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
