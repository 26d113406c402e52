"""Check a job script, submit it to its scheduler, and read the answer.

The scheduler gets the checked bytes on its standard input. A path would be read later,
and another process may have changed the file by then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from envcfg.backends.scheduler_client import hand_over, query
from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.characters import one_line
from envcfg.common.child_process import Answer
from envcfg.common.errors import FindingsError, JobError, UsageError
from envcfg.common.findings import Finding
from envcfg.core.bad_nodes import excluded
from envcfg.core.selection import find_system
from envcfg.job.request.scheduler_options import option_table
from envcfg.lint.model_builder import asked_by
from envcfg.lint.script_source import Sources
from envcfg.site.machine import scheduler_here

if TYPE_CHECKING:
    from envcfg.backends.schedulers.scheduler import Scheduler
    from envcfg.core.linting import Linter
    from envcfg.job.request.admission import GivenOption

_SIGN = re.compile(r"%(\d*)([A-Za-z%])")
Notify = Callable[[str, str | None], object]  # gets a message and a hint


_LONGEST = 10_000  # characters of a line of the scheduler


class Submitted(NamedTuple):
    """The scheduler's answer to a script."""

    scheduler: str  # the command that submits; *exit_code*: its exit code
    script: str | None  # the script's file; None: it is not stored
    # Its id; None: there is no job, or the scheduler did not print the id.
    job: str | None
    number: str | None  # the part of the id in file names
    log: str | None  # the job's output file; None: only the job knows its name
    starts: str | None  # the expected start, in the scheduler's format; None: unknown
    dry_run: bool
    exit_code: int
    # The reason if the scheduler rejected the script; *hint*: the remedy, if known.
    fault: str | None
    said: tuple[str, ...]  # all its other messages, by line
    hint: str | None
    findings: tuple[Finding, ...]  # the doubts about the script


def system_of(script: str, data: bytes) -> str | None:
    """Return the profile of this system for the directives of a script, if known.

    Raises:
        UsageError: several profiles of this cluster fit the script.
    """
    _, directives = asked_by(Sources().add(script, data))
    return find_system()([(f"--{each.name}", each.value) for each in directives])


def submit(
    script: str,
    data: bytes,
    linter: Linter,
    *,
    dry_run: bool,
    bad_nodes: str | None = None,
    notify: Notify = lambda message, hint: None,  # noqa: ARG005
) -> Submitted:
    """Give a script to its scheduler, or ask when its job would start.

    Args:
        script: its path, for messages; the job gets its name if the script sets none.
        data: its bytes; the file is not read again.
        linter: knows the script's target system, if it is known.
        dry_run: nothing is submitted.
        bad_nodes: a list of nodes to leave out.
        notify: receives notices while the scheduler is slow.

    Raises:
        FindingsError: lint rejects the script; ``JobError``: there is no scheduler
            here, or it does not answer; ``UsageError``: the scheduler cannot predict
            the start of a job.
    """
    # The directives decide the scheduler: a system may have the commands of
    # several.
    name, directives = asked_by(Sources().add(script, data))
    schedulers = [SCHEDULERS[name]] if name else [*SCHEDULERS.values()]
    if (scheduler := scheduler_here(schedulers)) is None:
        msg = f"{' or '.join(scheduler.submit for scheduler in schedulers)} is not on PATH"
        raise JobError(msg, hint="run it on a login node of the system")
    # Errors stop the submission before the job waits for hours and then fails.
    findings = linter.judge({script: data}, environment=os.environ).all
    if errors := [finding for finding in findings if finding.severity == "error"]:
        raise FindingsError(errors)
    if not directives and not _has_variables(scheduler):
        msg = f"{script} has no {scheduler.mark} line, so it requests no nodes and no time"
        make = "a job script of envcfg has them: envcfg job --help"
        if script.endswith(".py"):
            make = f"as a program: envcfg submit --container IMAGE -- python {script}"
        raise UsageError(msg, hint=make)
    if dry_run and not scheduler.test:
        msg = f"{scheduler.title} does not say when a job would start"
        raise UsageError(msg, hint="leave out --dry-run; the script has no error")
    options = _options(directives, scheduler)
    words = [*scheduler.submit.split(), *_name_words(script, data, options, scheduler)]
    if bad_nodes is not None:
        if "--exclude-from" in scheduler.lacks:
            msg = (
                f"--exclude-from: {scheduler.title} has no option that leaves out nodes"
            )
            raise UsageError(msg, hint="leave out --exclude-from")
        # An option of the command line replaces that of the script.
        nodes, notes = excluded(bad_nodes, options.get("exclude"))
        findings = [*findings, *notes]
        words += [f"--exclude={nodes}"] if nodes else []
    # The estimate comes first: afterwards, it would include the submitted job itself.
    test = query([*words, *scheduler.test], data) if scheduler.test else Answer(1)
    answer = test if dry_run else _hand_over(words, data, scheduler, notify)
    # No exit code means no answer, and the job may or may not exist.
    if answer.exit_code is None:
        raise JobError(answer.fault, hint=f"{scheduler.lists} lists your jobs")
    # A negative code is a signal; shells show it as 128 plus its number.
    code = answer.exit_code if answer.exit_code >= 0 else 128 - answer.exit_code
    starts = re.search(scheduler.starts, test.err) if test.exit_code == 0 else None
    job = None if dry_run or code else re.search(scheduler.answer, answer.out, re.M)
    # Without the group, the whole id names the files.
    number = job.groupdict().get("number") or job["id"] if job else None
    # Each character of a line may become four, so an endless line is cut.
    texts = f"{answer.out}\n{answer.err}".split("\n")
    lines = [line[:_LONGEST].rstrip() for line in texts]
    fault, hint = _explain(answer, code, script, scheduler)
    return Submitted(
        scheduler=scheduler.submit,
        script=script,
        job=job["id"] if job else None,
        number=number,
        log=_log(script, options, scheduler, number) if number else None,
        starts=starts["time"] if starts else None,
        dry_run=dry_run,
        exit_code=code,
        fault=fault,
        # The line with the job's id is already in the result, so it is not
        # repeated.
        said=tuple(one_line(s) for s in lines if s and not (job and s == job[0])),
        hint=hint,
        findings=tuple(findings),
    )


