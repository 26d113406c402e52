"""What logs of jobs come to, held against what they must show."""

from collections.abc import Sequence

from envcfg.findings import Finding
from envcfg.log.expectations import Expectations, expectations_of
from envcfg.log.files import Reading, check_files
from envcfg.log.follow import follow
from envcfg.log.job import Job
from envcfg.log.judge import Read, judge
from envcfg.log.reader import Reader
from envcfg.log.rulebook import Rulebook, load_rules
from envcfg.log.verdict import LogReport


def expected_by(profile: str) -> tuple[Expectations, list[Finding]]:
    """Return what the logs of a system must show, and notes on the files of its profile.

    Raises:
        ProfileError: there is no such profile, or something is wrong in it.
    """
    from envcfg.core.selection import open_catalog, overlays

    catalog = open_catalog()
    return expectations_of(catalog.load(profile)), overlays(catalog)


def check_logs(
    files: Sequence[str], expect: Expectations, reading: Reading | None = None
) -> LogReport:
    """Return what *files* say of the networks of their jobs; as ``check_files``.

    Raises:
        OutputError: one cannot be read.
    """
    return check_files(files, Rulebook(load_rules()), expect, reading)


def follow_logs(
    files: Sequence[str], expect: Expectations, timeout: float | None
) -> tuple[LogReport, LogReport]:
    """Return what *files* that still grow come to, and their certain lines alone.

    Args:
        files: paths and patterns.
        expect: what they must show.
        timeout: after how many seconds there is an answer, whatever is known; None: none.

    Raises:
        OutputError: one cannot be read.
    """
    rulebook = Rulebook(load_rules())
    reader = Reader(Job(rulebook), Job(rulebook, certain=True))

    def answer(job: Job) -> LogReport:
        return judge(job, expect, reader.locate, Read(reader.files, reader.size))

    return follow(files, reader, answer, timeout)
