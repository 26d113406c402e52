"""NCCL's log of the collective, judged by the rules of check-log while it is written."""

from collections.abc import Iterator, Mapping

from envcfg.common.findings import Finding
from envcfg.log.expectations import Expectations
from envcfg.log.follow import is_safe
from envcfg.log.judge.job_judge import judge
from envcfg.log.names import network_kind
from envcfg.log.numbers import grouped, ranks_of
from envcfg.log.read.process_facts import Spot
from envcfg.log.read.rulebook import Rulebook, load_rules
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport

_NAME = "NCCL's log"
_BLOCK = 1 << 16  # bytes to read at once
_PAUSE = 1.0  # seconds between two judgements, which take a while for many ranks
_BAD = ("broken", "degraded")


class LiveLog:
    """The lines of the ranks that are not envcfg's own."""

    def __init__(self) -> None:
        """Begin without lines."""
        rules = Rulebook(load_rules())
        self._reader = Reader(JobLog(rules), JobLog(rules, certain=True))
        self._number = self._reader.begin(_NAME, plain=False)
        self._waiting = b""
        self._offset = self._lines = 0
        self._has_any = self._is_bad = False
        self._next = 0.0

    def take(self, line: str) -> None:
        """Add a line."""
        self._waiting += line.encode("utf-8", "replace")
        if len(self._waiting) >= _BLOCK:
            self._flush()

    def report(self, expect: Expectations) -> LogReport | None:
        """Return the verdict on the log so far; None: NCCL has printed nothing."""
        self._flush()
        return self._judge(self._reader.jobs[0], expect) if self._has_any else None

    def is_bad(self, expect: Expectations, now: float) -> bool:
        """Return whether certain lines show a bad log that later lines cannot improve.

        The log is judged at intervals: *now* is in seconds of a monotonic clock.
        """
        if self._is_bad or now < self._next:
            return self._is_bad
        self._next = now + _PAUSE
        self._flush()
        if self._has_any:
            # The second job holds certain lines only, because an early end needs proof.
            sure = self._reader.jobs[1]
            log_report, certain = (
                self._judge(job, expect) for job in self._reader.jobs
            )
            self._is_bad = log_report.verdict in _BAD and is_safe(
                log_report, certain, sure
            )
        return self._is_bad

    def _judge(self, job: JobLog, expect: Expectations) -> LogReport:
        reading = Coverage(self._reader.files, self._reader.size)
        return judge(job, expect, self._reader.locate, reading)

    def _flush(self) -> None:
        text, self._waiting = self._waiting, b""
        if text:
            spot = Spot(self._number, self._offset, 0)
            self._has_any |= self._reader.take(text, spot, self._lines)
            self._reader.size += len(text)
            self._offset += len(text)
            self._lines += text.count(b"\n")


def network_state(report: LogReport | None, nodes: int, *, is_done: bool) -> str:
    """Return ``fast``, ``slow`` or ``unknown``: whether the log proves a fast network.

    ``unneeded`` on one node. Only a log that *is_done* proves a good network.
    """
    if nodes == 1:
        return "unneeded"
    if report is None:
        return "unknown"
    if report.verdict in _BAD:
        return "slow"
    kinds = {network_kind(name) for name in report.job.networks}
    is_fast = is_done and report.verdict == "ok" and kinds and "socket" not in kinds
    return "fast" if is_fast else "unknown"


def log_findings(report: LogReport, hosts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the findings of a bad log: per host with bad ranks, and for the job.

    *hosts* maps NCCL's name of a node to the job's name.
    """
    if report.verdict not in _BAD:
        return
    bad = (rank for rank in report.ranks if rank.verdict in _BAD)
    alike = grouped(bad, lambda rank: hosts.get(rank.host, rank.host))
    for host, ranks in alike.items():
        many = ranks_of([rank.rank for rank in ranks])
        message = f"{many}: {ranks[0].reason or ranks[0].verdict}"
        fix = next((finding.fix for finding in report.findings if finding.fix), None)
        yield Finding(f"network-{ranks[0].verdict}", "error", host, message, fix)
    # The log is deleted after the check, so its lines cannot serve the user as
    # evidence.
    yield from (
        finding._replace(evidence=None) for finding in report.findings if finding.cause
    )