def _options(inputs: list[GivenOption], scheduler: Scheduler) -> dict[str, str | None]:
    """Return the values of a script's options, by the names that profiles use."""
    means = option_table(scheduler.name).means
    return {means.get(option.name, option.name): option.value for option in inputs}


def _name_words(
    script: str, data: bytes, options: dict[str, str | None], scheduler: Scheduler
) -> list[str]:
    """Return the options that name a job after its script, unless it already has a
    name.

    A scheduler does so for a script file; from stdin, all jobs get the same name.
    """
    if (
        "job-name" in options
        or _name_in_variable(scheduler)
        or (scheduler.name_lines and re.search(scheduler.name_lines, data, re.M))
    ):
        return []
    return [word.format(os.path.basename(script)) for word in scheduler.name_words]


def _has_variables(scheduler: Scheduler) -> bool:
    """Return whether the environment has options for the command that submits."""
    prefix = scheduler.option_prefix
    return bool(prefix) and any(name.startswith(prefix) for name in os.environ)


def _name_in_variable(scheduler: Scheduler) -> str | None:
    prefix = scheduler.option_prefix
    return os.environ.get(f"{prefix}JOB_NAME") if prefix else None


def _hand_over(
    words: list[str], data: bytes, scheduler: Scheduler, notify: Notify
) -> Answer:
    """Submit a script; notify of a slow scheduler and of an interruption."""
    program, hint = scheduler.submit, f"{scheduler.lists} lists your jobs"
    slow = f"no answer from {program} for {{}} s; Ctrl-C stops waiting"
    stopped = f"{program} was interrupted: the job may be submitted, or not"
    return hand_over(
        words,
        data,
        wait=lambda seconds: notify(slow.format(seconds), None),
        interrupt=lambda: notify(stopped, hint),
    )


def _explain(
    answer: Answer, code: int, script: str, scheduler: Scheduler
) -> tuple[str | None, str | None]:
    """Return why the scheduler rejected the script, and the remedy if it is known."""
    if not code:
        return None, None
    program, text = scheduler.submit, answer.out + answer.err
    table = option_table(scheduler.name)
    end = f"and ended with {code}"
    # Unclear answers come first: to submit again could run the job twice.
    if any(part in text for part in table.unsure):
        fault = f"{program} got no answer to {script}, {end}: the job may be submitted"
        return fault, f"{scheduler.lists} lists your jobs"
    hint = next((fix for part, fix in table.answers.items() if part in text), None)
    if any(part in text for part in table.unreached):
        fault = f"{program} reached no {scheduler.title}, {end}: no job is submitted"
        return fault, hint
    return f"{program} refused {script}, {end}", hint


def _log(
    script: str, options: dict[str, str | None], scheduler: Scheduler, number: str
) -> str | None:
    """Return the job's output file, for an array that of its first task; None: unknown."""
    array = options.get("array")
    own = scheduler.own_output[array is not None]
    path = options.get("output") or own
    # Some schedulers accept a folder and choose the file name.
    if os.path.isdir(path):
        path = os.path.join(path, own)
    # The scheduler's own placeholders are translated to Slurm's, so that one table is
    # enough.
    for sign, written in scheduler.fills.items():
        path = path.replace(written, sign)
    name = options.get("job-name") or _name_in_variable(scheduler)
    values = {"x": name or os.path.basename(script), "A": number, "%": "%"}
    values |= {"j": number} if array is None else {"a": re.split("[-,:]", array)[0]}
    # An unknown placeholder or a shell variable is filled in only by the job.
    if {sign[2] for sign in _SIGN.finditer(path)} - {*values} or re.search(
        r"[$^{]", path
    ):
        return None
    filled = _SIGN.sub(lambda sign: values[sign[2]].zfill(int(sign[1] or 0)), path)
    return os.path.join(options.get("chdir") or options.get("cwd") or "", filled)
