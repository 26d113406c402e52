"""``--submit`` of ``job``, and ``envcfg submit``: a script goes to its scheduler."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING

from envcfg.commands.lint import read_line
from envcfg.commands.printing import put_script, say, tell, wants_script, write
from envcfg.core.lint import Linter
from envcfg.core.submission import (
    Submission,
    Submitted,
    check_submission,
    submit,
    system_here,
)
from envcfg.errors import OutputError, UsageError

if TYPE_CHECKING:
    from envcfg.core.job import Job
    from envcfg.core.step import Step

_OF_A_SCRIPT = frozenset({"--profile", "--dry-run", "--json"})


def send_file(options: argparse.Namespace) -> int:
    """Check and submit the script ``options.script``; return the scheduler's exit code.

    Raises:
        FindingsError: lint refuses it; also ``OutputError``, ``JobError``, ``UsageError``.
    """
    from envcfg.lint.source import LARGEST, read_files

    path = options.script
    if options.command is not None:
        msg = f"a script, {path}, and a command behind -- are both given"
        raise UsageError(msg, hint="leave out one of them")
    if path == "-" or os.path.isdir(path):
        msg = f"{path} is no file, and one script is submitted"
        raise UsageError(msg, hint="envcfg submit job.sh")
    flags = [each.partition("=")[0] for each in options.argv if each.startswith("-")]
    if others := [each for each in flags if each not in _OF_A_SCRIPT]:
        msg = f"{others[0]} belongs to a script that envcfg makes, and {path} is there"
        hint = "change the script's own lines, or give the command behind --"
        raise UsageError(msg, hint=hint)
    data = read_files([path])[path]
    if len(data) > LARGEST:
        msg = f"{path}: is too large for a job script"
        raise OutputError(msg, hint=f"a script has at most {LARGEST:,} bytes")
    system = options.profile or system_here()
    return _send(options, check_submission(path, data, _linter(options, system)))


def send_job(options: argparse.Namespace, job: Job, step: Step) -> int:
    """Write, check and submit the script of *job*; return the scheduler's exit code.

    Of a dry run nothing is written.

    Raises:
        FindingsError: lint refuses it; also ``OutputError``, ``JobError``, ``UsageError``.
    """
    if options.output is None:
        lines = job.request.lines
        name = next(each.value for each in lines if each.option == "--job-name")
        options.output = f"{name}.sh".replace("/", "_")
    elif wants_script(options):
        msg = "-o names the script that is submitted, and this is standard output"
        raise UsageError(msg, hint="leave out -o, or name a file")
    data = job.script.encode("utf-8", "surrogateescape")
    linter = _linter(options, step.profile_name)
    asked = check_submission(options.output, data, linter)
    if not options.dry_run:
        put_script(options, job.script, step.inputs)
    return _send(options, asked)


def _linter(options: argparse.Namespace, profile: str | None) -> Linter:
    from envcfg.probe.slurm import slurm_version

    reads = partial(read_line, options.build_parser)
    return Linter(profile=profile, facts=slurm_version(), tell=tell, read_line=reads)


def _send(options: argparse.Namespace, asked: Submission) -> int:
    say(asked.findings)
    done = submit(asked, dry_run=options.dry_run)
    sys.stderr.writelines(f"{line}\n" for line in done.said)
    program = asked.scheduler.submit
    if done.exit_code:
        said = f"{program} refused {asked.script}, and ended with {done.exit_code}"
        tell(said, done.hint, severity="error")
    elif not (done.job or done.dry_run):
        tell(f"{program} took {asked.script}, and did not print the number of the job")
    if options.json:
        from envcfg.report.request import submission_json

        write(submission_json(*done))
    elif not done.exit_code:
        write("".join(f"{line}\n" for line in _lines(done)))
    return done.exit_code


def _lines(done: Submitted) -> list[str]:
    """Return what was submitted, and the command that looks at it."""
    if done.dry_run:
        return [f"would start: {done.starts or 'unknown'} (nothing is submitted)"]
    script = f" ({shlex.quote(done.script)})"
    log = done.log or "its name is known when the job has started"
    lines = [f"job: {done.job or 'unknown'}{script}", f"log: {log}"]
    if done.log:
        lines.append(f"look: envcfg check-log --follow {shlex.quote(done.log)}")
    return lines
