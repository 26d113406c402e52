"""Every ending next to every other one: each form of the report is complete, none raises.

The endings are the samples of all rules that tell how a process ended. Of each sample there
is a variant for every capture that its pattern does not need, and each is written with and
without the rank and the host in front of its line.
"""

from __future__ import annotations

import json
import re
from itertools import cycle
from pathlib import Path
from string import Formatter

import jsonschema
import pytest
from checking import rulebook
from ends import ENDINGS, NAMES, TRACEBACK, Ending
from jobs import Job as Training
from jobs import text

from envcfg.log.expectations import Expectations
from envcfg.log.follow import is_safe
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.process_facts import Spot
from envcfg.log.read.rulebook import load_rules
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport
from envcfg.report.log.log_findings import log_json, rank_findings
from envcfg.report.log.log_html import log_html
from envcfg.report.log.log_text import log_lines
from suites import mark_sample
from support import ROOT, envcfg

SCHEMA = json.loads((ROOT / "docs/check-log.schema.json").read_text())
FALLEN = text(Training(dialect="rccl-2.22", fallen=frozenset({1})))
PREFIXES = ("", "3: ", "nid001007: ", "[rank5]: ", "nid001007 5: ")


def with_prefix(ending: Ending, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in ending.text.splitlines())


def judged(log: str, *, certain: bool = False) -> tuple[LogReport, LogReport, JobLog]:
    """Return the report on *log*, that on its certain lines, and the job of these."""
    jobs = (JobLog(rulebook()), JobLog(rulebook(), certain=True)) if certain else ()
    reader = Reader(*(jobs or (JobLog(rulebook()),)))
    data = log.encode("utf-8", "surrogateescape")
    reader.take(data, Spot(reader.begin("job.log", plain=False), 0, 0), 0)
    reports = [
        judge(job, Expectations(), reader.locate, Coverage(1, len(data)))
        for job in reader.jobs
    ]
    return reports[0], reports[-1], reader.jobs[-1]


def test_the_endings_have_variants() -> None:
    """Otherwise the pairs below show nothing of lines that lack a signal or a host."""
    assert len(ENDINGS) > 140
    lines = [each.line for each in ENDINGS if each.rule.id == "elastic-crash"]
    assert any("SIGSEGV" in line for line in lines)
    assert any("SIG" not in line for line in lines)


@pytest.mark.parametrize("place", mark_sample(range(len(ENDINGS)), every=36), ids=NAMES)
def test_pair(place: int) -> None:
    """Judge the pairs of an ending with all before it, and write every form of the report.

    Order and prefixes alternate, so that each of them is next to each ending of a kind.
    """
    for number, second in enumerate(ENDINGS[: place + 1], place):
        pair = [(ENDINGS[place], number), (second, number // len(PREFIXES))]
        if number % 2:
            pair.reverse()
        log = "".join(
            with_prefix(each, PREFIXES[n % len(PREFIXES)]) for each, n in pair
        )
        report, proof, job = judged(log, certain=number % 5 == 0)
        lines = [line for line, _ in log_lines(report)]
        assert report.summary.startswith(lines[0])
        assert len(lines[0]) <= 160
        unfilled = re.compile(r"None|\{[a-z_]*\}")  # a kernel writes {1}
        # Last words are quoted, and may have such words themselves.
        is_quoted = unfilled.search(log)
        assert is_quoted or not any(map(unfilled.search, lines)), lines
        document = json.loads(log_json(report))
        assert document["verdict"] == report.verdict
        if number % 5 == 0:
            assert is_safe(report, proof, job) in {True, False}
            assert report.verdict in log_html(report, "job.log")
            assert len(rank_findings(report)) >= len(report.ranks)


@pytest.mark.parametrize("ending", mark_sample(ENDINGS, every=32), ids=NAMES)
def test_command_on_each_ending(
    ending: Ending, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command answers in every form, and runs what ``--on-bad`` names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("envcfg.log.follow._PAUSE", 0.001)
    monkeypatch.setattr("envcfg.log.follow._SETTLE", 0.001)
    Path("a.log").write_text(ending.text, errors="surrogateescape")
    plain = envcfg("check-log", "--html", "a.html", "a.log")
    assert plain.code in {0, 1, 3}, plain.err
    document = json.loads(envcfg("check-log", "--json", "a.log").text)
    jsonschema.validate(document, SCHEMA)
    assert envcfg("check-log", "--next", "a.log").code == plain.code
    # torchrun's summary of a worker that crashed follows.
    summary = "  exitcode  : -11 (pid: 222)\n"
    Path("a.log").write_text(FALLEN + ending.text + summary, errors="surrogateescape")
    acted = envcfg(
        "check-log", "--follow", "--timeout", "0", "--on-bad", "touch acted", "a.log"
    )
    assert acted.code == 1, acted.err
    assert Path("acted").exists(), acted.err


NUMBERS = ("9" * 9, "9" * 5000, "٣٣", "0")


@pytest.mark.nightly
@pytest.mark.parametrize("number", NUMBERS, ids=("large", "endless", "arabic", "zero"))
def test_any_number_in_an_ending(number: str) -> None:
    """Ranks, codes and signals are text until somebody has looked at their length."""
    prefixes = cycle(("", f"{number}: ", f"[rank{number}]: "))
    for ending, prefix in zip(ENDINGS, prefixes, strict=False):
        log = prefix + re.sub(r"\d+", number, ending.text)
        report, _, _ = judged(log + ending.text)
        assert report.summary.startswith(next(log_lines(report))[0])


def test_words_of_rules_name_captures_of_their_patterns() -> None:
    for rule in load_rules():
        names = {name for _, name, _, _ in Formatter().parse(rule.says) if name}
        groups = set(re.compile(rule.pattern).groupindex)
        if rule.codes:  # filled with the capture of the line's own rule
            groups.add("said")
        assert names <= groups, rule.id
        assert "{" not in f"{rule.meaning}{rule.fix}", rule.id


def test_a_rank_with_a_number_of_no_job_costs_nothing() -> None:
    """Ranks that say nothing are counted up to the largest number that a line names."""
    lost = TRACEBACK + "ConnectionResetError: [Errno 104] Connection reset by peer\n"
    log = "".join(f"[rank9999999]: {line}\n" for line in lost.splitlines())
    assert judged(log)[0].verdict == "broken"
