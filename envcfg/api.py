"""envcfg for programs: what its commands do, as functions that return records.

What is the same for the commands is the same here: profiles are found in the same folders,
images are read, conditions decided. Nothing is printed, and nothing ends the process: what
a command says on stderr is in the records, and what it refuses is an ``EnvcfgError`` with a
``message`` and a ``hint``. ``as_json`` returns what the command's ``--json`` would print.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from envcfg.errors import EnvcfgError, UsageError

if TYPE_CHECKING:
    from envcfg.core.explanation import Explanation
    from envcfg.core.inspection import Inspected
    from envcfg.core.job import Job
    from envcfg.core.option import Given
    from envcfg.core.profiles import Compared
    from envcfg.core.submission import Submitted
    from envcfg.hang.judge import Judgement
    from envcfg.hang.records import Evidence
    from envcfg.launch.plan import Plan
    from envcfg.log.expectations import Expectations
    from envcfg.log.verdict import LogReport
    from envcfg.preflight.judge import Seen
    from envcfg.preflight.records import Report, Wanted
    from envcfg.profile.detect import Detected
    from envcfg.profile.look.view import View
    from envcfg.report.findings import Result

    Record = (
        Compared
        | Detected
        | Explanation
        | Inspected
        | Job
        | LogReport
        | Plan
        | Result
        | Submitted
        | View
    )

__all__ = [
    "EnvcfgError",
    "UsageError",
    "as_json",
    "check_log",
    "detect_profile",
    "diff_profiles",
    "explain",
    "inspect",
    "judge_hang",
    "judge_preflight",
    "lint",
    "load_profile",
    "make_job",
    "make_plan",
    "profile_names",
    "render",
    "submit",
    "validate_profiles",
]

Path = str | os.PathLike[str]
_MADE_BY = ("envcfg.api.render",)
# What writes each record as JSON, below ``envcfg.report``; * : it takes the fields.
_WRITERS = {
    "Compared": "*profile.view.diff_json",
    "Detected": "*profile.list.detect_json",
    "Explanation": "*background.explained_json",
    "Inspected": "*image.inspection_json",
    "Job": "*request.request_json",
    "LogReport": "log.findings.log_json",
    "Plan": "plan.plan_json",
    "Result": "findings.findings_json",
    "Submitted": "document.record_json",
    "View": "profile.view.view_json",
}


def profile_names() -> list[str]:
    """Return the names of all profiles that there are here, sorted.

    Raises:
        UsageError: the current folder is gone.
    """
    from envcfg.core.selection import open_catalog

    return sorted(open_catalog(enforce=False).names())


def load_profile(name: Path, *, facts: Mapping[str, str] | None = None) -> View:
    """Return every value of a profile, with its reason and where it stands.

    Args:
        name: of a profile, or the path of a file.
        facts: what conditions may ask for (``rocm`` to ``6.2.4``).

    Raises:
        UsageError: there is none; also for a fact that cannot be.
        ProfileError: something is wrong in it; ``findings`` say what.
    """
    from envcfg.core.profiles import show
    from envcfg.core.selection import open_catalog

    return show(open_catalog(), os.fspath(name), facts=facts or {})


def diff_profiles(
    old: Path, new: Path, *, facts: Mapping[str, str] | None = None
) -> Compared:
    """Return what differs between two profiles; ``found`` is empty where nothing does.

    Raises:
        ProfileError: as ``load_profile``; also ``UsageError``.
    """
    from envcfg.core.profiles import compare
    from envcfg.core.selection import open_catalog

    return compare(open_catalog(), os.fspath(old), os.fspath(new), facts=facts or {})


def validate_profiles(*files: Path) -> Result:
    """Return what is wrong in profile files, by file; folders hold profiles, too.

    Raises:
        OutputError: one cannot be read.
    """
    from envcfg.core.profiles import validate
    from envcfg.core.selection import open_catalog
    from envcfg.errors import OutputError
    from envcfg.report.findings import Result

    catalog = open_catalog(enforce=False)
    found, unread = validate(catalog, [os.fspath(each) for each in files])
    if unread:
        msg = "; ".join(f"{path}: {why}" for path, why in unread)
        raise OutputError(msg, hint="a profile is a file; profile_names() has names")
    return Result(found)


def detect_profile() -> Detected:
    """Return which profile fits this machine, and why: ``detection.one()`` is the one.

    Raises:
        UsageError: the current folder is gone.
    """
    from envcfg.core.selection import detect_system, open_catalog

    return detect_system(open_catalog(enforce=False))


def make_plan(
    command: Sequence[str] = (),
    *,
    container: Path | None,
    settings: Mapping[str, str | None] | None = None,
    facts: Mapping[str, str] | None = None,
    **options: Given,
) -> Plan:
    """Return what one job will do, as ``envcfg wrap`` would make it.

    Args:
        command: the program and its arguments; empty: a script of several steps.
        container: image file or URI; None: no container.
        settings: variables and their values, in which ``${NAME}`` refers to a variable;
            None takes one away.
        facts: what conditions ask for, such as ``{"rocm": "6.2.4"}``.
        options: further options of ``envcfg wrap`` by name, with ``_`` for ``-``:
            ``profile="lumi-g"`` (else the one that is detected here), ``ranks=2``,
            ``nccl_debug=True``, ``bind=["/data", "/scratch:/tmp"]``.

    Returns:
        The plan; its ``notes`` are what the command would say on stderr.

    Raises:
        UsageError: something cannot be right; also ``ProfileError``.
    """
    from envcfg.core.option import read_options
    from envcfg.core.step import make_step, plan_step
    from envcfg.core.step_options import STEP

    values = read_options(STEP, _given(container, settings, facts, options))
    example = 'make_plan(["python", "train.py"])'
    return plan_step(make_step(values, tuple(command) or None, example))


def make_job(
    command: Sequence[str],
    *,
    container: Path | None,
    settings: Mapping[str, str | None] | None = None,
    facts: Mapping[str, str] | None = None,
    inline: bool = False,
    **options: Given,
) -> Job:
    """Return a job script, what it asks for and what it costs, as ``envcfg job``.

    Args:
        command: the program and its arguments.
        container: as of ``make_plan``, like *settings* and *facts*.
        inline: the step is written out, so that the job needs no envcfg.
        options: further options of ``envcfg job``, as of ``make_plan``: ``nodes=2``,
            ``time="1:00:00"``, ``account="project_465000001"``.

    Returns:
        The job; its ``script`` is the text, its ``findings`` are what the command says.

    Raises:
        UsageError: something cannot be right; ``RequestError``: the system would refuse;
            also ``ProfileError``.
    """
    from envcfg.core import job
    from envcfg.core.option import read_options
    from envcfg.core.request_options import REQUEST, SCRIPT, ranks_per_node
    from envcfg.core.step import make_step
    from envcfg.core.step_options import STEP

    given = _given(container, settings, facts, options)
    values = read_options({**REQUEST, **STEP, **SCRIPT}, given)
    values["ranks"] = ranks_per_node(values)
    example = 'make_job(["python", "train.py"])'
    step = make_step(values, command, example)
    made_by = ("envcfg.api.make_job",)
    return job.make_job(step, values, command, inline=inline, made_by=made_by)


def render(plan: Plan, made_by: Sequence[str] = _MADE_BY) -> str:
    """Return the bash of *plan*, which can be sourced, run or submitted.

    Args:
        plan: of ``make_plan``.
        made_by: the words of a command that makes it again, for its header.

    Raises:
        UsageError: a part of it is too long to be started.
    """
    from envcfg.bash.host import render_script

    return render_script(plan, made_by)


def submit(
    script: Path, *, profile: Path | None = None, dry_run: bool = False
) -> Submitted:
    """Check a job script and give it to its scheduler, as ``envcfg submit job.sh``.

    Args:
        script: its path; what the scheduler says of it is in the record, also a refusal.
        profile: the system; None: the one that is known here, or shown by the script.
        dry_run: nothing is submitted; the scheduler is asked when the job would start.

    Raises:
        FindingsError: lint refuses the script; ``JobError``: there is no scheduler here;
            ``UsageError``: it does not tell the start of a job; ``OutputError``: the
            script cannot be read; also ``ProfileError``.
    """
    from envcfg.core import submission
    from envcfg.core.lint import Linter
    from envcfg.lint.source import read_files

    path = os.fspath(script)
    system = submission.system_here() if profile is None else os.fspath(profile)
    data = read_files([path])[path]
    return submission.submit(path, data, Linter(profile=system), dry_run=dry_run)


def check_log(
    *files: Path,
    profile: Path | None = None,
    expect: Expectations | None = None,
) -> LogReport:
    """Return what the log of a job says of its network, for every rank.

    Args:
        files: of one job or several; folders and patterns, too.
        profile: the system, whose ``expect`` the log must show.
        expect: the same, said by you (``envcfg.log.expectations.Expectations``); it takes
            the place of the profile's.

    Raises:
        UsageError: no file is given; also ``ProfileError``.
        OutputError: one cannot be read.
    """
    from envcfg.core.log import check_logs, expected_by
    from envcfg.log.expectations import Expectations
    from envcfg.log.source import expand

    if not files:
        msg = "no log given"
        raise UsageError(msg, hint='check_log("slurm-123.out")')
    wanted = expect or Expectations()
    if profile is not None and expect is None:
        wanted, _ = expected_by(os.fspath(profile))
    return check_logs(expand([os.fspath(each) for each in files]), wanted)


def lint(
    *files: Path,
    profile: Path | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Result:
    """Return what is wrong in job scripts and environments, by file.

    Args:
        files: scripts, outputs of env, folders.
        profile: the system; None: the one of which a script shows two signs, if any.
        select: beginnings of the rules that count; empty: all.
        ignore: beginnings of those that do not.

    Raises:
        UsageError: there is no such rule; also ``ProfileError``.
        OutputError: a file cannot be read.
    """
    from envcfg.core.lint import Linter
    from envcfg.lint.source import read_files

    system = None if profile is None else os.fspath(profile)
    linter = Linter(profile=system, select=select, ignore=ignore)
    return linter.judge(read_files([os.fspath(each) for each in files]))


def inspect(image: Path, *, profile: Path | None = None) -> Inspected:
    """Return what is in an image, and whether its libraries would load.

    Args:
        image: a file, a folder, or a name that the runtime here knows; nothing is run.
        profile: whose binds are laid over it, from this machine; None: none are.

    Raises:
        OutputError: it cannot be read; also ``ImageError`` and ``ProfileError``.
    """
    from envcfg.core import inspection

    system = None if profile is None else os.fspath(profile)
    return inspection.inspect(os.fspath(image), profile=system)


def explain(*names: str, profile: Path | None = None) -> Explanation:
    """Return what findings or variables mean; every finding where none is named.

    Args:
        names: ids of findings, as ``finding.rule`` has them, or names of variables.
        profile: which sets a variable; None: all that there are.

    Raises:
        UsageError: nothing is known of a name; also ``ProfileError``.
    """
    from envcfg.core import explanation

    system = None if profile is None else os.fspath(profile)
    return explanation.explain(names, profile=system)


def judge_hang(seen: Evidence) -> Judgement:
    """Return who holds up a silent job, of what was seen of it; nothing is asked.

    Args:
        seen: what processes, libraries and the log say.
    """
    from envcfg.hang.judge import judge

    return judge(seen)


def judge_preflight(wanted: Wanted, seen: Seen, *, needs_fast: bool = False) -> Report:
    """Return whether nodes and network can do their work, of what they have said.

    Args:
        wanted: the nodes, and what each should have.
        seen: what nodes and ranks have answered; nothing is asked.
        needs_fast: it fails unless the log proves that traffic takes the fast network.
    """
    from envcfg.preflight.judge import judge_all

    return judge_all(wanted, seen, needs_fast=needs_fast)


def as_json(record: Record) -> Any:  # noqa: ANN401  # JSON
    """Return a record as the ``--json`` of its command has it; docs/ has the schemas.

    Raises:
        TypeError: it is not a record of this module.
    """
    import json

    kind = type(record)
    writer = _WRITERS.get(kind.__name__)
    if writer is None or not kind.__module__.startswith("envcfg."):
        msg = f"{kind.__name__} is not a record of envcfg.api"
        raise TypeError(msg)
    module, _, name = writer.lstrip("*").rpartition(".")
    write = getattr(import_module(f"envcfg.report.{module}"), name)
    return json.loads(write(*record) if writer[0] == "*" else write(record))


def _given(
    container: Path | None,
    settings: Mapping[str, str | None] | None,
    facts: Mapping[str, str] | None,
    options: Mapping[str, Given],
) -> Iterator[tuple[str, Given]]:
    """Yield options by their names, as the core reads them."""
    yield "container", "none" if container is None else os.fspath(container)
    for name, value in (settings or {}).items():
        yield ("unset", name) if value is None else ("set", f"{name}={value}")
    for name, value in (facts or {}).items():
        yield "fact", f"{name}={value}"
    yield from options.items()
