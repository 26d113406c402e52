"""``envcfg job``, also ``sbatch`` and ``qsub``: a job script; ``submit``: its job."""

from __future__ import annotations

import argparse
import shlex

from envcfg.commands.formats import STRICT, check_format, format_option, put_result
from envcfg.commands.options import Sparing, add_table, made_by, read_step
from envcfg.commands.printing import OUTPUT, check_script, put_script, say, write
from envcfg.core.option import Table, no_default, switch
from envcfg.core.request_options import REQUEST, SCRIPT, ranks_per_node
from envcfg.core.step_options import STEP
from envcfg.errors import UsageError
from envcfg.findings import Finding

# The letters of options, as the users of PBS know them.
_LETTERS = {"--account": "-A", "--partition": "-q", "--job-name": "-N", "--array": "-J"}
_EXAMPLE = "envcfg job --container pytorch.sif --time 1:00:00 -- python train.py"


OPTIONS: Table = {
    **REQUEST,
    **STEP,
    "what to print": (
        *SCRIPT["the script"],
        no_default(REQUEST, STEP, SCRIPT),
        switch("--json", "request, cost and script as JSON"),
        format_option("no script, but what the system would refuse, and notes"),
        STRICT,
        *OUTPUT,
    ),
    "to submit it": (
        switch(
            "--submit",
            "write the script, by default to JOB-NAME.sh, and submit it: envcfg submit",
        ),
        switch(
            "--dry-run",
            "with --submit: ask when the job would start, and submit nothing",
        ),
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``job``, or of the other name that *parser* reads."""
    table = dict(OPTIONS)
    parser.set_defaults(script=None)
    if parser.prog == "envcfg qsub":  # with letters of its own in place of Slurm's
        for title, options in REQUEST.items():
            letters = ((each, _LETTERS.get(each.flag, "")) for each in options)
            table[title] = [each._replace(short=short) for each, short in letters]
    if parser.prog == "envcfg submit":  # those of job, or a script that there is
        parser.add_argument(
            "script",
            metavar="SCRIPT",
            nargs="?",
            action=Sparing,
            spares="--container",
            help="a job script that there is (default: one is made, as by envcfg job)",
        )
        table["to submit it"] = table["to submit it"][1:]  # --submit is its name
        parser.set_defaults(submit=True)
    add_table(parser, table)


def run(options: argparse.Namespace) -> int:
    """Print, write or submit the job script; say what it costs."""
    if options.script is not None:
        from envcfg.commands.submission import send_file

        options.defaults = ()  # the script says all, except its profile
        return send_file(options)
    command = options.command
    from envcfg.core.job import make_job
    from envcfg.request.shape import RequestError

    _check(options)
    options.ranks = ranks_per_node(vars(options))
    if command is None:
        msg = "no command, and a job needs one"
        raise UsageError(msg, hint=_EXAMPLE)
    step = read_step(options, _EXAMPLE)
    check_script(options, step.inputs)
    made = made_by(options.argv, step)
    try:
        job = make_job(
            step, vars(options), command, inline=options.inline, made_by=made
        )
    except RequestError as err:
        if options.format is None:
            say(step.findings)  # which may say what was read, or saved
            raise
        return _put_found(options, step.profile.name, [*step.findings, *err.findings])
    if options.format is not None:
        return _put_found(options, step.profile.name, job.findings)
    say(job.findings)
    if options.submit:
        from envcfg.commands.submission import send_job

        return send_job(options, job, step)
    if options.json:
        from envcfg.report.request import request_json

        write(request_json(*job))
    else:
        put_script(options, job.script, step.inputs)
    return 0


def _check(options: argparse.Namespace) -> None:
    if "%" in (options.output or ""):
        msg = "-o names the script here, and the job's output is --log"
        raise UsageError(msg, hint=shlex.quote(f"--log={options.output}"))
    if options.dry_run and not options.submit:
        msg = "--dry-run belongs to --submit"
        raise UsageError(msg, hint="as in envcfg submit --dry-run")
    if options.submit and options.format:
        msg = "--submit says itself what is wrong, so it excludes --format"
        raise UsageError(msg, hint="leave out one of them")
    is_answer = options.json and not options.submit
    if options.output is not None and (is_answer or options.format):
        other = "--json" if options.json else "--format"
        msg = f"-o writes the script, so it excludes {other}"
        raise UsageError(msg, hint="redirect stdout to a file instead")
    check_format(options)


def _put_found(options: argparse.Namespace, name: str, found: list[Finding]) -> int:
    from envcfg.report.findings import Result

    result = Result({name: found}, "profile")
    return put_result(result, options.format, strict=options.strict)
