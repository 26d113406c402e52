"""scripts/mutate on a package of one module."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.mutation.__main__ import main
from scripts.mutation.lab import Lab, Project
from support import ROOT

MODULE = '''\
LIMIT = 5


def is_big(number):
    """Tell."""
    return number > LIMIT


def is_small(number):
    return number < LIMIT


def no_test(number):
    return number == LIMIT
'''
TESTS = """\
import subprocess
import sys

import pytest
from tiny.core import size


@pytest.mark.parametrize("number", [4, 7])
def test_big(number):
    assert size.is_big(number) == (number > 5)


def test_small_elsewhere(tmp_path):
    code = "from tiny.core import size; print(size.is_small(4))"
    command = [sys.executable, "-I", "-c", code]
    assert subprocess.check_output(command, cwd=tmp_path, env={}) == b"True\\n"
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A git checkout with a module, of which one function has tests."""
    root = tmp_path / "checkout"
    for name, text in {
        "tiny/__init__.py": "",
        "tiny/core/__init__.py": "",
        "tiny/core/size.py": MODULE,
        "tests/core/test_size.py": TESTS,
        ".gitignore": ".mutate-cache/\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    return Project(root, "tiny", ("tiny/core",))


def test_what_no_test_notices_is_shown_and_the_tree_stays(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project.root / "tiny/core/size.py"
    lines = [f"--only=tiny/core/size.py:{line}" for line in (6, 10, 14)]
    assert main(["99", *lines, "--json", "--jobs=2"], project) == 1
    out, err = capsys.readouterr()
    report = json.loads(out)
    noticed = {
        (each["line"], each["diff"].split("\n+    ")[1]): (
            each["noticed_by"] or ""
        ).partition("[")[0]
        for each in report["changes"]
    }
    in_process = "tests/core/test_size.py::test_big"
    elsewhere = "tests/core/test_size.py::test_small_elsewhere"
    assert noticed == {
        (6, "return number >= LIMIT"): "",
        (6, "return None"): in_process,
        (10, "return number <= LIMIT"): "",
        (10, "return None"): elsewhere,
        (14, "return number != LIMIT"): "",
        (14, "return None"): "",
    }
    assert {each["line"]: each["tests_that_run_it"] for each in report["changes"]} == {
        6: 2,
        10: 1,
        14: 0,
    }
    assert report["folders"]["tiny/core"] == report["folders"]["all"]
    assert err == ""
    assert path.read_text() == MODULE


def test_where_the_tests_fail_unchanged_nothing_is_tried(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project.root / "tests/core/test_size.py"
    file.write_text(TESTS.replace("[4, 7]", "[4, 5.5]").replace("> 5)", "> 6)"))
    assert main(["1"], project) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "test_big[5.5]" in err
    assert err.endswith(
        "scripts/mutate: error: tests fail before anything is changed\n"
    )


def test_programs_beside_python_run_the_copy(project: Project, tmp_path: Path) -> None:
    # pytest imports the module that -p names: only the copy's Python finds it elsewhere.
    file = "tests/core/test_size.py"
    (project.root / file).write_text(
        "import pathlib, subprocess, sys\n\ndef test_program(tmp_path):\n"
        "    program = pathlib.Path(sys.executable).parent / 'pytest'\n"
        "    command = [program, '-p', 'tiny.core.size', '--version']\n"
        "    subprocess.run(command, check=True, cwd=tmp_path, env={})\n"
    )
    outcome = Lab(project, tmp_path / "lab", 0).run([file])
    assert outcome.is_green, outcome.said
    assert outcome.tests


def test_a_test_that_is_stuck_has_failed(project: Project, tmp_path: Path) -> None:
    file = "tests/core/test_size.py"
    (project.root / file).write_text(
        "import subprocess\n\ndef test_stuck():\n"
        "    with subprocess.Popen(['sleep', '60']) as process:\n"
        "        process.wait()\n"
    )
    began = time.monotonic()
    name = f"{file}::test_stuck"
    lab = Lab(project, tmp_path / "lab", 0)
    assert lab.run([file], order=[name], limits={name: 0.5}).failed == (name,)
    assert lab.run([file], timeout=2).code < 0
    assert time.monotonic() - began < 50


def test_who_is_ended_half_way_leaves_no_process_and_no_folder(
    project: Project, tmp_path: Path
) -> None:
    folder, started = tmp_path / "tmp", tmp_path / "started"
    folder.mkdir()
    (project.root / "tests/core/test_size.py").write_text(
        "import pathlib, subprocess\n\ndef test_slow():\n"
        "    child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"    pathlib.Path({str(started)!r}).write_text(str(child.pid))\n"
        "    child.wait()\n"
    )
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from scripts.mutation import __main__ as m\n"
        "from scripts.mutation.lab import Project\n"
        f"sys.exit(m.run(Project(Path({str(project.root)!r}), 'tiny', ('tiny/core',))))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "1"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    while not (started.exists() and started.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM
    assert list(folder.iterdir()) == []
    left = Path(f"/proc/{started.read_text()}/cmdline")
    assert not left.exists() or left.read_bytes() == b""  # dead, whoever reaps it
