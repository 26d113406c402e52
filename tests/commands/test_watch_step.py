"""The watcher of a step, next to the parts that tests of scripts show."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import pytest

from envcfg.backends import scheduler_client
from envcfg.commands import hang, job_target, watch_step
from envcfg.common.errors import JobError
from envcfg.core.step_nodes import NodeWatch
from envcfg.log.expectations import Expectations
from envcfg.nodes.probe import slurm_job
from envcfg.nodes.probe.slurm_job import SlurmJob

OPTIONS = argparse.Namespace(verify_after=300, watch_step="warn")


@pytest.fixture
def watches(monkeypatch: pytest.MonkeyPatch) -> list[NodeWatch | None]:
    """Let the step end at once; return the watch of its nodes."""
    made: list[NodeWatch | None] = []

    def watch(*words: object) -> str:
        nodes = words[-1]
        assert nodes is None or isinstance(nodes, NodeWatch)
        made.append(nodes)
        return "verified"

    monkeypatch.setattr(watch_step, "_watch", watch)
    return made


def test_outside_a_job_of_slurm_no_node_is_watched(
    watches: list[NodeWatch | None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number in ("", "7"):
        monkeypatch.setenv("SLURM_JOB_ID", number)
        watch_step.run_watch(OPTIONS, [], Expectations())
    assert watches[0] is None
    assert watches[1] is not None
    assert capsys.readouterr().out == "verified\n" * 2


def test_the_shell_gets_its_word_before_the_end_of_the_nodes(
    watches: list[NodeWatch | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, words = io.BytesIO(), []

    class Slow(NodeWatch):
        def __exit__(self, *_: object) -> None:
            words.append(out.getvalue())

    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(watch_step, "_nodes", lambda *_: Slow(300, _fail, print))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
    watch_step.run_watch(OPTIONS, [], Expectations())
    assert len(watches) == 1
    assert words == [b"verified\n"]
    sys.stdout.flush()
    assert out.getvalue() == b"verified\n"


def _fail(*_: object) -> NoReturn:
    raise JobError("Slurm does not answer")


@pytest.mark.parametrize(
    "question",
    [
        watch_step._start_probe,
        watch_step._abort,
        lambda: watch_step._ask(None),
    ],
)
def test_a_slow_answer_leaves_time_for_later_questions(
    question: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = []

    def find_job(*_: object) -> NoReturn:
        seconds.append(scheduler_client._Limits.seconds)
        _fail()

    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.delenv("ENVCFG_SCHEDULER_SECONDS", raising=False)
    for module in (job_target, hang):
        monkeypatch.setattr(module, "find_job", find_job)
    monkeypatch.setattr(scheduler_client._Limits, "seconds", -1.0)
    with suppress(JobError):
        question()
    assert seconds == [scheduler_client.SECONDS]


@pytest.mark.parametrize("gpus", ["", "SLURM_GPUS", "SLURM_JOB_GPUS"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_only_the_nodes_of_the_step_are_asked(
    monkeypatch: pytest.MonkeyPatch, size: int, gpus: str
) -> None:
    hosts = [f"n{number}" for number in range(size)]
    job = SlurmJob("7", "7", "RUNNING", "alice", "", None, "n")
    steps: list[tuple[object, ...]] = []

    def own_nodes(_: SlurmJob, parent: int) -> list[str]:
        assert parent == os.getppid()
        return hosts[:2]

    def start_step(*words: object, **options: object) -> None:
        steps.append((*words[1:], options["is_part"], options["leave"]))

    for name in [*os.environ]:
        if name.startswith("SLURM_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    if gpus:
        monkeypatch.setenv(gpus, "2")
    monkeypatch.setattr(job_target, "find_job", lambda *_: (job, hosts, False))
    monkeypatch.setattr(slurm_job, "own_nodes", own_nodes)
    monkeypatch.setattr(slurm_job, "start_step", start_step)
    probing = watch_step._start_probe()
    assert probing.hosts == hosts[:2]
    assert steps == [("7", hosts[:2], size == 3, 1.0)]
    assert probing.asked_gpus == (None if gpus else 0)
