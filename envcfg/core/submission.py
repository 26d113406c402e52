"""A job script that is checked and given to its scheduler, and what that says of it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from envcfg.characters import one_line
from envcfg.core.selection import detect_system, open_catalog
from envcfg.errors import FindingsError, JobError, UsageError
from envcfg.findings import Finding
from envcfg.lint.reading import asked_by
from envcfg.lint.source import Sources
from envcfg.request.options import option_table
from envcfg.schedulers import SCHEDULERS
from envcfg.schedulers.model import Scheduler

if TYPE_CHECKING:
    from envcfg.core.lint import Linter


class Submission(NamedTuple):
    """A script that may be submitted.

    Attributes:
        scheduler: its record; *given*: the options of its lines, by long name.
        script: its path; *data*: what is in it.
        findings: what is doubtful in it.
    """

    scheduler: Scheduler
    given: Mapping[str, str | None]
    script: str
    data: bytes
    findings: tuple[Finding, ...]


class Submitted(NamedTuple):
    """What a scheduler made of a script.

    Attributes:
        job: its id; None: there is none, or the scheduler did not say it.
        log: where the job writes; None where only the job knows.
        starts: when it would start, as the scheduler says it; None: it does not.
        dry_run: nothing was submitted.
        exit_code: the scheduler's.
        said: all its other words, by line.
        hint: what helps, where it refused and that is known.
    """

    scheduler: str
    script: str
    job: str | None
    log: str | None
    starts: str | None
    dry_run: bool
    exit_code: int
    said: tuple[str, ...]
    hint: str | None
    findings: tuple[Finding, ...]


def system_here() -> str | None:
    """Return the profile of the system to which a job would go from this machine.

    None where no name, host or file of it is known: devices alone are a guess.
    """
    if named := os.environ.get("ENVCFG_PROFILE"):
        return named
    found = detect_system(open_catalog(enforce=False))[0].one()
    return found.name if found and found.evidence != "devices" else None


def check_submission(script: str, data: bytes, linter: Linter) -> Submission:
    """Return the script as it may be submitted: what lint has against it refuses it.

    Args:
        script: its path.
        data: what is in it.
        linter: with the system that it is for, if that is known.

    Raises:
        FindingsError: the system would refuse it, or it cannot run.
        JobError: the scheduler's command is not here.
    """
    scheduler, options = asked_by(Sources().add(script, data))
    known = [SCHEDULERS[scheduler]] if scheduler else [*SCHEDULERS.values()]
    here = next((each for each in known if _program(each)), None)
    if here is None:
        names = " or ".join(each.submit for each in known)
        msg = f"{names} is not on PATH, so nothing can be submitted from here"
        raise JobError(msg, hint="run it on a login node of the system")
    found = linter.judge({script: data}).all
    if errors := [each for each in found if each.severity == "error"]:
        raise FindingsError(errors)
    means = option_table(here.name).means
    given = {means.get(each.name, each.name): each.value for each in options}
    return Submission(here, given, script, data, tuple(found))


def submit(asked: Submission, *, dry_run: bool = False) -> Submitted:
    """Give a script to its scheduler, or ask when its job would start.

    Raises:
        JobError: the scheduler's command cannot be run; ``UsageError``: it does not tell
            the start of a job.
    """
    import subprocess

    scheduler = asked.scheduler
    if dry_run and not scheduler.test:
        msg = f"{scheduler.title} does not tell when a job would start"
        hint = f"{asked.script} has no error; leave out --dry-run to submit it"
        raise UsageError(msg, hint=hint)
    program, *words = scheduler.submit.split()
    # The text itself: of a dry run no file is written.
    words += scheduler.test if dry_run else [os.path.join(".", asked.script)]
    try:
        done = subprocess.run(
            [_program(scheduler) or program, *words],
            input=asked.data if dry_run else b"",
            capture_output=True,
            check=False,
        )
    except OSError as err:
        msg = f"cannot run {program}: {err.strerror}"
        raise JobError(msg, hint=f"{scheduler.submit} {asked.script}") from err
    out, err_ = (each.decode("utf-8", "replace") for each in (done.stdout, done.stderr))
    lines = [line.rstrip() for line in (*out.split("\n"), *err_.split("\n"))]
    text = "\n".join(lines)
    ended = done.returncode if done.returncode >= 0 else 128 - done.returncode
    ok = ended == 0
    starts = re.search(scheduler.starts, text) if dry_run and ok else None
    answer = re.search(scheduler.answer, out, re.M) if ok and not dry_run else None
    answers = option_table(scheduler.name).answers
    return Submitted(
        scheduler=scheduler.name,
        script=asked.script,
        job=answer["id"] if answer else None,
        log=_log(asked, answer) if answer else None,
        starts=starts["time"] if starts else None,
        dry_run=dry_run,
        exit_code=ended,
        said=tuple(one_line(s) for s in lines if s and not (answer and s == answer[0])),
        hint=next(
            (fix for part, fix in answers.items() if part in text and not ok), None
        ),
        findings=asked.findings,
    )


def _program(scheduler: Scheduler) -> str | None:
    from shutil import which

    return which(scheduler.submit.split()[0])


def _log(asked: Submission, answer: re.Match[str]) -> str | None:
    """Return where the job writes, of an array its first job; None: not known yet."""
    given, scheduler = asked.given, asked.scheduler
    array = given.get("array")
    own = scheduler.own_output[array is not None]
    path = given.get("output") or own
    if os.path.isdir(path):
        path = os.path.join(path, own)
    for sign, written in scheduler.fills.items():
        path = path.replace(written, sign)
    number = answer.groupdict().get("number") or answer["id"]
    name = given.get("job-name") or os.path.basename(asked.script)
    known = {"x": name, "A": number, "%": "%"}
    known |= {"j": number} if array is None else {"a": array.partition("-")[0]}
    signs = re.compile(r"%(\d*)([A-Za-z%])")
    if {each[2] for each in signs.finditer(path)} - {*known} or re.search(
        r"[$^{]", path
    ):
        return None
    folder = given.get("chdir") or given.get("cwd") or ""
    filled = signs.sub(lambda each: known[each[2]].zfill(int(each[1] or 0)), path)
    return os.path.join(folder, filled)
