"""The files of ``--metrics``: their names, what is removed, and while a step runs."""

from __future__ import annotations

import json
import os
import re
import resource
import time
from pathlib import Path
from threading import Event

import pytest

from envcfg.commands import step_metrics
from envcfg.commands.step_metrics import StepMetrics
from envcfg.core.step_watch import Network
from envcfg.log.expectations import Expectations
from support import envcfg


@pytest.fixture
def network() -> Network:
    return Network("", {}, Expectations(), "warn", print)


def test_a_running_step_is_written_when_it_changes(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "../7\n")
    metrics = StepMetrics(str(tmp_path / "m"))
    metrics.update(network)
    (path,) = (tmp_path / "m").iterdir()
    assert path.name == f"envcfg-.._7_-{os.getppid()}.prom"
    assert 'envcfg_step_running{job="../7\\n",' in path.read_text()
    assert "envcfg_step_first_step_seconds" not in path.read_text()
    path.unlink()
    network.first_step = 1.5
    metrics.update(network)  # too early for another write
    assert not path.exists()
    monkeypatch.setattr(step_metrics, "_FASTEST", 0.0)
    metrics.update(network)
    assert "envcfg_step_first_step_seconds" in path.read_text()
    path.unlink()
    metrics.update(network)  # nothing is new
    assert not path.exists()
    monkeypatch.setattr(step_metrics, "_SLOWEST", 0.0)
    metrics.update(network)
    assert path.exists()


def test_only_old_files_of_steps_are_removed(tmp_path: Path) -> None:
    old = ("envcfg-1-2.prom", "envcfg-1-3.prom", "mine.prom", "envcfg-1-2.jsonl")
    for name in old:
        (tmp_path / name).touch()
    hour = time.time() - 3700
    for name in old:
        if name != "envcfg-1-3.prom":
            os.utime(tmp_path / name, (hour, hour))
    StepMetrics(str(tmp_path))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(old[1:])


def test_a_hostile_message_is_one_line(tmp_path: Path) -> None:
    metrics = StepMetrics(str(tmp_path))
    metrics.say('error: a"b\\c\n\x1b[31m\udc80 é')
    (line,) = next(tmp_path.iterdir()).read_text().splitlines()
    event = json.loads(line)
    assert event["severity"] == "error"
    # Readers of JSON refuse a lone surrogate.
    assert event["message"] == 'error: a"b\\c\n\x1b[31m\\x80 é'


def test_messages_go_into_no_other_file(tmp_path: Path) -> None:
    metrics = StepMetrics(str(tmp_path))
    metrics.say("a")
    (path,) = tmp_path.iterdir()
    other = tmp_path / "other"
    path.rename(other)
    path.symlink_to(other)
    metrics.say("b")
    assert other.read_text().count("\n") == 1
    path.unlink()
    os.mkfifo(path)
    metrics.say("b")  # without waiting for a reader


def test_a_folder_that_does_not_answer_delays_nothing(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_metrics, "_FASTEST", 0.0)
    monkeypatch.setattr(step_metrics, "_PATIENCE", 0.05)
    metrics, answers = StepMetrics(str(tmp_path)), Event()
    with monkeypatch.context() as context:
        context.setattr(os, "fsync", lambda _: answers.wait(60))
        metrics.update(network)
        assert metrics.problem.endswith(".prom: no answer")
        metrics.say("a")
        metrics.update(network, exit_code=0)
        assert metrics.problem
        answers.set()
        while metrics.problem:
            time.sleep(0.01)
    monkeypatch.setattr(step_metrics, "_PATIENCE", 60)
    metrics.update(network, exit_code=0)
    assert metrics.problem == ""
    assert len(list(tmp_path.iterdir())) == 2


def test_a_failed_write_is_repeated(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_metrics, "_FASTEST", 0.0)
    folder = tmp_path / "m"
    metrics = StepMetrics(str(folder))
    metrics.update(network)
    (path,) = folder.iterdir()
    folder.rename(tmp_path / "away")
    network.first_step = 1.5
    metrics.update(network)
    assert metrics.problem == f"{path}: No such file or directory"
    (tmp_path / "away").rename(folder)
    metrics.update(network)
    assert metrics.problem == ""
    assert "envcfg_step_first_step_seconds" in path.read_text()
    folder.rename(tmp_path / "away")
    metrics.update(network, exit_code=0)
    assert metrics.problem
    (tmp_path / "away").rename(folder)
    metrics.update(network, exit_code=0)
    assert re.search(r"^envcfg_step_running\{.*\} 0.0$", path.read_text(), re.M)


@pytest.mark.parametrize("folder", ["", "$SCRATCH/m"])
def test_a_folder_that_no_shell_has_expanded_is_refused(folder: str) -> None:
    done = envcfg(
        *("wrap", "--profile", "workstation", "--container", "none"),
        *(f"--metrics={folder}", "--", "true"),
    )
    assert (done.code, "not the path of a folder" in done.err) == (2, True), done.err


def test_a_full_disk_is_a_problem_until_there_is_space(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_metrics, "_FASTEST", 0.0)
    metrics = StepMetrics(str(tmp_path))
    metrics.update(network)
    (path,) = tmp_path.iterdir()
    before = path.read_text()
    network.first_step = 1.5
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        metrics.say("a")
        metrics.update(network)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert metrics.problem == f"{path}: File too large"
    assert path.read_text() == before  # whole, and no part of the new one
    assert sorted(tmp_path.glob("*.prom")) == [path]
    metrics.update(network)
    assert metrics.problem == ""
    assert "first_step" in path.read_text()
