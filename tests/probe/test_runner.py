"""The end of a step, and the deadlines for its answers."""

from __future__ import annotations

import os

import pytest

from envcfg.backends.starters import STARTERS
from envcfg.common.errors import JobError
from envcfg.nodes.probe.probes import MONITOR
from envcfg.nodes.probe.runner import Patience, ended_tasks, run_script
from envcfg.nodes.probe.slurm_job import start_step


def never(_: float) -> float:
    return float("inf")


def test_lines_and_the_exit_code_are_those_of_the_script() -> None:
    lines: list[str] = []
    script = "echo one; echo 'tw\\o'; echo wrong >&2; exit 3"
    end = run_script(script, os.environ, lines.append, never)
    assert (lines, *end) == (["one", "tw\\o"], 3, ["wrong"])


def test_a_script_longer_than_an_argument_runs() -> None:
    lines: list[str] = []
    script = f"text='{'x' * 300_000}'\necho ${{#text}}\n"
    assert run_script(script, os.environ, lines.append, never)[0] == 0
    assert lines == ["300000"]


def test_where_all_is_said_the_script_gets_time_to_end() -> None:
    end = run_script("sleep 0.7; exit 5", os.environ, lambda _: None, lambda _: None)
    assert end[0] == 5


def test_a_missing_srun_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(JobError) as error:
        start_step(MONITOR, "7", ["n1"], is_part=False, more=())
    assert error.value.message == "cannot run srun: No such file or directory"
    assert error.value.hint == "run it where Slurm's commands are"


def test_the_first_is_waited_for_longer_than_those_after_it() -> None:
    patience = Patience(60, 1000.0)
    assert patience.until(1030.0, 20, has_any=False) == 1060.0
    assert patience.until(1040.0, 20, has_any=True) == 1060.0
    assert patience.until(1050.0, 20, has_any=True) == 1060.0
    assert patience.until(1050.0, 60, has_any=True) == 1100.0


def test_tasks_that_ended_by_themselves_are_known_by_srun_s_words() -> None:
    errors = (
        "srun: error: nid001001: task 1: Exited with exit code 4",
        "srun: error: nid001002: tasks 2-3: Killed",
        "srun: error: nid001003: task 4: Terminated",
        "srun: error: Unable to create step",
        "something else",
    )
    assert ended_tasks(errors, STARTERS["srun"].looking.ended) == {
        "nid001001": "Exited with exit code 4",
        "nid001002": "Killed",
    }
    assert ended_tasks(errors, STARTERS["local"].looking.ended) == {}


def test_a_task_alone_on_its_node_is_started_without_shares() -> None:
    """The bash unsets the same names for its own tasks of this kind."""
    from envcfg.job.script.modules import module

    text = module("srun").text.partition("envcfg_whole() {")[2].partition("}")[0]
    names = text.partition("unset -v ")[2].split()
    assert set(STARTERS["srun"].looking.shares) == set(names)
