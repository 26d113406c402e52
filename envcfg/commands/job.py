"""``envcfg job``, also ``sbatch`` and ``qsub``: a job script; ``submit``: its job."""

from __future__ import annotations

import argparse
import shlex

from envcfg.commands import LOOK, Command, Next
from envcfg.commands.formats import STRICT, check_format, format_option, put_result
from envcfg.commands.options import Sparing, add_table, made_by, read_step
from envcfg.commands.printing import OUTPUT, check_script, put_script, say, write
from envcfg.core.option import Option, Table, no_default
from envcfg.core.request_options import INLINE, REQUEST, ranks_per_node
from envcfg.core.step_options import STEP
from envcfg.errors import UsageError
from envcfg.findings import Finding

_EPILOG = """\
The command stands behind a --. What the system's rules want and nobody gives is an error
that says how to give it; what the job will cost stands on stderr. Letters are those of
{program}, except -o, which writes the script; the job's output is --log.

examples:
"""
_SLURM = """\
  envcfg {name} --profile lumi-g --container pytorch.sif --account project_465000001 \\
    --nodes 2 --time 4:00:00 -o job.sh -- python train.py
  sbatch job.sh

  # what the system would refuse, and what it costs, as annotations of a workflow
  envcfg {name} --format github --profile lumi-g --container pytorch.sif -- python train.py

  # one GPU of a node that others use too
  envcfg {name} --profile lumi-g --container pytorch.sif --account project_465000001 \\
    --partition small-g --gpus 1 --time 30 -- python train.py | sbatch

  # save two minutes before the end, and start again until the program is done
  envcfg {name} --profile mahti --container pytorch.sif --account project_2001234 \\
    --partition gpumedium --time 1-12 --requeue -- python train.py
"""
_PBS = """\
  envcfg {name} --profile polaris --container pytorch.sif --account Catalyst \\
    --partition debug --nodes 2 --time 1:00:00 -o job.sh -- python train.py
  qsub job.sh

  # a resource of the job by its name, and an option by its letter
  envcfg {name} --profile polaris --container pytorch.sif --account Catalyst \\
    --partition preemptable --request-arg=--filesystems=home:grand --request-arg=-r=y \\
    --time 3-0 -- python train.py | qsub
"""


_SUBMIT = """\
The script is what envcfg job makes of the same options. It is written to -o FILE, by
default to JOB-NAME.sh here; a file that envcfg did not write, or that was changed since,
is not replaced without --force. A script that there is goes as it is: what envcfg lint
calls an error refuses it, and a comment (# envcfg: ignore EC419) allows it.

examples:
  envcfg submit --profile lumi-g --container pytorch.sif --account project_465000001 \\
    --nodes 2 --time 4:00:00 -- python train.py
  envcfg submit job.sh
  envcfg submit --dry-run job.sh       # when would it start?

exit codes: those of sbatch, qsub or flux batch; 2 the script is refused, and nothing
            is submitted; 4 there is no scheduler here, or a file cannot be written
"""


# The letters of options, as the users of PBS know them.
_LETTERS = {
    "--account": "-A",
    "--partition": "-q",
    "--job-name": "-N",
    "--array": "-J",
}
_EXAMPLE = "envcfg job --container pytorch.sif --time 1:00:00 -- python train.py"


OPTIONS: Table = {
    **REQUEST,
    **STEP,
    "what to print": (
        INLINE,
        no_default(REQUEST, STEP, {"": [INLINE]}),
        Option("--json", "request, cost and script as JSON", kind="switch"),
        format_option("no script, but what the system would refuse, and notes"),
        STRICT,
        *OUTPUT,
    ),
    "to submit it": (
        Option(
            "--submit",
            "write the script, by default to JOB-NAME.sh, and submit it: envcfg submit",
            kind="switch",
        ),
        Option(
            "--dry-run",
            "with --submit: ask when the job would start, and submit nothing",
            kind="switch",
        ),
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``job``."""
    add_table(parser, OPTIONS)
    parser.set_defaults(script=None)


def _add_lettered(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``qsub``, with letters of its own in place of Slurm's."""
    asked = {
        title: [each._replace(short=_LETTERS.get(each.flag, "")) for each in options]
        for title, options in REQUEST.items()
    }
    add_table(parser, {**OPTIONS, **asked})
    parser.set_defaults(script=None)


def _add_submitted(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``submit``: those of ``job``, or a script that there is."""
    parser.add_argument(
        "script",
        metavar="SCRIPT",
        nargs="?",
        action=Sparing,
        spares="--container",
        help="a job script that there is (default: one is made, as by envcfg job)",
    )
    own = {"to submit it": OPTIONS["to submit it"][1:]}  # --submit is its name
    add_table(parser, {**OPTIONS, **own})
    parser.set_defaults(submit=True)


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
    if options.submit and options.format:
        msg = "--submit submits the job, and --format only looks what is wrong with it"
        raise UsageError(msg, hint="leave out --format: what is wrong is said anyway")
    if options.dry_run and not options.submit:
        msg = "--dry-run belongs to --submit"
        raise UsageError(
            msg, hint="as in --submit --dry-run, or envcfg submit --dry-run"
        )
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


def _record(
    name: str, what: str, examples: str, *, after: Next, written: Next
) -> Command:
    program = "qsub" if name == "qsub" else "sbatch"
    return Command(
        help=what,
        usage=f"envcfg {name} --container IMAGE|none [options] -- COMMAND...",
        epilog=(_EPILOG + examples).format(name=name, program=program),
        add_options=_add_lettered if name == "qsub" else add_options,
        run=run,
        next={**_SUBMITTED, "output": written, "": after},
        description="Make a job script: what is asked for and why, and the step.",
    )


_SUBMITTED = {
    "dry_run": Next("the same without --dry-run submits the job"),
    "submit": Next(f"wait for the job; {LOOK}"),
}


# One command for all schedulers: the profile says which it is. Two more names, by which
# people look for it.
_ALSO = {
    "sbatch": _record(
        "sbatch",
        "the same, with examples for Slurm",
        _SLURM,
        after=Next(f"give -o job.sh, or pipe it to sbatch; {LOOK}"),
        written=Next(f"sbatch {{output}}; {LOOK}"),
    ),
    "qsub": _record(
        "qsub",
        "the same, with letters and examples for PBS",
        _PBS,
        after=Next(
            "give -o job.sh, or pipe it to qsub; then envcfg check-log its output"
        ),
        written=Next("qsub {output}; then envcfg check-log its output"),
    ),
    "submit": Command(
        help="submit a job: its script is made, or is there, and is checked first",
        usage="envcfg submit --container IMAGE|none [options] -- COMMAND...\n"
        "       envcfg submit SCRIPT [--profile NAME|FILE] [--dry-run] [--json]",
        epilog=_SUBMIT,
        add_options=_add_submitted,
        run=run,
        next={**_SUBMITTED, "": _SUBMITTED["submit"]},
        description="Check a job script and give it to the scheduler: sbatch, qsub or "
        "flux batch. What the system would refuse is refused before.",
    ),
}
COMMAND = _record(
    "job",
    "make a job script: what is asked for, why, what it costs, and the step",
    f"{_SLURM}\n{_PBS}",
    after=Next(f"submit it with -o job.sh written; {LOOK}"),
    written=Next(f"submit {{output}}; {LOOK}"),
)._replace(also=_ALSO)
