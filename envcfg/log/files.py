"""Files to a verdict: those of each job read and judged, and what lies beside them."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from envcfg.log.batches import SEVERAL, by_communicator, by_job, of_jobs
from envcfg.log.beside import kinds_of
from envcfg.log.expectations import Expectations
from envcfg.log.job import Job
from envcfg.log.judge import Read, judge
from envcfg.log.reader import Reader
from envcfg.log.rulebook import Rulebook
from envcfg.log.source import Source
from envcfg.log.verdict import LogReport

# What is told how many bytes of files are behind.
Reading = Callable[[Sequence[str]], AbstractContextManager[Callable[[int], None]]]
_NOTHING = Expectations()


@contextmanager
def _unwatched(_: Sequence[str]) -> Iterator[Callable[[int], None]]:
    yield lambda _: None


def check_files(
    files: Sequence[str],
    rulebook: Rulebook,
    expect: Expectations = _NOTHING,
    reading: Reading = _unwatched,
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
    reports = _reports(logs, rulebook, expect, reading)
    report = of_jobs(reports, rulebook.rules[SEVERAL])
    if not kinds:
        return report
    from envcfg.log.diagnosis import with_traces
    from envcfg.log.traces import load_traces

    return with_traces(report, load_traces(kinds), rulebook.rules, alone=not logs)


def _reports(
    files: Sequence[str], rulebook: Rulebook, expect: Expectations, reading: Reading
) -> dict[str, LogReport]:
    """Return what each job comes to, by its name."""
    reports: dict[str, LogReport] = {}
    numbered = by_job(files)
    for number, names in numbered.items():
        name = f"job {number}" if number else "files without a number"
        job, report = _read(names, rulebook, expect, reading)
        # What is no file, such as a pipe, cannot be read again.
        again = all(os.path.isfile(each) for each in names)
        parts = by_communicator(job, names) if again else {"": names}
        if len(parts) == 1:
            reports[name] = report
            continue
        for part, own in parts.items():
            called = f"{name}, {part}" if len(numbered) > 1 else part
            reports[called] = _read(own, rulebook, expect, reading)[1]
    return reports


def _read(
    files: Sequence[str], rulebook: Rulebook, expect: Expectations, reading: Reading
) -> tuple[Job, LogReport]:
    """Return what the files of one job say, and what that comes to."""
    job = Job(rulebook)
    reader = Reader(job)
    with reading(files) as progress:
        behind = 0
        for name in files:
            source = Source(name)
            try:
                base = behind
                reader.read(source, lambda done, base=base: progress(base + done))  # type: ignore[misc]
            finally:
                source.close()
            behind += source.offset
    return job, judge(job, expect, reader.locate, Read(reader.files, reader.size))
