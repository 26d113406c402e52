"""What is known of each test is kept, and no longer than it holds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scripts.mutation.lab import Project, Ran
from scripts.mutation.records import (
    Record,
    digest_files,
    keep_record,
    list_test_files,
    load_record,
    remove_old,
)

RECORD = Record(
    "tests/test_a.py",
    frozenset({"p/b.py:1"}),
    {"test_a[1]": Ran(0.5, ("p/a.py:1", "p/b.py:1")), "test_a[2]": Ran(0.1, ())},
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for name in ("p/a.py", "tests/test_a.py", "tests/test_b.py", "tests/x/test_x.py", "tests/x/sub/golden.txt", "tests/far/test_c.py", "tests/help.py", "notes.md"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return Project(tmp_path, "p", ("p",), left_out=("tests/far", "notes.md"))


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    keep_record(tmp_path, "abc", RECORD)
    assert load_record(tmp_path, "abc") == RECORD
    assert load_record(tmp_path, "other") is None


def test_records_that_nobody_asks_for_are_removed_after_a_month(tmp_path: Path) -> None:
    for name in ("abc", "def", "ghi"):
        keep_record(tmp_path, name, RECORD)
        if name != "abc":
            os.utime(tmp_path / f"{name}.json", (0, 0))
    load_record(tmp_path, "def")
    remove_old(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["abc.json", "def.json"]


def test_what_needs_too_much_is_no_test_here(project: Project) -> None:
    assert list_test_files(project) == [
        "tests/test_a.py",
        "tests/test_b.py",
        "tests/x/test_x.py",
    ]


@pytest.mark.parametrize(
    ("changed", "made_anew"),
    [
        ("p/a.py", {"tests/test_a.py", "tests/test_b.py", "tests/x/test_x.py"}),
        ("tests/help.py", {"tests/test_a.py", "tests/test_b.py", "tests/x/test_x.py"}),
        ("tests/test_a.py", {"tests/test_a.py"}),
        ("tests/x/sub/golden.txt", {"tests/x/test_x.py"}),
        ("tests/x/test_x.py", {"tests/x/test_x.py"}),
        ("tests/far/test_c.py", set()),
        ("notes.md", set()),
    ],
)
def test_a_record_holds_until_something_changes_that_could_matter(
    project: Project, changed: str, made_anew: set[str]
) -> None:
    before = digest_files(project)
    (project.root / changed).write_text("2\n")
    after = digest_files(project)
    assert {name for name in after if after[name] != before[name]} == made_anew
