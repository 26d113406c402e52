"""``envcfg submit``: pass a script to its scheduler."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import TYPE_CHECKING

from envcfg.commands.lint import make_linter
from envcfg.commands.printing import (
    save_machinery,
    save_script,
    say,
    tell,
    wants_script,
    write,
)
from envcfg.common.characters import one_line
from envcfg.common.errors import EnvcfgError, FindingsError, UsageError
from envcfg.core.new_defaults import new_defaults, save_defaults, shared_options
from envcfg.core.submission import Submitted, submit, system_of

if TYPE_CHECKING:
    from envcfg.core.job_request import Job
    from envcfg.core.step import Step

_OF_A_SCRIPT = frozenset(
    {
        *("--profile", "--allow-writable", "--color", "--dry-run", "--json"),
        "--exclude-from",
    }
)


def send_file(options: argparse.Namespace) -> int:
    """Check and submit the script ``options.script``; return the scheduler's exit code.

    Raises:
        UsageError: other options are given too; also as for ``submit``.
    """
    from envcfg.lint.script_source import read_files

    path = options.script
    flags = [word.partition("=")[0] for word in options.argv if word.startswith("-")]
    extra = [flag for flag in flags if flag not in {*_OF_A_SCRIPT, path}]
    if extra or options.command is not None:
        subject = extra[0] if options.command is None else "the command"
        msg = f"{subject} is for a script that envcfg makes"
        raise UsageError(msg, hint=f"leave it out, or {path}, which is there")
    if path == "-" or os.path.isdir(path):
        msg = f"{path} is not a file, and one script is submitted"
        raise UsageError(msg, hint="envcfg submit job.sh")
    data = read_files([path])[path]
    profile = options.profile or system_of(path, data)
    bad_nodes = options.exclude_from
    return _put(options, _send(options, path, data, profile, bad_nodes, is_file=True))


def send_job(options: argparse.Namespace, job: Job, step: Step) -> int:
    """Submit the script of *job*; return the scheduler's exit code.

    The script is saved in the file of ``-o``. Without ``-o``, the job's number is in
    its name, because several jobs may be submitted at the same time. A dry run writes
    nothing.

    Raises:
        UsageError: ``-o`` is standard output; also as for ``submit``.
        FindingsError: the image is damaged; also as for ``submit``.
    """
    path_of_defaults = None if options.dry_run else _new_defaults(options)
    # The job would wait for hours, and then fail.
    if damage := [note for note in step.findings if note.rule == "image-damaged"]:
        raise FindingsError([note._replace(severity="error") for note in damage])
    lines = job.request.lines
    name = next(line.value for line in lines if line.option == "--job-name")
    stem = f"{name}".replace("/", "_")
    data = job.script.encode("utf-8", "surrogateescape")
    if options.output is None:
        options.output = f"{stem}.sh"
        if job.files.machinery:
            save_machinery(options, job.files, "the job needs")
        done = _send(options, f"{stem}.sh", data, step.profile_name)
        path = f"{stem}-{done.number}.sh" if done.number else None
        done = done._replace(script=path and _keep(options, path, job, step))
    else:
        if wants_script(options):
            msg = "-o names the script that is submitted, and this is standard output"
            raise UsageError(msg, hint="leave out -o, or name a file")
        if not options.dry_run:
            save_script(options, job.files, step.inputs)
        done = _send(options, options.output, data, step.profile_name)
    code = _put(options, done)
    if path_of_defaults and not code:
        _offer_defaults(options, path_of_defaults)
    return code


def _new_defaults(options: argparse.Namespace) -> str | None:
    """Return the path of a new file of defaults; None if there can be none here.

    Raises:
        EnvcfgError: ``--save-defaults`` needs it.
    """
    try:
        return new_defaults(writable=options.allow_writable)
    except EnvcfgError:
        if getattr(options, "save_defaults", False):
            raise
        return None


def _offer_defaults(options: argparse.Namespace, path: str) -> None:
    """Write the options that all jobs share to *path*, or let the next step name them."""
    shared = shared_options(getattr(options, "given", {}))
    if not getattr(options, "save_defaults", False):
        options.unsaved = ",".join(shared)
        return
    try:
        save_defaults(path, shared)
    except EnvcfgError as err:
        tell(f"the job is submitted, but {err.message}", err.hint, severity="warning")
    else:
        tell(f"{path} has {', '.join(shared)}: the next jobs here need not repeat them")


def _keep(options: argparse.Namespace, path: str, job: Job, step: Step) -> str | None:
    """Write the script of a submitted job to *path*; return the path if it is written."""
    options.output = path
    try:
        save_script(options, job.files._replace(machinery=""), step.inputs)
    except EnvcfgError as err:
        tell(f"the job is submitted, but {err.message}", severity="warning")
        return None
    return path


def _send(
    options: argparse.Namespace,
    path: str,
    data: bytes,
    profile: str | None,
    bad_nodes: str | None = None,
    *,
    is_file: bool = False,
) -> Submitted:
    # The request of a new job is checked already, by the same profile.
    rules = () if is_file else ("EC6",)
    linter = make_linter(options, profile, {}, policy="refuse", ignore=rules)
    done = submit(
        path,
        data,
        linter,
        dry_run=options.dry_run,
        bad_nodes=bad_nodes,
        notify=tell,
    )
    say(done.findings)
    sys.stderr.writelines(f"{line}\n" for line in done.said)
    if done.fault:
        tell(done.fault, done.hint, severity="error")
    elif not (done.job or done.dry_run):
        tell(f"{done.scheduler} took {path}, and did not print the number of the job")
    return done


def _put(options: argparse.Namespace, done: Submitted) -> int:
    """Print the result of a submission; return the scheduler's exit code."""
    if options.json:
        from envcfg.report.document import json_text

        write(json_text(done))
    elif done.dry_run and not done.exit_code:
        write(f"would start: {done.starts or 'unknown'} (nothing is submitted)\n")
    elif not done.exit_code:
        script = f" ({one_line(shlex.quote(done.script))})" if done.script else ""
        write(f"job: {done.job or 'unknown'}{script}\n")
        log = done.log or "its name is known when the job has started"
        if done.starts:
            write(f"start: about {done.starts}, as {done.scheduler} --test-only says\n")
        write(f"log: {one_line(log)}\n")
        if done.log:
            look = f"envcfg check-log --follow {shlex.quote(done.log)}"
            write(f"look: {one_line(look)}\n")
    return done.exit_code
