"""All tests can be collected in one run: ``pytest -k NAME`` at the root."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support import ROOT

FILES = sorted((ROOT / "tests").rglob("*.py"))


def test_files_of_the_same_name_are_collected_together() -> None:
    counts = Counter(path.name for path in FILES if path.name.startswith("test_"))
    paths = [path for path in FILES if counts[path.name] > 1]
    assert paths, "there are none: this test can go, and importlib with it"
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-n0",
        "--all",
        *paths,
    ]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    for path in paths:
        assert f"{path.relative_to(ROOT)}::" in done.stdout


def test_a_helper_is_found_by_one_name(request: pytest.FixtureRequest) -> None:
    from_config = request.config.getini("pythonpath")
    folders = [ROOT / Path(folder) for folder in from_config]
    helpers = [
        path.stem
        for path in FILES
        if path.parent in folders and not path.stem.startswith(("test_", "conftest"))
    ]
    assert [name for name, count in Counter(helpers).items() if count > 1] == []
