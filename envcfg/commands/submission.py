"""``--submit`` of ``job``, and ``envcfg submit``: a script goes to its scheduler."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import TYPE_CHECKING

from envcfg.commands.lint import make_linter
from envcfg.commands.printing import put_script, say, tell, wants_script, write
from envcfg.core.submission import submit, system_here
from envcfg.errors import UsageError

if TYPE_CHECKING:
    from envcfg.core.job import Job
    from envcfg.core.step import Step

_OF_A_SCRIPT = frozenset({"--profile", "--color", "--dry-run", "--json"})


def send_file(options: argparse.Namespace) -> int:
    """Check and submit the script ``options.script``; return the scheduler's exit code.

    Raises:
        UsageError: something else is given, too; also as ``submit``.
    """
    from envcfg.lint.source import read_files

    path = options.script
    flags = [each.partition("=")[0] for each in options.argv if each.startswith("-")]
    others = [each for each in flags if each not in {*_OF_A_SCRIPT, path}]
    if others or options.command is not None:
        what = others[0] if options.command is None else "the command"
        msg = f"{what} is for a script that envcfg makes"
        raise UsageError(msg, hint=f"leave it out, or {path}, which is there")
    if path == "-" or os.path.isdir(path):
        msg = f"{path} is not a file, and one script is submitted"
        raise UsageError(msg, hint="envcfg submit job.sh")
    return _send(
        options, path, read_files([path])[path], options.profile or system_here()
    )


def send_job(options: argparse.Namespace, job: Job, step: Step) -> int:
    """Write and submit the script of *job*; return the scheduler's exit code.

    Of a dry run nothing is written.

    Raises:
        UsageError: no file is to be written; also as ``submit``.
    """
    if options.output is None:
        lines = job.request.lines
        name = next(each.value for each in lines if each.option == "--job-name")
        options.output = f"{name}.sh".replace("/", "_")
    elif wants_script(options):
        msg = "-o names the script that is submitted, and this is standard output"
        raise UsageError(msg, hint="leave out -o, or name a file")
    if not options.dry_run:
        put_script(options, job.script, step.inputs)
    data = job.script.encode("utf-8", "surrogateescape")
    return _send(options, options.output, data, step.profile_name)


def _send(
    options: argparse.Namespace, path: str, data: bytes, profile: str | None
) -> int:
    linter = make_linter(options, profile, {})
    done = submit(path, data, linter, dry_run=options.dry_run)
    say(done.findings)
    sys.stderr.writelines(f"{line}\n" for line in done.said)
    if done.exit_code:
        said = f"{done.scheduler} refused {path}, and ended with {done.exit_code}"
        tell(said, done.hint, severity="error")
    elif not (done.job or done.dry_run):
        tell(f"{done.scheduler} took {path}, and did not print the number of the job")
    if options.json:
        from envcfg.report.document import record_json

        write(record_json(done))
    elif done.dry_run and not done.exit_code:
        write(f"would start: {done.starts or 'unknown'} (nothing is submitted)\n")
    elif not done.exit_code:
        write(f"job: {done.job or 'unknown'} ({shlex.quote(path)})\n")
        write(f"log: {done.log or 'its name is known when the job has started'}\n")
        if done.log:
            write(f"look: envcfg check-log --follow {shlex.quote(done.log)}\n")
    return done.exit_code
