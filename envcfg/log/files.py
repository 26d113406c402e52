"""From files to a verdict: read and judge the files of each job, and the files beside
them."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from envcfg.common.budget import MB, Budget, SpentError
from envcfg.log.bugs import Bugs
from envcfg.log.collective.sidecars import kinds_of
from envcfg.log.expectations import Expectations
from envcfg.log.job_files import by_job, marks_of, undecided_groups
from envcfg.log.judge.checks import COPIES
from envcfg.log.judge.job_judge import judge
from envcfg.log.judge.next_step import with_bugs, with_doubts
from envcfg.log.read.line_owner import attempt_number
from envcfg.log.read.log_source import LogSource
from envcfg.log.read.rulebook import Rulebook
from envcfg.log.state.batches import SEVERAL, by_communicator, name_of_files, of_jobs
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport, OpenQuestion

# Receives the number of bytes that were read.
Reading = Callable[[Sequence[str]], AbstractContextManager[Callable[[int], None]]]
_NOTHING = Expectations()
_WHOLE: Mapping[str, int] = {}  # of each file all bytes
# Real logs take a tenth of the limit: 4 MB of NCCL's lines in a second, or 1 GB of
# other output.
_SECONDS = 60.0  # plus one for each MB
_MEGABYTES = 2000.0
STOPPED = "reading-stopped"


def log_budget(subject: str) -> Budget:
    """Return the limits for reading a kind of input; a large log gets higher limits."""
    return Budget(subject, seconds=_SECONDS, megabytes=_MEGABYTES)


def check_files(
    files: Sequence[str],
    rulebook: Rulebook,
    expect: Expectations = _NOTHING,
    reading: Reading | None = None,
    starts: Mapping[str, int] = _WHOLE,
) -> LogReport:
    """Return the verdict on log files, and on hangs by the files beside them.

    Args:
        files: paths, or ``-``; also of several jobs.
        rulebook: the rules.
        expect: requirements on the logs.
        reading: receives the files of one job, and the number of bytes that were read.
        starts: first byte to read of plain files that hold more than these jobs.

    Raises:
        OutputError: a file cannot be read.
    """
    kinds = kinds_of(files)
    logs = [name for name in files if name not in kinds]
    judges = _Judges(rulebook, expect, reading, starts)
    reports = judges.reports(logs)
    report = of_jobs(reports, rulebook.rules[SEVERAL], judges.undecided)
    if not kinds:
        return report
    from envcfg.log.collective.sidecars import load_traces
    from envcfg.log.judge.trace_diagnosis import with_traces

    bugs = Bugs()

    def add_traces() -> LogReport:
        traces = load_traces(kinds)
        return with_traces(report, traces, rulebook.rules, alone=not logs)

    try:
        with judges.judging:
            traced = bugs.attempt("the files next to the log", add_traces, report)
    except SpentError as err:
        return _unfinished(report, err, rulebook)
    return with_bugs(traced, bugs)


class _Judges:
    """Judges the logs of one command within its limits."""

    def __init__(
        self,
        rulebook: Rulebook,
        expect: Expectations,
        reading: Reading | None,
        starts: Mapping[str, int],
    ) -> None:
        self.judging = log_budget("the log")
        self._starts = starts
        self._rulebook, self._expect, self._reading = rulebook, expect, reading
        self._budget = log_budget("the log")
        self._behind = 0
        self.undecided: list[str] = []

    def reports(self, files: Sequence[str]) -> dict[str, LogReport]:
        """Return the report of each job, by its name."""
        reports: dict[str, LogReport] = {}
        jobs = by_job(files, marks_of(files) if files[1:] else {})
        # Next to several jobs, each of the other files is judged alone.
        unnumbered = jobs.pop("", [])
        others = {name_of_files(group): group for group in undecided_groups(unnumbered)}
        self.undecided = [*others]
        numbered = {f"job {number}": names for number, names in jobs.items()} | (
            others if jobs else {"the log": unnumbered}
        )
        for name, names in numbered.items():
            job, report = self._read_job(names)
            # A pipe cannot be read again for each part.
            again = all(map(os.path.isfile, names)) and not job.endings.new_files
            # Copies of a program share no communicator, but they are one job.
            again &= all(finding.rule != COPIES for finding in report.findings)
            bugs, parts = Bugs(), {"": names}
            if again:
                parts = bugs.attempt(
                    "the job of each file", partial(by_communicator, job, names), parts
                )
                report = with_bugs(report, bugs)
            if len(parts) == 1:
                reports[name] = report
                continue
            for part, own in parts.items():
                called = f"{name}, {part}" if len(numbered) > 1 else part
                reports[called] = self._read_job(own)[1]
        return reports

    def _read_job(self, files: Sequence[str]) -> tuple[JobLog, LogReport]:
        """Return the state of one job read from its files, and its report.

        If a log takes too long, only its first part is judged, and the report shows that. A
        fault in that part counts, but it cannot show that the rest is good.
        """
        job = JobLog(self._rulebook)
        reader = Reader(job)
        stops: list[SpentError] = []
        try:
            watched = self._reading(files) if self._reading else nullcontext()
            with self._budget, watched as progress:

                def tell(done: int) -> None:
                    # The limits grow with the bytes that are read.
                    more = max(0, done - self._behind) / MB
                    self._behind = max(done, self._behind)
                    self._budget.more(more)
                    self.judging.more(more)
                    if progress:
                        progress(done)

                ordered = sorted(files, key=attempt_number)
                _take_in(ordered, reader, tell, self._starts)
        except SpentError as err:
            stops.append(err)
        reading = Coverage(reader.files, reader.size)
        try:
            with self.judging:
                report = judge(job, self._expect, reader.locate, reading)
        except SpentError as err:
            stops.append(err)
            # Judging stopped too, so the report is on an empty job.
            nothing = JobLog(self._rulebook)
            report = judge(
                nothing, self._expect, reader.locate, reading._replace(size=0)
            )
        for stop in stops:
            report = _unfinished(report, stop, self._rulebook)
        return job, report


def _take_in(
    files: Sequence[str],
    reader: Reader,
    progress: Callable[[int], None],
    starts: Mapping[str, int],
) -> None:
    """Read *files* one after another; *progress* gets the number of bytes read so far."""
    behind = 0
    for name in files:
        source = LogSource(name, starts.get(name, 0))
        try:
            base = behind
            reader.read(source, lambda done, base=base: progress(base + done))  # type: ignore[misc]
        finally:
            source.close()
        behind += source.offset


def _unfinished(report: LogReport, err: SpentError, rulebook: Rulebook) -> LogReport:
    """Return *report* on a part of the log: never ok, with *err* as the reason."""
    unknown = OpenQuestion(err.message, rulebook.rules[STOPPED].fix or "")
    return with_doubts(report, [unknown])
