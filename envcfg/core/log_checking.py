"""Check the logs of jobs against the expected results."""

import shlex
from collections.abc import Sequence

from envcfg.common.findings import Finding
from envcfg.log.expectations import Expectations, expectations_of
from envcfg.log.files import Reading, check_files
from envcfg.log.follow import follow
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.rulebook import Rulebook, load_rules
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport
from envcfg.nodes.probe.slurm_job import is_output_complete
from envcfg.profile.profile_model import Profile
from envcfg.profile.words import with_kind


def expected_by(
    profile: str, *, writable: bool = False
) -> tuple[Expectations, list[Finding]]:
    """Return the requirements on a system's logs, and notes on the files of its profile.

    Args:
        writable: members of the user's groups may write these files.

    Raises:
        ProfileError: the profile does not exist, or has errors.
    """
    from envcfg.core.selection import open_catalog, overlays

    catalog = open_catalog(writable=writable)
    expect, notes = _expected_of_nodes(catalog.load(profile), profile)
    return expect, [*overlays(catalog), *notes]


def expected_by_default(
    profile: str, *, is_projects: bool, writable: bool = False
) -> tuple[Expectations, list[Finding]]:
    """Return what ``expected_by`` returns, without the profiles of a project.

    A cloned profile could require too little of a log. So the user must name it.

    Args:
        is_projects: the project's file of defaults names the profile.
        writable: as for ``expected_by``.

    Raises:
        ProfileError: the profile does not exist, or has errors.
    """
    from envcfg.core.selection import load_default, open_catalog

    catalog = open_catalog(policy="leave out", writable=writable)
    if path := catalog.leave_out_project(profile, is_projects=is_projects):
        fix = f"if it may decide: --profile {shlex.quote(profile)}"
        message = "is left out, because it comes with the project"
        catalog.ignored[path] = Finding(
            "profile-of-project", "note", path, message, fix
        )
    if path == profile:
        return Expectations(), [*catalog.ignored.values()]
    loaded, notes = load_default(catalog, profile)
    if loaded is None:
        return Expectations(), notes
    expect, more = _expected_of_nodes(loaded, profile)
    return expect, [*notes, *more]


def _expected_of_nodes(
    profile: Profile, name: str
) -> tuple[Expectations, list[Finding]]:
    """Return the requirements on the job's kind of node, or those of all kinds.

    A log does not name its kind of node, but the variables of a job do.
    """
    from envcfg.core.selection import possible_kinds

    expect, *others = map(expectations_of, possible_kinds(profile, name))
    differing = [
        field
        for field in expect._fields
        if any(getattr(each, field) != getattr(expect, field) for each in others)
    ]
    if not (differing and profile.kind):
        return expect, []
    empty = Expectations()
    message = f"not compared, because kinds of nodes differ: {', '.join(differing)}"
    names = (shlex.quote(with_kind(name, kind)) for kind in profile.nodes)
    fix = f"name the kind of the job's nodes: --profile {' or '.join(names)}"
    note = Finding("kind-unknown", "note", f"profile {profile.name}", message, fix)
    dropped = {field: getattr(empty, field) for field in differing}
    return expect._replace(**dropped), [note]


def check_logs(
    files: Sequence[str], expect: Expectations, reading: Reading | None = None
) -> LogReport:
    """Return the verdict on *files*; see ``check_files``.

    Raises:
        OutputError: a file cannot be read.
    """
    return check_files(files, Rulebook(load_rules()), expect, reading)


def follow_logs(
    files: Sequence[str], expect: Expectations, timeout: float | None
) -> tuple[LogReport, LogReport]:
    """Return the verdict on growing *files*, and the verdict of their certain lines
    alone.

    Args:
        files: paths and patterns.
        expect: the requirements on the logs.
        timeout: the seconds until an answer is given in any case; None: no limit.

    Raises:
        OutputError: a file cannot be read.
    """
    rulebook = Rulebook(load_rules())
    reader = Reader(JobLog(rulebook), JobLog(rulebook, certain=True))

    def answer(job: JobLog) -> LogReport:
        return judge(job, expect, reader.locate, Coverage(reader.files, reader.size))

    return follow(files, reader, answer, timeout, is_output_complete)
