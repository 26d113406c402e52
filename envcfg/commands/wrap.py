"""``envcfg wrap``: from a container and a command to the bash that runs them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from envcfg.bash.host import render_job_part, render_script
from envcfg.bash.launch_line import render_launch_line
from envcfg.commands.options.option import Option, Table, add_options
from envcfg.commands.options.step import STEP, read_step
from envcfg.commands.planning import made_by, plan_step
from envcfg.commands.printing import (
    OUTPUT,
    check_script,
    put_script,
    say,
    wants_script,
    write,
)
from envcfg.errors import UsageError
from envcfg.launch.plan import Plan
from envcfg.parser import Formatter

_EPILOG = """\
The command stands behind a --. Without one, the script defines envcfg_run, for several
steps in one job.

examples:
  # in an sbatch script, on the system you are on; || ends it where envcfg is not there
  source <(envcfg wrap --container pytorch.sif -- python train.py || echo exit $?)

  # a variable in the command: the job's own shell expands it, on the line before
  command=(python train.py --data "${DATA:?}")
  source <(envcfg wrap --container pytorch.sif -- "${command[@]}" || echo exit $?)

  # several steps
  source <(envcfg wrap --profile lumi-g --container pytorch.sif --fact rocm=6.2.4 \\
    || echo exit $?)
  envcfg_run python prepare.py
  envcfg_run python train.py

  # on a laptop: two ranks, no container
  envcfg wrap --container none --launcher local --ranks 2 -o job.sh -- python train.py
  ./job.sh

  # from a script that there is: its short replacement, and what could not be carried over
  envcfg wrap --from old.sh -o job.sh

  # as it was started before: torchrun, accelerate launch, deepspeed ... are recognised
  source <(envcfg wrap --container pytorch.sif -- \\
    torchrun --nproc-per-node 8 train.py || echo exit $?)

  # which cores and GPUs has each rank, and which network do they use?
  envcfg wrap --container pytorch.sif --smoke-test --report-affinity --nccl-debug \\
    -o job.sh -- python train.py

  # what would be set, and why
  envcfg wrap --profile lumi-g --container pytorch.sif --print plan

values: ${NAME} and ${NAME:-default} refer to a variable, $$ is a dollar, all else is as
        it stands. What refers to something of a rank (${LOCAL_RANK}) is set in each rank.
"""


OPTIONS: Table = {
    "from a script": (
        Option(
            "--from",
            "read a job script, and make the short one that replaces it",
            metavar="SCRIPT",
            dest="script",
            spares="--container",
        ),
    ),
    **STEP,
    "what to print": (
        Option(
            "--print",
            "default: script",
            choices=("script", "job", "plan", "exec-line"),
            default="script",
            dest="what",
        ),
        Option("--json", "the plan as JSON", kind="switch"),
        *OUTPUT,
    ),
}


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the options of ``wrap``."""
    parser = commands.add_parser(
        "wrap",
        help="make the bash that runs a command in a container, on every rank",
        description="Make the bash that runs a command in a container, on every rank.",
        usage=(
            "envcfg wrap --container IMAGE|none [options] [-- COMMAND...]\n"
            "       envcfg wrap --from SCRIPT [options]"
        ),
        epilog=_EPILOG,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add_options(parser, OPTIONS)
    parser.set_defaults(wants_script=_wants_script)


def _wants_script(options: argparse.Namespace) -> bool:
    """Tell whether bash is to stand on stdout: a script that fails, where all fails."""
    return not options.json and options.what != "plan" and wants_script(options)


def run(
    options: argparse.Namespace, command: Sequence[str] | None, argv: Sequence[str]
) -> int:
    """Print or write what was asked for.

    Args:
        options: with the values of ``OPTIONS``.
        command: the words behind ``--``; None if there was no ``--``.
        argv: the whole command line, for the script's header.
    """
    if options.output is not None and (options.json or options.what != "script"):
        msg = "-o writes the script, so it excludes --json and --print"
        raise UsageError(msg, hint="redirect stdout to a file instead")
    if options.script is not None:
        from envcfg.commands.conversion import convert_script

        return convert_script(options, command, argv)
    step = read_step(
        options, command, "envcfg wrap --container pytorch.sif -- python train.py"
    )
    check_script(options, step.inputs)
    plan = plan_step(step)
    say(plan.notes)
    _put(options, plan, made_by(argv, step), step.inputs)
    return 0


def _put(
    options: argparse.Namespace,
    plan: Plan,
    argv: Sequence[str],
    inputs: Sequence[str],
) -> None:
    if options.json:
        from envcfg.report.plan import plan_json

        write(plan_json(plan))
    elif options.what == "plan":
        from envcfg.report.plan import plan_text, print_table

        if sys.stdout.isatty():
            print_table(plan)
        else:
            write(plan_text(plan))
    elif options.what == "exec-line":
        write(render_launch_line(plan) + "\n")
    elif options.what == "job":
        write(render_job_part(plan, argv))
    else:
        put_script(options, render_script(plan, argv), inputs, is_sourced=True)
