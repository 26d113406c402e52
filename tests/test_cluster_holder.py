"""One run of the tests at a time has the test cluster, and a second run names the first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holder import VARIABLE, take_cluster
from job import ClusterError
from support import ROOT

HOLD = """\
import sys, pathlib, holder
with holder.take_cluster(pathlib.Path(sys.argv[1])):
    print("has it", flush=True)
    sys.stdin.read()
"""
SCRIPT = 'source "$1/lib.sh"; CACHE=$2; refuse_if_held; echo free'


def refuse_if_held(folder: Path) -> tuple[int, str]:
    argv = ["bash", "-c", SCRIPT, "bash", ROOT / "tests/cluster", folder]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_second_run_names_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    lock, folder = tmp_path / "holder", tmp_path / "clone"
    folder.mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tests/cluster")}
    argv = [sys.executable, "-c", HOLD, lock]
    with subprocess.Popen(
        argv,
        cwd=folder,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout
        assert first.stdout.readline() == "has it\n"
        with pytest.raises(ClusterError) as caught:
            take_cluster(lock)
        named = rf"in use by process {first.pid} in {folder} since \d{{4}}-\d\d-\d\d \d\d:\d\d"
        assert re.search(named, str(caught.value))
        code, text = refuse_if_held(tmp_path)
        assert code == 4
        assert re.search(named, text)
        monkeypatch.setenv(
            VARIABLE, str(first.pid)
        )  # `up` and `down` of the holder itself
        assert refuse_if_held(tmp_path) == (0, "free\n")
        first.kill()
    monkeypatch.delenv(VARIABLE, raising=False)
    assert refuse_if_held(tmp_path) == (0, "free\n")
    with take_cluster(lock):
        assert f"process {os.getpid()} in {os.getcwd()}" in lock.read_text()
    monkeypatch.delenv(VARIABLE, raising=False)
