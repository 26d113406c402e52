"""Follow a growing log: read new lines, and stop at the first reliable verdict."""

import os
import time
from collections.abc import Callable, Sequence

from envcfg.common.budget import MB
from envcfg.common.errors import UsageError
from envcfg.log.files import log_budget
from envcfg.log.job_files import by_job
from envcfg.log.judge.sidecar_watch import SidecarWatch
from envcfg.log.read.content import is_compressed
from envcfg.log.read.log_source import BLOCK, LONGEST, expand
from envcfg.log.read.process_facts import Spot
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import LogReport, errors_of

_PAUSE = 0.15  # seconds between two looks
_ASK = 10.0  # seconds between two questions to the scheduler
_SETTLE = 0.6  # seconds for other ranks to report the same, after a safe verdict
# These findings can still change with more lines of the job.
_UNSAFE = {"ranks-unexpected", "worlds-of-one"}
# These findings too, while a process has not reported which network replaces the
# plugin.
_HASTY = {"plugin-init-failed", "plugin-init-fatal", "plugin-not-found"}
_TROUBLE = {"plugin-failed", "plugin-missing", "plugin-unsupported"}

Judge = Callable[[JobLog], LogReport]
# Whether the scheduler reports the end of the job that writes these files.
HasEnded = Callable[[Sequence[str]], bool]


class GrowingFile:
    """One growing file: the current position, and the incomplete last line."""

    def __init__(self, name: str, number: int, start: int | None = None) -> None:
        """Begin *name*, source *number* of the reader, at byte *start*; None: at 0.

        From another byte on, lines are counted only when their numbers are needed.
        """
        self.name = name
        self.number = number
        self.rest = b""
        self.position = self.offset = start or 0
        self.lines = 0 if start is None else None

    def advance(self, reader: Reader) -> bool:
        """Read new bytes up to the last complete line; return whether they contained
        evidence."""
        size = os.path.getsize(self.name)
        if size == self.position:
            return False
        if size < self.position:
            self.position = 0  # its writer truncated it and began again
            self.rest = b""
        mattered = False
        with log_budget(self.name) as budget, open(self.name, "rb") as file:
            file.seek(self.position)
            while new := file.read(BLOCK):
                if self.position == 0 and is_compressed(new):
                    msg = f"{self.name}: a compressed file cannot be followed"
                    raise UsageError(msg, hint="leave --follow out")
                self.position += len(new)
                reader.size += len(new)
                budget.more(len(new) / MB)
                text = self.rest + new
                # A carriage return at the end may be the first half of a line's end.
                cut = max(text.rfind(b"\n"), text.rfind(b"\r", 0, len(text) - 1)) + 1
                # A line without an end must not grow in memory forever.
                cut = cut or (len(text) if len(text) > LONGEST else 0)
                self.rest = text[cut:]
                full_text, spot = text[:cut], Spot(self.number, self.offset, 0)
                mattered |= reader.take(full_text, spot, self.lines)
                self.offset += len(full_text)
                if self.lines is not None:
                    self.lines += full_text.count(b"\n")
        return mattered


def follow(
    names: Sequence[str],
    reader: Reader,
    judge: Judge,
    timeout: float | None,
    has_ended: HasEnded = lambda _: False,
) -> tuple[LogReport, LogReport]:
    """Read *names* while they grow, until a verdict is safe, the job has ended, or
    *timeout* seconds are over.

    Missing files are awaited; patterns and folders are expanded again. RAS answers and
    dumps that appear among the files end the wait if they show an error.

    Args:
        names: files, folders or patterns.
        reader: reads into two jobs; the second one takes only certain lines.
        judge: returns the report on a job without changing it.
        timeout: seconds; None: no limit.
        has_ended: asks the scheduler.

    Returns:
        The report on all lines, and the report on the certain lines alone.
    """
    beside = SidecarWatch(reader.jobs[0].rulebook.rules)
    look = _WatchedFiles(names, reader, beside)
    job, certain = reader.jobs
    end = None if timeout is None else time.monotonic() + timeout

    def answer(report: LogReport) -> LogReport:
        return beside.added_to(report, alone=not look.growing)

    def settle() -> None:
        """Read on until nothing new comes."""
        settled = time.monotonic() + _SETTLE
        while time.monotonic() < settled:
            time.sleep(_PAUSE)
            if not look.again():
                break

    last_question, is_over = -_ASK, False
    while not is_over:
        mattered = look.again()
        late = end is not None and time.monotonic() >= end
        news = beside.has_news()
        if mattered or late or news:
            report, proof = judge(job), judge(certain)
            if is_safe(report, proof, certain):
                break
            # Files beside the log may show an error that cannot disappear any more.
            displayed = answer(report).findings if news else ()
            if late or not set(errors_of(displayed)) <= {*report.findings}:
                return answer(report), proof
        if time.monotonic() - last_question >= _ASK:
            last_question = time.monotonic()
            is_over = has_ended(list(look.growing))
        time.sleep(_PAUSE)
    # Other ranks may report the same now: the answer names all of them.
    settle()
    return answer(judge(job)), judge(certain)


class _WatchedFiles:
    """All files that match the names, with their positions."""

    def __init__(
        self, names: Sequence[str], reader: Reader, beside: SidecarWatch
    ) -> None:
        self.names = names
        self.reader = reader
        self.beside = beside
        self.growing: dict[str, GrowingFile] = {}

    def again(self) -> bool:
        """Read new bytes; return whether they contained evidence."""
        mattered = False
        files = present(self.names)
        if len(jobs := by_job(files)) > 1:
            msg = (
                f"--follow follows one job, and these are of several: {', '.join(jobs)}"
            )
            raise UsageError(msg, hint="name the file of the job that runs")
        for name in files:
            if name not in self.growing:
                if self.beside.takes(name) is not False:
                    continue
                number = self.reader.begin(name, plain=False)
                self.growing[name] = GrowingFile(name, number)
            mattered |= self.growing[name].advance(self.reader)
        return mattered


def present(names: Sequence[str]) -> list[str]:
    """Return the files that *names* match now."""
    return expand(names, must_exist=False)


def is_safe(report: LogReport, proof: LogReport, certain: JobLog) -> bool:
    """Return whether more lines of this job cannot change the verdict.

    A bad verdict is safe as soon as a line with a certain writer shows it. ``ok`` is safe
    if every node has also shown, on channels to other nodes, whether GPU memory goes to
    the NIC directly.

    Args:
        report: on all lines.
        proof: on the certain ones.
        certain: the job of the certain lines.
    """
    if report.verdict == "ok":
        proven = {rank.host for rank in report.ranks if rank.gdr != "unknown"}
        return proven == {rank.host for rank in report.ranks}
    # The plugin failed, and a process has not reported its replacement.
    is_choosing = any(
        not (p.networks or p.channels or "socket-interfaces" in p.seen)
        and not _TROUBLE.isdisjoint(p.seen)
        for p in certain.everyone
    )
    unsafe = _UNSAFE | _HASTY if is_choosing else _UNSAFE
    return any(
        finding.severity in ("error", "warning") and finding.rule not in unsafe
        for finding in proof.findings
    )
