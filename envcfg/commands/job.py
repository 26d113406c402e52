"""``envcfg job`` writes a job script; ``envcfg submit`` submits one."""

import argparse
import re
import shlex

from envcfg.commands.formats import STRICT, check_format, format_option, put_result
from envcfg.commands.option_arguments import StoreInstead, add_table, made_by, read_step
from envcfg.commands.printing import (
    OUTPUT,
    check_script,
    machinery_place,
    put_script,
    say,
    say_notes,
    write,
)
from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding
from envcfg.core.option import Table, no_default, switch
from envcfg.core.request_options import REQUEST, SCRIPT, ranks_per_node
from envcfg.core.step_options import STEP
from envcfg.job.plan.script_files import MachineryPlace

# Letters of options that users of PBS know.
_LETTERS = {"--account": "-A", "--partition": "-q", "--job-name": "-N", "--array": "-J"}
# Options of a request that cost nothing.
_OWN_LINES = frozenset({"--job-name", "--output", "--open-mode"})
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
        switch("--split"),
        *OUTPUT,
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``job``, or of the command or alias of *parser*."""
    table = dict(OPTIONS)
    is_sent = parser.prog == "envcfg submit"
    parser.set_defaults(script=None, submit=is_sent, dry_run=False)
    if parser.prog == "envcfg qsub":  # with PBS's letters instead of Slurm's
        for title, options in REQUEST.items():
            letters = ((option, _LETTERS.get(option.flag, "")) for option in options)
            table[title] = [option._replace(short=short) for option, short in letters]
    if is_sent:  # the options of job, or an existing script
        parser.add_argument(
            "script",
            metavar="SCRIPT",
            nargs="?",
            action=StoreInstead,
            spares="--container",
            help="an existing job script (default: create one, as envcfg job does)",
        )
        table["to submit it"] = (
            switch("--dry-run", "ask when the job would start, and submit nothing"),
            switch(
                "--save-defaults",
                "write --profile, --account, --partition and --container to a new "
                "envcfg.toml here, for the next jobs",
            ),
        )
    add_table(parser, table)


def run(options: argparse.Namespace) -> int:
    """Print, write or submit the job script; print its cost."""
    if options.script is not None:
        from envcfg.commands.submit_option import send_file

        options.defaults = ()  # the script is complete, except for its profile
        return send_file(options)
    command = options.command
    from envcfg.core.job_request import make_job
    from envcfg.job.request.shape import RequestError

    _check(options)
    options.ranks = ranks_per_node(vars(options))
    if command is None:
        msg = "no command, and a job needs one"
        raise UsageError(msg, hint=_EXAMPLE)
    step = read_step(options, _EXAMPLE)
    check_script(options, step.inputs)
    origin = made_by(options.argv, step)
    try:
        place = _place(options, origin)
        job = make_job(step, vars(options), command, place=place, made_by=origin)
    except RequestError as err:
        if options.format is None:
            say(step.findings)  # they may report what was read or saved
            raise
        return _put_found(options, step.profile.name, [*step.findings, *err.findings])
    if options.format is not None:
        return _put_found(options, step.profile.name, job.findings)
    findings = job.findings
    if options.submit:  # the script, which shows the request, is not printed
        shown = [line for line in job.request.lines if line.option not in _OWN_LINES]
        text = " ".join(f"{line.option}={line.value}" for line in shown)
        findings = [Finding("request", "note", "request", text), *findings]
    say_notes(findings, about=step.profile_and_image, verbose=options.verbose)
    if options.submit:
        from envcfg.commands.submit_option import send_job

        return send_job(options, job, step)
    if options.json:
        from envcfg.report.request_report import request_json

        write(request_json(*job))
    else:
        put_script(options, job.files, step.inputs)
    return 0


def _place(
    options: argparse.Namespace, made_by: tuple[str, ...]
) -> MachineryPlace | None:
    """Return the place of the script's second file, the machinery; None: a single file."""
    # A dry run writes no file, so the script must not need one.
    if options.dry_run or not options.split:
        return None
    if options.submit and options.output is None:  # a file here, with the job's name
        options = argparse.Namespace(
            **{**vars(options), "output": "JOB-NAME-NUMBER.sh"}
        )
    return machinery_place(options, made_by)


def _check(options: argparse.Namespace) -> None:
    if re.search(r"%|\.(?:out|log|err)$", options.output or ""):
        msg = "-o names the script here, and the job's output is --log"
        raise UsageError(msg, hint=shlex.quote(f"--log={options.output}"))
    if options.submit and options.format:
        msg = "envcfg submit says itself what is wrong, so it excludes --format"
        raise UsageError(msg, hint="leave out one of them")
    is_answer = options.json and not options.submit
    if options.output is not None and (is_answer or options.format):
        option = "--json" if options.json else "--format"
        msg = f"-o writes the script, so it excludes {option}"
        raise UsageError(msg, hint="redirect stdout to a file instead")
    check_format(options)


def _put_found(options: argparse.Namespace, name: str, findings: list[Finding]) -> int:
    from envcfg.common.findings import Result

    result = Result({name: findings}, "profile")
    return put_result(result, options.format, strict=options.strict)
