"""envcfg for programs: the commands as functions that return records.

The rules are those of the commands: the same profile folders, images and conditions.
Nothing is printed, and nothing ends the process. Messages of a command are in the
records, and refusals raise an ``EnvcfgError`` with a ``message`` and a ``hint``.
``as_json`` returns the output of the command's ``--json``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from envcfg.backends.scheduler_client import renew_limits
from envcfg.common.errors import EnvcfgError, UsageError

if TYPE_CHECKING:
    from envcfg.common.findings import Result
    from envcfg.core.explanation import Explanation
    from envcfg.core.inspection import Inspected
    from envcfg.core.job_request import Job
    from envcfg.core.option import Given
    from envcfg.core.profiles import Compared
    from envcfg.core.submission import Submitted
    from envcfg.job.plan.plan import Plan
    from envcfg.log.expectations import Expectations
    from envcfg.log.verdict import LogReport
    from envcfg.nodes.hang.hang_judge import Judgement
    from envcfg.nodes.hang.hang_records import Evidence
    from envcfg.nodes.preflight.preflight_judge import Answers
    from envcfg.nodes.preflight.preflight_records import Report, Requirements
    from envcfg.profile.detect import Detected
    from envcfg.profile.look.value_list import View

    # The names are strings in the writers' table, so that importing this module
    # loads none of them.
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
# The writer of each record's JSON, below ``envcfg.report``; "*" passes the fields
# as arguments.
_WRITERS = {
    "Compared": "document.json_text",
    "Detected": "*profile.profile_list.detect_json",
    "Explanation": "*explanation_report.explained_json",
    "Inspected": "*image_report.inspection_json",
    "Job": "*request_report.request_json",
    "LogReport": "log.log_findings.log_json",
    "Plan": "plan_report.plan_json",
    "Result": "finding_report.findings_json",
    "Submitted": "document.json_text",
    "View": "profile.profile_view.view_json",
}


def profile_names() -> list[str]:
    """Return the names of all available profiles, sorted.

    Raises:
        UsageError: the current folder is gone.
    """
    from envcfg.core.selection import open_catalog

    return sorted(open_catalog(policy="show").names())


def load_profile(
    name: Path,
    *,
    facts: Mapping[str, str] | None = None,
    allow_writable: bool = False,
) -> View:
    """Return every value of a profile, with its reason and place.

    Args:
        name: the name of a profile, or the path of a file.
        facts: facts for conditions (``rocm`` to ``6.2.4``).
        allow_writable: members of your groups may write the profile's files.

    Raises:
        UsageError: the profile does not exist, or a fact is impossible.
        ProfileError: the profile has errors; see ``findings``.
    """
    from envcfg.core.profiles import show
    from envcfg.core.selection import open_catalog

    # A program may run for days, so each call gets new time for the scheduler.
    renew_limits()
    catalog = open_catalog(writable=allow_writable)
    return show(catalog, os.fspath(name), facts=facts or {})


def diff_profiles(
    old: Path,
    new: Path,
    *,
    facts: Mapping[str, str] | None = None,
    allow_writable: bool = False,
) -> Compared:
    """Return the differences of two profiles; ``found`` is empty if there are none.

    The arguments are as for ``load_profile``.

    Raises:
        ProfileError: as ``load_profile``; also ``UsageError``.
    """
    from envcfg.core.profiles import compare
    from envcfg.core.selection import open_catalog

    renew_limits()
    catalog = open_catalog(writable=allow_writable)
    return compare(catalog, os.fspath(old), os.fspath(new), facts=facts or {})


def validate_profiles(*files: Path) -> Result:
    """Return the problems of profile files, by file; folders of profiles are accepted.

    Raises:
        OutputError: a file cannot be read.
    """
    from envcfg.core.profiles import validate
    from envcfg.core.selection import open_catalog

    return validate(open_catalog(policy="show"), [os.fspath(file) for file in files])


def detect_profile() -> Detected:
    """Return the profile that matches this machine, with the reason: see
    ``detection.one()``.

    Raises:
        UsageError: the current folder is gone.
    """
    from envcfg.core.selection import detect_system, open_catalog

    renew_limits()
    return detect_system(open_catalog(policy="show"))


def make_plan(
    command: Sequence[str] = (),
    *,
    container: Path | None,
    settings: Mapping[str, str | None] | None = None,
    facts: Mapping[str, str] | None = None,
    **options: Given,
) -> Plan:
    """Return the plan of one job, as ``envcfg wrap`` resolves it.

    Args:
        command: the program and its arguments; empty: a script of several steps.
        container: image file or URI; None: no container.
        settings: variables and their values; ``${NAME}`` refers to a variable, and None
            unsets it.
        facts: facts for conditions, such as ``{"rocm": "6.2.4"}``.
        options: further options of ``envcfg wrap`` by name, with ``_`` for ``-``:
            ``profile="lumi-g"`` (otherwise detected), ``ranks=2``,
            ``nccl_debug=True``, ``bind=["/data", "/scratch:/tmp"]``.

    Returns:
        The plan; its ``notes`` are the notes that the command prints.

    Raises:
        UsageError: options contradict each other, or the profile; also
            ``ProfileError``.
    """
    from envcfg.core.option import read_options
    from envcfg.core.step import make_step, plan_step
    from envcfg.core.step_options import STEP

    renew_limits()
    values = read_options(STEP, _option_values(container, settings, facts, options))
    example = 'make_plan(["python", "train.py"])'
    return plan_step(make_step(values, tuple(command) or None, example))


def make_job(
    command: Sequence[str],
    *,
    container: Path | None,
    settings: Mapping[str, str | None] | None = None,
    facts: Mapping[str, str] | None = None,
    **options: Given,
) -> Job:
    """Return a job script with its request and cost, as ``envcfg job`` does.

    Args:
        command: the program and its arguments.
        container: as for ``make_plan``, like *settings* and *facts*.
        options: further options of ``envcfg job``, as for ``make_plan``: ``nodes=2``,
            ``time="1:00:00"``, ``account="project_465000001"``.

    Returns:
        The job; its ``script`` is the text, its ``findings`` are the printed ones.

    Raises:
        UsageError: options contradict each other; ``RequestError``: the system would
            refuse; also ``ProfileError``.
    """
    from envcfg.core import job_request
    from envcfg.core.option import read_options
    from envcfg.core.request_options import REQUEST, SCRIPT, ranks_per_node
    from envcfg.core.step import make_step
    from envcfg.core.step_options import STEP

    renew_limits()
    inputs = _option_values(container, settings, facts, options)
    values = read_options({**REQUEST, **STEP, **SCRIPT}, inputs)
    # A number of tasks per node counts as ranks, as in the command.
    values["ranks"] = ranks_per_node(values)
    example = 'make_job(["python", "train.py"])'
    step = make_step(values, command, example)
    made_by = ("envcfg.api.make_job",)
    return job_request.make_job(step, values, command, place=None, made_by=made_by)


def render(plan: Plan, made_by: Sequence[str] = _MADE_BY) -> str:
    """Return the bash of *plan*, which can be sourced, run or submitted.

    Args:
        plan: of ``make_plan``.
        made_by: the command line that repeats the script, for its header.

    Raises:
        UsageError: a part of it is too long to be started.
    """
    from envcfg.job.script.host_part import render_script

    return render_script(plan, made_by)


def submit(
    script: Path,
    *,
    profile: Path | None = None,
    dry_run: bool = False,
    allow_writable: bool = False,
) -> Submitted:
    """Check a job script and give it to its scheduler, as ``envcfg submit job.sh``.

    Args:
        script: its path; the scheduler's messages are in the record, even after a
            rejection.
        profile: the system; None: the detected one, or the one recognised from the
            script.
        dry_run: nothing is submitted; the scheduler is asked when the job would start.
        allow_writable: members of your groups may write the profile's files.

    Raises:
        FindingsError: lint refuses the script; ``JobError``: there is no scheduler here;
            ``UsageError``: it does not tell the start of a job; ``OutputError``: the
            script cannot be read; also ``ProfileError``.
    """
    from envcfg.core import submission
    from envcfg.core.linting import Linter
    from envcfg.lint.script_source import read_files

    renew_limits()
    path = os.fspath(script)
    # The file is read once, so that the checked bytes are the submitted ones.
    data = read_files([path])[path]
    system = submission.system_of(path, data) if profile is None else os.fspath(profile)
    linter = Linter(profile=system, policy="refuse", writable=allow_writable)
    return submission.submit(path, data, linter, dry_run=dry_run)


def check_log(
    *files: Path,
    profile: Path | None = None,
    expect: Expectations | None = None,
    allow_writable: bool = False,
) -> LogReport:
    """Return the network use in a job's log, for every rank.

    Args:
        files: logs of one job or several; also folders and patterns.
        profile: the system, whose ``expect`` the log must show.
        expect: your own requirements (``envcfg.log.expectations.Expectations``); they
            replace those of the profile.
        allow_writable: members of your groups may write the profile's files.

    Raises:
        UsageError: no file is given; also ``ProfileError``.
        OutputError: a file cannot be read.
    """
    from envcfg.core.log_checking import check_logs, expected_by
    from envcfg.log.expectations import Expectations
    from envcfg.log.read.log_source import expand

    if not files:
        msg = "no log given"
        raise UsageError(msg, hint='check_log("slurm-123.out")')
    expectations = expect or Expectations()
    if profile is not None and expect is None:
        expectations, _ = expected_by(os.fspath(profile), writable=allow_writable)
    return check_logs(expand([os.fspath(file) for file in files]), expectations)


def lint(
    *files: Path,
    profile: Path | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    allow_writable: bool = False,
) -> Result:
    """Return the problems of job scripts and environments, by file.

    Args:
        files: scripts, outputs of env, folders.
        profile: the system; None: recognised from two signs in each script.
        select: prefixes of the rules that apply; empty: all.
        ignore: prefixes of the rules that do not apply.
        allow_writable: members of your groups may write the profile's files.

    Raises:
        UsageError: a rule does not exist; also ``ProfileError``.
        OutputError: a file cannot be read.
    """
    from envcfg.core.linting import Linter
    from envcfg.lint.script_source import read_files

    renew_limits()
    system = None if profile is None else os.fspath(profile)
    linter = Linter(
        profile=system, select=select, ignore=ignore, writable=allow_writable
    )
    return linter.judge(read_files([os.fspath(file) for file in files]))


def inspect(
    image: Path, *, profile: Path | None = None, allow_writable: bool = False
) -> Inspected:
    """Return the contents of an image, and whether its libraries would load.

    Args:
        image: a file, a folder, or a name known to the runtime; nothing is executed.
        profile: its binds are laid over the image, from this machine; None: no binds.
        allow_writable: members of your groups may write the profile's files.

    Raises:
        OutputError: the image cannot be read; also ``ImageError`` and ``ProfileError``.
    """
    from envcfg.core import inspection

    system = None if profile is None else os.fspath(profile)
    name = os.fspath(image)
    return inspection.inspect(name, profile=system, writable=allow_writable)


def explain(*names: str, profile: Path | None = None) -> Explanation:
    """Explain findings or variables; without names, every finding.

    Args:
        names: ids of findings, as in ``finding.rule``, or names of variables.
        profile: only this profile's use of a variable; None: all profiles.

    Raises:
        UsageError: a name is unknown; also ``ProfileError``.
    """
    from envcfg.core import explanation

    system = None if profile is None else os.fspath(profile)
    return explanation.explain(names, profile=system)


def judge_hang(seen: Evidence) -> Judgement:
    """Return the cause of a hang from collected evidence; no node is asked.

    Args:
        seen: evidence from processes, libraries and the log.
    """
    from envcfg.nodes.hang.hang_judge import judge

    return judge(seen)


def judge_preflight(
    wanted: Requirements, seen: Answers, *, needs_fast: bool = False
) -> Report:
    """Return whether nodes and network are fit for the job, from their answers.

    Args:
        wanted: the nodes, and the requirements on each.
        seen: the answers of nodes and ranks; nothing is asked.
        needs_fast: fail unless the log proves traffic over the fast network.
    """
    from envcfg.nodes.preflight.preflight_judge import judge_all

    return judge_all(wanted, seen, needs_fast=needs_fast)


def as_json(record: Record) -> Any:  # noqa: ANN401  # JSON
    """Return a record in the form of its command's ``--json``; docs/ has the schemas.

    Raises:
        TypeError: the value is not a record of this module.
    """
    import json

    kind = type(record)
    writer = _WRITERS.get(kind.__name__)
    # A foreign class may have the same name as a record.
    if writer is None or not kind.__module__.startswith("envcfg."):
        msg = f"{kind.__name__} is not a record of envcfg.api"
        raise TypeError(msg)
    module, _, name = writer.lstrip("*").rpartition(".")
    write = getattr(import_module(f"envcfg.report.{module}"), name)
    return json.loads(write(*record) if writer[0] == "*" else write(record))


def _option_values(
    container: Path | None,
    settings: Mapping[str, str | None] | None,
    facts: Mapping[str, str] | None,
    options: Mapping[str, Given],
) -> Iterator[tuple[str, Given]]:
    """Yield options by their names, as the core reads them."""
    # None would mean "not given" to the core, which then requires the option.
    yield "container", "none" if container is None else os.fspath(container)
    for name, value in (settings or {}).items():
        yield ("unset", name) if value is None else ("set", f"{name}={value}")
    for name, value in (facts or {}).items():
        yield "fact", f"{name}={value}"
    yield from options.items()
