"""The running of a step: lines come at once, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from envcfg.backends.starters import STARTERS
from envcfg.common.errors import JobError
from envcfg.nodes.probe.runner import Patience, Step, ended_tasks, run_script


def never(_: float) -> float:
    return float("inf")


def test_lines_and_the_exit_code_are_those_of_the_script() -> None:
    lines: list[str] = []
    script = "echo one; echo 'tw\\o'; echo wrong >&2; exit 3"
    end = run_script(script, os.environ, lines.append, never)
    assert (lines, end.code, end.errors) == (["one\n", "tw\\o\n"], 3, ("wrong",))


def test_a_script_longer_than_an_argument_runs() -> None:
    lines: list[str] = []
    script = f"text='{'x' * 300_000}'\necho ${{#text}}\n"
    assert run_script(script, os.environ, lines.append, never).code == 0
    assert lines == ["300000\n"]


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["ends", "wants force"])
def test_what_hangs_is_ended_with_all_that_it_started(
    trap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envcfg.nodes.probe.runner._LEAVE", 0.5)
    lines: list[str] = []
    script = f"{trap}echo $$; sleep 5432.1 & echo $!; wait"
    began = time.monotonic()
    end = run_script(script, os.environ, lines.append, lambda _: began + 0.5)
    assert end.code is None
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
    end = run_script(script, os.environ, lambda _: None, lambda _: began + 0.7)
    assert (end.code, end.errors) == (None, ("early",))


def test_where_all_is_said_the_script_gets_time_to_end() -> None:
    end = run_script("sleep 0.7; exit 5", os.environ, lambda _: None, lambda _: None)
    assert end.code == 5


def test_who_closes_its_stdout_and_goes_on_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("envcfg.nodes.probe.runner._LEAVE", 0.3)
    script = "echo one; exec >&-; exec sleep 5432.2"
    lines: list[str] = []
    assert run_script(script, os.environ, lines.append, never).code is None
    assert lines == ["one\n"]


def test_of_a_line_that_is_too_long_the_beginning_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("envcfg.nodes.probe.runner._LONGEST", 10)
    lines: list[str] = []
    script = "echo 123456789; echo 1234567890; echo 12345678901234567890123; printf 1"
    assert run_script(script, os.environ, lines.append, never).code == 0
    assert lines == ["123456789\n", "1234567890", "1234567890", "1"]


def size(path: Path) -> int:
    """Return the size of a file, 0 if it is missing."""
    return path.stat().st_size if path.exists() else 0


def test_who_writes_more_than_is_read_waits_and_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("envcfg.nodes.probe.runner._UNREAD", 1000)
    count = tmp_path / "count"
    script = 'while :; do echo 1234567; echo >>"$0"; done'
    with Step(("sh", "-c", script, str(count)), os.environ, hint="", leave=5):
        before = -1
        while (now := size(count)) != before:  # a pipe holds 64 KiB: it is full then
            before = now
            time.sleep(1)
    assert 0 < before < 20_000


def test_who_is_asked_answers_until_its_input_ends() -> None:
    script = "while read -r number; do echo $((number * 2)); done; echo over >&2"
    lines: list[str] = []
    began = time.monotonic()
    with Step(
        ("sh", "-c", script), os.environ, hint="", is_asked=True, leave=5
    ) as step:
        step.ask(1)
        step.ask(21)
        said = step.read(lines.append, lambda _: None if lines[1:] else began + 60)
    assert said
    assert lines == ["2\n", "42\n"]
    assert list(step.errors) == ["over"]


def test_a_command_that_is_not_there_is_said() -> None:
    with pytest.raises(JobError) as error:
        Step(("no-such-command",), os.environ, hint="install it", leave=1)
    assert (
        error.value.message == "cannot run no-such-command: No such file or directory"
    )
    assert error.value.hint == "install it"


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
