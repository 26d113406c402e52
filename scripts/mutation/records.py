"""What each test takes and calls, unchanged: kept until a file changes that could matter.

A test file's record holds as long as nothing changes but other test files, and what lies
beside those: the helpers and reviewed texts of a folder of tests are its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import NamedTuple

from scripts.mutation.lab import Lab, Project, Ran, list_files

_OLD = 30 * 86400  # seconds


class Record(NamedTuple):
    """What the tests of a file do.

    Attributes:
        file: its path.
        before: functions that are called before its first test.
        tests: what each test takes and calls, by name.
    """

    file: str
    before: frozenset[str]
    tests: dict[str, Ran]


class Red(Exception):  # noqa: N818 (the colour says it)
    """Tests fail before anything was changed."""


def list_test_files(project: Project) -> list[str]:
    """Return the test files that can be run for a change."""
    return [
        name
        for name in list_files(project.root)
        if _is_test_file(name, project) and not _is_in(name, project.left_out)
    ]


def digest_files(project: Project) -> dict[str, str]:
    """Return what each test file's record depends on, as one word."""
    tests = list_test_files(project)
    folders = {str(PurePath(name).parent) for name in tests} - {project.tests}
    common = hashlib.sha256(sys.version.encode())
    beside = {folder: hashlib.sha256() for folder in folders}
    for name in list_files(project.root):
        if _is_test_file(name, project) or _is_in(name, project.left_out):
            continue
        folder = next((each for each in folders if _is_in(name, (each,))), None)
        _add_file(beside[folder] if folder else common, project.root, name)
    digests = {}
    for name in tests:
        own = common.copy()
        if mine := beside.get(str(PurePath(name).parent)):
            own.update(mine.digest())
        _add_file(own, project.root, name)
        digests[name] = own.hexdigest()
    return digests


def load_record(folder: Path, digest: str) -> Record | None:
    """Return a record kept in *folder*, if it is there."""
    path = folder / f"{digest}.json"
    if not path.exists():
        return None
    os.utime(path)  # still of use
    found = json.loads(path.read_text())
    functions = found["functions"]
    tests = {
        name: Ran(seconds, tuple(functions[each] for each in calls))
        for name, (seconds, calls) in found["tests"].items()
    }
    return Record(found["file"], frozenset(found["before"]), tests)


def keep_record(folder: Path, digest: str, record: Record) -> None:
    """Keep *record* in *folder*; each function is written once."""
    numbers: dict[str, int] = {}
    tests = {
        name: (ran.seconds, [numbers.setdefault(e, len(numbers)) for e in ran.calls])
        for name, ran in record.tests.items()
    }
    found = {
        "file": record.file,
        "before": sorted(record.before),
        "functions": list(numbers),
        "tests": tests,
    }
    folder.mkdir(exist_ok=True)
    (folder / f"{digest}.json").write_text(json.dumps(found))


def remove_old(folder: Path) -> None:
    """Remove the records that nobody has asked for since a month."""
    for path in folder.glob("*.json"):
        if time.time() - path.stat().st_mtime > _OLD:
            path.unlink(missing_ok=True)


def make_record(lab: Lab, file: str) -> Record:
    """Run a test file unchanged; raise Red where it fails."""
    outcome = lab.run([file], is_traced=True)
    tests = outcome.tests
    if not outcome.is_green:  # some do not like to be watched
        again = lab.run([file], order=outcome.failed)
        if not again.is_green or not set(outcome.failed) <= set(again.tests):
            raise Red(again.said)
    return Record(file, frozenset(outcome.before), tests)


def _is_test_file(name: str, project: Project) -> bool:
    inside = name.startswith(f"{project.tests}/")
    return inside and fnmatch(PurePath(name).name, "test_*.py")


def _is_in(name: str, places: tuple[str, ...]) -> bool:
    return any(name == each or name.startswith(f"{each}/") for each in places)


def _add_file(digest: hashlib._Hash, root: Path, name: str) -> None:
    path = root / name
    text = path.read_bytes() if path.is_file() else b""
    digest.update(b"%s\0%d\0" % (name.encode(), len(text)) + text)
