"""The running of a step: lines come at once, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from envcfg.preflight.step import ended_tasks, run_step
from envcfg.starters import STARTERS


def never(_: float) -> float:
    return float("inf")


def test_lines_and_the_exit_code_are_those_of_the_script() -> None:
    lines: list[str] = []
    script = "echo one; echo 'tw\\o'; echo wrong >&2; exit 3"
    end = run_step(script, os.environ, lines.append, never)
    assert (lines, end.code, end.errors) == (["one\n", "tw\\o\n"], 3, ("wrong",))


def test_a_script_longer_than_an_argument_runs() -> None:
    lines: list[str] = []
    script = f"text='{'x' * 300_000}'\necho ${{#text}}\n"
    assert run_step(script, os.environ, lines.append, never).code == 0
    assert lines == ["300000\n"]


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["ends", "wants force"])
def test_what_hangs_is_ended_with_all_that_it_started(
    trap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envcfg.preflight.step._LEAVE", 0.5)
    lines: list[str] = []
    script = f"{trap}echo $$; sleep 5432.1 & echo $!; wait"
    began = time.monotonic()
    end = run_step(script, os.environ, lines.append, lambda _: began + 0.5)
    assert end.code is None
    assert time.monotonic() - began < 5
    for line in lines:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", line.strip()], capture_output=True, check=False
        )
        assert state.stdout[:1] in (b"", b"Z")


def test_what_comes_after_the_end_that_was_made_is_not_told() -> None:
    script = (
        "trap 'echo late >&2; exit 9' TERM; echo early >&2; while :; do sleep 0.1; done"
    )
    began = time.monotonic()
    end = run_step(script, os.environ, lambda _: None, lambda _: began + 0.7)
    assert (end.code, end.errors) == (None, ("early",))


def test_where_all_is_said_the_script_gets_time_to_end() -> None:
    end = run_step("sleep 0.7; exit 5", os.environ, lambda _: None, lambda _: None)
    assert end.code == 5


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
    from envcfg.bash.modules import module

    text = module("srun").text.partition("envcfg_whole() {")[2].partition("}")[0]
    names = text.partition("unset -v ")[2].split()
    assert set(STARTERS["srun"].looking.shares) == set(names)
