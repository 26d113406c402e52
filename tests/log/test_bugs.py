"""A bug in one part of check-log: the other parts answer, and the exit code is 70."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from jobs import Job, text

from suites import mark_sample
from support import ROOT, Wrapped, envcfg

SCHEMA = json.loads((ROOT / "docs/check-log.schema.json").read_text())
CRASH = "3: Segmentation fault (core dumped)\n  exitcode  : -11 (pid: 222)\n"
TRACE = 'Traceback (most recent call last):\n  File "/u/t.py", line 3, in <module>\nValueError: x\n'
BROKEN = text(Job(dialect="rccl-2.22", fallen=frozenset({1}))) + CRASH + TRACE
GOOD = text(Job())
TRAINED = text(Job(fallen=frozenset({1}))) + "".join(
    f"{{'loss': 3.1, 'epoch': {number}.0}}\n" for number in range(9)
)
PARTS = (
    "judge.job_judge.parts_of",
    "read.endings.Endings.fold",
    "read.endings.Endings.take",
    "files.by_communicator",
    "judge.job_judge.rank_reports",
    "judge.job_judge.chained",
    "judge.job_judge.first_ends",
    "judge.job_judge.attempts_of",
    "judge.job_judge.judge_ranks",
    "judge.job_judge.job_report",
    "judge.job_judge.member_symptoms",
    "judge.job_judge.checks.job_symptoms",
    "judge.job_judge.lag_symptoms",
    "judge.job_judge.leads",
    "judge.job_judge.of_network",
    "judge.job_judge.summarize",
    "judge.job_judge.transports_of",
    "judge.job_judge.unknowns_of",
    "judge.job_judge.waiting_of",
    "judge.job_judge.cause_of",
    "judge.job_judge.world_of",
    "judge.job_judge.Reasons.with_reasons",
    "judge.job_judge.Reasons.words",
    "judge.finding_builder._rule_findings",
    "judge.finding_builder._stack_findings",
    "judge.finding_builder._symptom_findings",
    "state.job_state.JobLog.fold",
    "state.job_state.JobLog.settle",
    "state.job_state.learn",
    "read.life_signs.JobProgress.see",
    "state.reader.Reader.locate",
    "read.tracebacks.Tracebacks.take",
)


class BugError(Exception):
    """What no part of envcfg raises."""


class Failing:
    """A function with a bug, which counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *_: object, **__: object) -> None:
        self.calls += 1
        raise BugError("x\x1b[31m")


fail = Failing()


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("envcfg.log.follow._SETTLE", 0.001)
    Path("job.log").write_text(BROKEN)
    return tmp_path / "job.log"


def run(*options: str) -> Wrapped:
    """Run check-log on the log; where the bug was met, the answer reports it."""
    fail.calls = 0
    done = envcfg("check-log", *options, "job.log")
    if fail.calls:
        assert done.code == 70, done.text
        assert "envcfg: error: this is a bug in envcfg" in done.err
        assert "BugError" in done.err
        assert "please report" in done.err
        assert "\x1b" not in done.text + done.err
        assert done.text
    return done


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("part", mark_sample(PARTS, every=9))
def test_other_parts_answer(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"envcfg.log.{part}", fail)
    met = 0
    for log in (BROKEN, TRAINED, GOOD):
        Path("job.log").write_text(log)
        done = run()
        if fail.calls:
            met += 1
            word, _, summary = done.text.partition("\n")[0].partition(": ")
            assert word in {"broken", "degraded", "inconclusive"}
            assert summary
            assert "because of a bug in envcfg" in done.text
        document = json.loads(run("--json").text)
        jsonschema.validate(document, SCHEMA)
        assert bool(document["bugs"]) == bool(fail.calls)
    assert met
    Path("job.log").write_text(BROKEN)
    for options in ("--next", "--format=sarif", "--html=-", FOLLOW):
        run(*options.split())


FOLLOW = "--follow --timeout=0 --on-bad=true"


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("part", "option"),
    [
        ("log_text._facts", "--format=text"),
        ("log_text._picture", "--format=text"),
        ("log_text._finding", "--format=text"),
        ("log_text.progress_of", "--format=text"),
        ("log_findings.log_json", "--json"),
        ("log_findings.log_findings", "--format=sarif"),
        ("log_findings.rank_findings", "--format=junit"),
        ("log_html.log_html", "--html=a.html"),
    ],
)
def test_other_forms_and_sections_are_written(
    part: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = envcfg("check-log", "job.log").text
    monkeypatch.setattr(f"envcfg.report.log.{part}", fail)
    done = envcfg("check-log", option, "job.log")
    assert done.code == 70
    assert plain.partition("\n")[0] in done.text + done.err
    assert "envcfg: error: this is a bug in envcfg" in done.err
    if option == "--format=text":
        assert "fingerprint: " in done.text
    assert not Path("a.html").exists()


@pytest.mark.usefixtures("broken")
def test_a_bug_in_each_line_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envcfg.log.state.job_state.JobLog.fold_plain", fail)
    done = envcfg("check-log", "job.log")
    assert done.code == 70
    assert done.err.count("BugError") == 1
    assert "job.log:1" in done.err


def test_errors_that_users_can_mend_stay_errors(tmp_path: Path) -> None:
    assert envcfg("check-log", str(tmp_path / "none.log")).code == 4
