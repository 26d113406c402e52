"""The checker on text: what every test of verdicts asks."""

from __future__ import annotations

from functools import lru_cache

from envcfg.log.expectations import Expectations
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.process_facts import Spot
from envcfg.log.read.rulebook import Rulebook, load_rules
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport

BLOCK = 1 << 14  # small, so that jobs span several


@lru_cache(maxsize=1)
def rulebook() -> Rulebook:
    return Rulebook(load_rules())


def check(log: str | bytes, **expected: object) -> LogReport:
    """Judge *log* as the command does, in blocks of whole lines."""
    data = log.encode("utf-8", "surrogatepass") if isinstance(log, str) else log
    job = JobLog(rulebook())
    reader = Reader(job)
    source = reader.begin("job.log", plain=False)
    at = lines = 0
    while at < len(data):
        ends = (data.rfind(end, at, at + BLOCK) + 1 for end in (b"\n", b"\r"))
        cut = next(filter(None, ends), at + BLOCK)
        block = data[at:cut]
        reader.take(block, Spot(source, at, 0), lines)
        lines += block.count(b"\n")
        at = cut
    expect = Expectations(**expected)  # type: ignore[arg-type]
    return judge(job, expect, reader.locate, Coverage(1, len(data)))


def rules_of(report: LogReport) -> set[str]:
    """Return the ids of all findings."""
    return {finding.rule for finding in report.findings}
