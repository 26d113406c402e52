"""A job script that is checked and given to its scheduler, and what that says of it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from envcfg.characters import one_line
from envcfg.core.selection import detect_system, open_catalog
from envcfg.core.site import scheduler_here
from envcfg.errors import FindingsError, JobError, UsageError
from envcfg.findings import Finding
from envcfg.lint.reading import asked_by
from envcfg.lint.source import Sources
from envcfg.request.options import option_table
from envcfg.schedulers import SCHEDULERS

if TYPE_CHECKING:
    from envcfg.core.lint import Linter
    from envcfg.request.admission import Given
    from envcfg.schedulers.model import Scheduler

_SIGN = re.compile(r"%(\d*)([A-Za-z%])")


class Submitted(NamedTuple):
    """What a scheduler made of a script.

    Attributes:
        scheduler: the command that submits; *exit_code*: what it ended with.
        job: its id; None: there is none, or the scheduler did not say it.
        log: where the job writes; None where only the job knows.
        starts: when it would start, as the scheduler says it; None: it does not.
        said: all its other words, by line; *hint*: what helps, if that is known.
        findings: what is doubtful in the script.
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
    """Return the profile of this system, if it is known; devices alone are a guess."""
    if named := os.environ.get("ENVCFG_PROFILE"):
        return named
    found = detect_system(open_catalog(enforce=False)).detection.one()
    return found.name if found and found.evidence != "devices" else None


def submit(script: str, data: bytes, linter: Linter, *, dry_run: bool) -> Submitted:
    """Give a script to its scheduler, or ask when its job would start.

    Args:
        data: what is in it; of a dry run no file is read.
        linter: with the system that it is for, if that is known.

    Raises:
        FindingsError: lint refuses the script; ``JobError``: there is no scheduler here;
            ``UsageError``: the scheduler does not tell the start of a job.
    """
    import subprocess

    name, given = asked_by(Sources().add(script, data))
    known = [SCHEDULERS[name]] if name else [*SCHEDULERS.values()]
    if (scheduler := scheduler_here(known)) is None:
        msg = f"{' or '.join(each.submit for each in known)} is not on PATH"
        raise JobError(msg, hint="run it on a login node of the system")
    found = linter.judge({script: data}).all
    if errors := [each for each in found if each.severity == "error"]:
        raise FindingsError(errors)
    if dry_run and not scheduler.test:
        msg = f"{scheduler.title} does not say when a job would start"
        raise UsageError(msg, hint="leave out --dry-run; the script has no error")
    last = scheduler.test if dry_run else (os.path.join(".", script),)
    done = subprocess.run(
        [*scheduler.submit.split(), *last],
        input=data if dry_run else b"",
        capture_output=True,
        check=False,
    )
    out, err = (each.decode("utf-8", "replace") for each in (done.stdout, done.stderr))
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    starts = re.search(scheduler.starts, err) if dry_run and not code else None
    job = None if dry_run or code else re.search(scheduler.answer, out, re.M)
    lines = [line.rstrip() for line in f"{out}\n{err}".split("\n")]
    answers = option_table(scheduler.name).answers.items() if code else ()
    return Submitted(
        scheduler=scheduler.submit,
        script=script,
        job=job["id"] if job else None,
        log=_log(script, given, scheduler, job) if job else None,
        starts=starts["time"] if starts else None,
        dry_run=dry_run,
        exit_code=code,
        said=tuple(one_line(s) for s in lines if s and not (job and s == job[0])),
        hint=next((fix for part, fix in answers if part in out + err), None),
        findings=tuple(found),
    )


def _log(
    script: str, options: list[Given], scheduler: Scheduler, job: re.Match[str]
) -> str | None:
    """Return where the job writes, of an array its first job; None: not known yet."""
    means = option_table(scheduler.name).means
    given = {means.get(each.name, each.name): each.value for each in options}
    array = given.get("array")
    own = scheduler.own_output[array is not None]
    path = given.get("output") or own
    if os.path.isdir(path):
        path = os.path.join(path, own)
    for sign, written in scheduler.fills.items():
        path = path.replace(written, sign)
    number = job.groupdict().get("number") or job["id"]
    known = {"x": given.get("job-name") or os.path.basename(script), "A": number}
    known |= (
        {"%": "%", "j": number} if array is None else {"a": re.split("[-,:]", array)[0]}
    )
    if {each[2] for each in _SIGN.finditer(path)} - {*known} or re.search(
        r"[$^{]", path
    ):
        return None
    filled = _SIGN.sub(lambda each: known[each[2]].zfill(int(each[1] or 0)), path)
    return os.path.join(given.get("chdir") or given.get("cwd") or "", filled)
