"""The next step: one answer, with the same words in the text, in JSON and in ``--next``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checking import check
from crashes import CRASHES
from ends import ENDINGS, NAMES, Ending
from jobs import Job, text

from envcfg.common.budget import SpentError
from envcfg.log import files
from envcfg.log.read.rulebook import load_rules
from suites import mark_sample
from support import envcfg

GOOD = text(Job())
ENDED = "{'train_runtime': 912.5, 'epoch': 3.0}\n"
CANCELLED = (
    "slurmstepd: error: *** STEP 412.0 ON nid001 CANCELLED AT 2026-03-14T09:26:53"
)
ANSWERS = {"done", "fix first", "restart", "restart without", "wait", "unknown"}
LOGS = {
    "empty": ("", "unknown: a.log is empty: a wrong path"),
    "good": (GOOD, "unknown: the network is good; no line says how the job ended"),
    "good-and-ended": (
        GOOD + ENDED,
        "done: the program ended well (the Hugging Face Trainer's train_runtime)",
    ),
    "ended": (
        ENDED,
        "done: the program ended well (the Hugging Face Trainer's train_runtime)",
    ),
    "fallen": (
        text(Job(fallen=frozenset({1}))),
        "fix first: 8 of 16 ranks use TCP sockets on hsn0",
    ),
    "fallen-and-ended": (
        text(Job(fallen=frozenset({1}))) + ENDED,
        "done: the program ended well (the Hugging Face Trainer's train_runtime)",
    ),
    "exception": (
        CRASHES["var-srun"][1],
        "fix first: rank 5 (nid001001) ended: ValueError",
    ),
    "attempts": (
        CRASHES["attempts"][1],
        "fix first: attempts 1 and 2 ended the same way",
    ),
    "node": (CRASHES["node"][1], "restart without nid001007: "),
    "memory": (CRASHES["oom"][1], "fix first: rank 5 "),
    "signal": ("  exitcode  : -11 (pid: 222)\n", "fix first: the job crashed"),
    "preempted": (
        f"{CANCELLED} DUE TO PREEMPTION ***\n",
        "restart: ",
    ),
    "time": (
        f"{CANCELLED} DUE TO TIME LIMIT ***\n",
        "restart: ",
    ),
}


def answers(log: str, *options: str) -> list[str]:
    """Return the next step of *log* as the three forms write it."""
    Path("a.log").write_text(log, errors="surrogateescape")
    line = envcfg("check-log", *options, "--next", "a.log").text
    last = envcfg("check-log", *options, "a.log").text.splitlines()[-1]
    step = json.loads(envcfg("check-log", *options, "--json", "a.log").text)["next"]
    assert step["action"] in ANSWERS
    words = " ".join(filter(None, (step["action"], ",".join(step["nodes"]))))
    return [line, f"{last.removeprefix('next: ')}\n", f"{words}: {step['reason']}\n"]


@pytest.mark.parametrize("name", LOGS)
def test_all_forms_give_one_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log, words = LOGS[name]
    line, *others = answers(log)
    assert line.startswith(words)
    assert others == [line, line]


@pytest.mark.parametrize("name", mark_sample(CRASHES, every=6))
def test_all_forms_give_one_answer_on_a_crash(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line, *others = answers(CRASHES[name][1])
    assert others == [line, line]


@pytest.mark.parametrize("ending", mark_sample(ENDINGS, every=4), ids=NAMES)
def test_restart_needs_a_known_cause(ending: Ending) -> None:
    report = check(ending.text)
    if report.next.action.startswith("restart"):
        cause = report.cause
        assert cause
        rule = next(each for each in load_rules() if each.id == cause.rule)
        assert rule.next in {"restart", "restart without"}


@pytest.mark.parametrize("name", [name for name, (_, w) in LOGS.items()])
def test_unknown_is_restart_only_on_request(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log, words = LOGS[name]
    expected = words.replace("unknown: ", "restart: ")
    assert all(each.startswith(expected) for each in answers(log, "--unknown=restart"))


def test_every_error_rule_names_the_next_step() -> None:
    """A consequence alone leaves the cause open, and with it the answer."""
    for rule in load_rules():
        assert rule.next in {None, *ANSWERS} - {"done"}, rule.id
        if rule.severity == "error" and not rule.consequence:
            assert rule.next, rule.id


def test_a_log_that_is_not_read_to_its_end_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_a_part(*arguments: object) -> None:
        take_in(*arguments)  # type: ignore[arg-type]
        raise SpentError("reading it takes too long")

    take_in = files._take_in
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "_take_in", read_a_part)
    line, *others = answers(ENDED)
    assert line == "unknown: reading it takes too long\n"
    assert others == [line, line]
