"""Files to a verdict: those of each job read and judged, and what lies beside them."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from envcfg.budget import MB, Budget, SpentError
from envcfg.log.batches import SEVERAL, by_communicator, by_job, of_jobs
from envcfg.log.expectations import Expectations
from envcfg.log.job import Job
from envcfg.log.judge import Read, judge
from envcfg.log.reader import Reader
from envcfg.log.rulebook import Rulebook
from envcfg.log.sidecars import kinds_of
from envcfg.log.source import Source
from envcfg.log.verdict import LogReport, Unknown

# What is told how many bytes of files are behind.
Reading = Callable[[Sequence[str]], AbstractContextManager[Callable[[int], None]]]
_NOTHING = Expectations()
# Real logs take a tenth of it: 4 MB of NCCL's lines in a second, or 1 GB of other output.
_SECONDS = 60.0  # and one more for each MB
_MEGABYTES = 2000.0
STOPPED = "reading-stopped"


def log_budget(what: str) -> Budget:
    """Return what reading *what* may cost; a large log is worth more."""
    return Budget(what, seconds=_SECONDS, megabytes=_MEGABYTES)


def check_files(
    files: Sequence[str],
    rulebook: Rulebook,
    expect: Expectations = _NOTHING,
    reading: Reading | None = None,
) -> LogReport:
    """Return what logs come to, with what files beside them tell of a hang or of speed.

    Args:
        files: paths, or ``-``; of several jobs, too.
        rulebook: the rules.
        expect: what the logs must show.
        reading: told of the files of one job, and of the bytes of them that are behind.

    Raises:
        OutputError: one cannot be read.
    """
    kinds = kinds_of(files)
    logs = [name for name in files if name not in kinds]
    judges = _Judges(rulebook, expect, reading)
    report = of_jobs(judges.reports(logs), rulebook.rules[SEVERAL])
    if not kinds:
        return report
    from envcfg.log.diagnosis import with_traces
    from envcfg.log.sidecars import load_traces

    try:
        with judges.judging:
            traces = load_traces(kinds)
            return with_traces(report, traces, rulebook.rules, alone=not logs)
    except SpentError as err:
        return _unfinished(report, err, rulebook)


class _Judges:
    """What judges the logs of one command, and what all of that may cost."""

    def __init__(
        self, rulebook: Rulebook, expect: Expectations, reading: Reading | None
    ) -> None:
        self.judging = log_budget("the log")
        self._rulebook, self._expect, self._reading = rulebook, expect, reading
        self._budget = log_budget("the log")
        self._behind = 0

    def reports(self, files: Sequence[str]) -> dict[str, LogReport]:
        """Return what each job comes to, by its name."""
        reports: dict[str, LogReport] = {}
        numbered = by_job(files)
        for number, names in numbered.items():
            name = f"job {number}" if number else "files without a number"
            job, report = self._read(names)
            # What is not a file, such as a pipe, cannot be read again.
            again = all(os.path.isfile(each) for each in names)
            parts = by_communicator(job, names) if again else {"": names}
            if len(parts) == 1:
                reports[name] = report
                continue
            for part, own in parts.items():
                called = f"{name}, {part}" if len(numbered) > 1 else part
                reports[called] = self._read(own)[1]
        return reports

    def _read(self, files: Sequence[str]) -> tuple[Job, LogReport]:
        """Return what the files of one job say, and what that comes to.

        Of a log that takes too long, the part that was read is judged, and said to be one:
        a fault that stands in it is one, but it cannot show that the rest is good.
        """
        job = Job(self._rulebook)
        reader = Reader(job)
        stops: list[SpentError] = []
        try:
            watched = self._reading(files) if self._reading else nullcontext()
            with self._budget, watched as progress:

                def tell(done: int) -> None:
                    # More is allowed as more of the files is read.
                    more = max(0, done - self._behind) / MB
                    self._behind = max(done, self._behind)
                    self._budget.more(more)
                    self.judging.more(more)
                    if progress:
                        progress(done)

                _take_in(files, reader, tell)
        except SpentError as err:
            stops.append(err)
        read = Read(reader.files, reader.size)
        try:
            with self.judging:
                report = judge(job, self._expect, reader.locate, read)
        except SpentError as err:
            stops.append(err)
            nothing = Job(self._rulebook)
            report = judge(nothing, self._expect, reader.locate, read._replace(size=0))
        for each in stops:
            report = _unfinished(report, each, self._rulebook)
        return job, report


def _take_in(
    files: Sequence[str], reader: Reader, progress: Callable[[int], None]
) -> None:
    """Read *files* one after another; *progress* gets the number of bytes read so far."""
    behind = 0
    for name in files:
        source = Source(name)
        try:
            base = behind
            reader.read(source, lambda done, base=base: progress(base + done))  # type: ignore[misc]
        finally:
            source.close()
        behind += source.offset


def _unfinished(report: LogReport, err: SpentError, rulebook: Rulebook) -> LogReport:
    """Return *report* on a part of the log: never ok, and *err* says why."""
    unknown = Unknown(err.message, rulebook.rules[STOPPED].fix or "")
    report = report._replace(unknowns=(unknown, *report.unknowns))
    if report.network_verdict == "ok":
        report = report._replace(network_verdict="inconclusive")
    if report.verdict in ("ok", "inconclusive"):
        summary = f"inconclusive: {err.message}"
        report = report._replace(verdict="inconclusive", summary=summary)
    return report
