"""``envcfg sbatch``: from a container and a command to a job script, with its cost."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from typing import Any

from envcfg.commands.arguments import positive
from envcfg.commands.printing import say, write
from envcfg.commands.step_options import (
    Step,
    add_step_options,
    read_step,
    wrap_words,
)
from envcfg.errors import UsageError
from envcfg.launch.amounts import array_tasks, mebibytes, seconds
from envcfg.launch.shape import Asked, Signal
from envcfg.parser import Formatter

_EPILOG = """\
The command stands behind a --. What the system's rules want and nobody gives is an error
that says how to give it; what the job will cost stands on stderr.

examples:
  envcfg sbatch --profile lumi-g --container pytorch.sif --account project_465000001 \\
    --nodes 2 --time 4:00:00 -o job.sh -- python train.py
  sbatch job.sh

  # one GPU of a node that others use too
  envcfg sbatch --profile lumi-g --container pytorch.sif --account project_465000001 \\
    --partition small-g --gpus 1 --time 30 -- python train.py | sbatch

  # save two minutes before the end, and start again until the program is done
  envcfg sbatch --profile mahti --container pytorch.sif --account project_2001234 \\
    --partition gpumedium --time 1-12 --requeue -- python train.py
"""
_EXAMPLE = "envcfg sbatch --container pytorch.sif --time 1:00:00 -- python train.py"
_PLAIN = re.compile(r"[^\s#'\"\\`]+")
_ARGUMENT = re.compile(r"--[A-Za-z][\w-]*(=[^\s#'\"\\`]*)?")
_SIGNAL = re.compile(
    r"(?:(?:SIG)?(?P<name>USR1|USR2|TERM|INT|HUP)@)?(?P<seconds>\d{1,5})"
)
_NAMED = (
    "account",
    "partition",
    "qos",
    "constraint",
    "job_name",
    "output_file",
    "array",
)


def _plain(text: str) -> str:
    if not _PLAIN.fullmatch(text):
        msg = f"{text!r} holds what a line of a job script cannot: a space, a quote, #, \\"
        raise argparse.ArgumentTypeError(msg)
    return text


def _argument(text: str) -> str:
    if not _ARGUMENT.fullmatch(text):
        msg = f"{text!r} is no option, as in --request-arg=--reservation=NAME"
        raise argparse.ArgumentTypeError(msg)
    return text


def _time(text: str) -> int:
    try:
        return seconds(text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err)) from err


def _size(text: str) -> str:
    try:
        mebibytes(text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err)) from err
    return text


def _array(text: str) -> str:
    try:
        array_tasks(text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err)) from err
    return text


def _signal(text: str) -> Signal:
    match = _SIGNAL.fullmatch(text)
    if not match:
        msg = f"{text!r} is no warning, as in 120 (seconds) or TERM@300"
        raise argparse.ArgumentTypeError(msg)
    return Signal(match["name"] or "USR1", int(match["seconds"]))


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the options of ``sbatch``."""
    parser = commands.add_parser(
        "sbatch",
        help="make a job script: what is asked for, why, what it costs, and the step",
        description="Make a job script: what is asked for and why, and the step.",
        usage="envcfg sbatch --container IMAGE|none [options] -- COMMAND...",
        epilog=_EPILOG,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    ask = parser.add_argument_group("what to ask for")
    for flag, metavar, read, text in (
        ("--nodes", "N", positive, "default: 1, or as many as the GPUs need"),
        ("--gpus", "N", positive, "GPUs in all, on all nodes"),
        ("--gpus-per-node", "N", positive, "default: all of a node"),
        ("--cpus-per-gpu", "N", positive, "cores for each GPU (default: its share)"),
        ("--mem-per-gpu", "SIZE", _size, "memory for each, as in 60G (default: its share)"),
        ("--nvme", "GIB", positive, "local disk on each node, where it is asked for"),
        ("--time", "TIME", _time, "30 (minutes), 1:30:00, 2-00:00:00"),
        ("--account", "NAME", _plain, "who pays"),
        ("--partition", "NAME", _plain, "partition or queue"),
        ("--qos", "NAME", _plain, "quality of service"),
        ("--constraint", "TEXT", _plain, "features of nodes"),
        ("--job-name", "NAME", _plain, "default: the program's name"),
        ("--array", "LIST", _array, "as in 0-9 or 0-99%%10: many jobs of one script"),
    ):  # fmt: skip
        ask.add_argument(flag, metavar=metavar, type=read, help=text)
    ask.add_argument(
        "--log",
        metavar="PATTERN",
        dest="output_file",
        type=_plain,
        help="file for the job's output (default: %%x-%%j.out)",
    )
    ask.add_argument("--exclusive", action="store_true", help="whole nodes")
    ask.add_argument(
        "--signal",
        metavar="[NAME@]SECONDS",
        type=_signal,
        help="warn the program before the time limit, by USR1 where no name is given",
    )
    ask.add_argument(
        "--requeue",
        action="store_true",
        help="warned (120 s before, unless --signal), it saves, and the job starts again",
    )
    ask.add_argument(
        "--request-arg",
        metavar="ARG",
        action="append",
        default=[],
        type=_argument,
        help="another option of the scheduler, as in --request-arg=--reservation=NAME",
    )
    add_step_options(parser)
    out = parser.add_argument_group("what to print")
    out.add_argument(
        "--inline",
        action="store_true",
        help="write the step out, so that the job needs no envcfg",
    )
    out.add_argument(
        "--json", action="store_true", help="request, cost and script as JSON"
    )
    out.add_argument(
        "-o", "--output", metavar="FILE", help="write the script to FILE, executable"
    )
    out.add_argument(
        "--force",
        action="store_true",
        help="with -o: replace a file that envcfg did not write",
    )


def run(
    options: argparse.Namespace, command: Sequence[str] | None, argv: Sequence[str]
) -> int:
    """Print or write the job script; say what it costs.

    Args:
        options: as ``add_parser`` defines them.
        command: the words behind ``--``; None if there was no ``--``.
        argv: the whole command line, for the script's header.
    """
    from envcfg.launch.charge import charge
    from envcfg.launch.image import missing_sources
    from envcfg.launch.job import Script, render_job
    from envcfg.launch.request import make_request
    from envcfg.launch.resolve import resolve

    if options.output and options.json:
        msg = "-o writes the script, so it excludes --json"
        raise UsageError(msg, hint="redirect stdout to a file instead")
    if command is None:
        msg = "no command, and a job needs one"
        raise UsageError(msg, hint=_EXAMPLE)
    step = read_step(options, command, _EXAMPLE)
    plan = resolve(step.profile, step.profile_hash, step.options)
    asked = _asked(options, step)
    request = make_request(step.profile, plan, asked)
    if request.ranks is not None:
        step = step._replace(options=step.options._replace(ranks=request.ranks))
        plan = plan._replace(ranks=request.ranks)
    cost, words = charge(step.profile, request)
    text = render_job(
        Script(
            profile=step.profile,
            plan=plan,
            request=request,
            wrap=tuple(wrap_words(step)),
            command=tuple(command),
            inline=options.inline,
            signal=asked.signal.name if asked.signal and options.requeue else None,
            made_by=tuple(argv),
        )
    )
    found = [
        *step.findings,
        *missing_sources(plan.container),
        *plan.notes,
        *request.findings,
        *words,
    ]
    say(found)
    if options.json:
        from envcfg.report.request import request_json

        write(request_json(plan, request, cost, found, text))
    elif options.output:
        from envcfg.launch.output import write_script

        data = text.encode("utf-8", "surrogateescape")
        write_script(options.output, data, force=options.force)
    else:
        write(text)
    return 0


def _asked(options: argparse.Namespace, step: Step) -> Asked:
    given = {name: getattr(options, name) for name in _NAMED}
    named = {
        "--" + name.replace("_file", "").replace("_", "-"): value
        for name, value in given.items()
        if value is not None
    }
    named.setdefault("--job-name", _job_name(step.options.command))
    signal = options.signal
    if options.requeue and signal is None:
        signal = Signal("USR1", 120)
    return Asked(
        nodes=options.nodes,
        gpus=options.gpus,
        gpus_per_node=options.gpus_per_node,
        cpus_per_gpu=options.cpus_per_gpu,
        memory_per_gpu=options.mem_per_gpu,
        nvme=options.nvme,
        seconds=options.time,
        exclusive=options.exclusive,
        requeue=options.requeue,
        signal=signal,
        named=named,
        extra=tuple(options.request_arg),
    )


def _job_name(command: Sequence[str]) -> str:
    """Return the name of the program, or of its Python file, in plain characters."""
    script = next((word for word in command if word.endswith(".py")), command[0])
    name = os.path.splitext(os.path.basename(script))[0]
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII) or "job"
