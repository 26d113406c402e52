"""The options that say what is asked of a scheduler."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from envcfg.commands.options.numbers import number_of
from envcfg.commands.options.option import Option, Table
from envcfg.errors import UsageError
from envcfg.profile.words import is_plain
from envcfg.request.amounts import array_tasks, mebibytes, seconds
from envcfg.request.shape import Asked, Signal, shape_of

if TYPE_CHECKING:
    from envcfg.launch.plan import Plan
    from envcfg.profile.model import Profile

_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_-]*")
_SIGNAL = re.compile(
    r"(?:(?:SIG)?(?P<name>USR1|USR2|TERM|INT|HUP)@)?(?P<seconds>\d{1,5})"
)


def _plain(text: str) -> str:
    if not is_plain(text):
        msg = f"{text!r} holds what a line of a job script cannot: a space, a quote, #, \\"
        raise argparse.ArgumentTypeError(msg)
    return text


def _argument(text: str) -> str:
    option, _, value = text.partition("=")
    if not (_OPTION.fullmatch(option) and (is_plain(value) or not value)):
        msg = f"{text!r} is no option, as in --request-arg=--reservation=NAME"
        raise argparse.ArgumentTypeError(msg)
    return text


def _read_by(read: Callable[[str], int]) -> Callable[[str], str]:
    """Return what takes a text as it is, if *read* can read it."""

    def check(text: str) -> str:
        try:
            read(text)
        except ValueError as err:
            raise argparse.ArgumentTypeError(str(err)) from err
        return text

    return check


_time, _size, _array = map(_read_by, (seconds, mebibytes, array_tasks))


def _signal(text: str) -> Signal:
    match = _SIGNAL.fullmatch(text)
    if not match:
        msg = f"{text!r} is no warning, as in 120 (seconds) or TERM@300"
        raise argparse.ArgumentTypeError(msg)
    return Signal(match["name"] or "USR1", int(match["seconds"]))


def _write_signal(signal: Signal) -> str:
    return f"{signal.name}@{signal.seconds}"


_gpus = number_of("GPUs")
_AMOUNTS = (
    Option(
        "--nodes",
        "default: 1, or as many as the GPUs need",
        "N",
        read=number_of("nodes"),
        short="-N",
    ),
    Option("--gpus", "GPUs in all, on all nodes", "N", read=_gpus, short="-G"),
    Option("--gpus-per-node", "default: all of a node", "N", read=_gpus),
    Option(
        "--cpus-per-gpu",
        "cores for each GPU (default: its share)",
        "N",
        read=number_of("cores"),
    ),
    Option(
        "--ntasks",
        "ranks on all --nodes together, as srun counts them: stands for --ranks",
        "N",
        read=number_of("tasks"),
        short="-n",
    ),
    Option(
        "--cpus-per-task",
        "cores for each task, where not for each GPU",
        "N",
        read=number_of("cores"),
        short="-c",
    ),
    Option(
        "--mem-per-gpu",
        "memory for each, as in 60G (default: its share)",
        "SIZE",
        read=_size,
    ),
    Option(
        "--nvme",
        "local disk on each node, where it is asked for",
        "GIB",
        read=number_of("GiB"),
    ),
    Option(
        "--time", "30 (minutes), 1:30:00, 2-00:00:00", "TIME", read=_time, short="-t"
    ),
)
# What goes to the scheduler as it stands.
_NAMED = (
    Option("--account", "who pays", "NAME", read=_plain, short="-A"),
    Option("--partition", "partition or queue", "PARTITION", read=_plain, short="-p"),
    Option("--qos", "quality of service", "NAME", read=_plain, short="-q"),
    Option("--constraint", "features of nodes", "TEXT", read=_plain, short="-C"),
    Option(
        "--job-name", "default: the program's name", "NAME", read=_plain, short="-J"
    ),
    Option(
        "--array",
        "as in 0-9 or 0-99%%10: many jobs of one script",
        "LIST",
        read=_array,
        short="-a",
    ),
    Option(
        "--log",
        "file for the job's output, which is -o of sbatch (default: %%x-%%j.out)",
        "PATTERN",
        read=_plain,
    ),
)
_BEHAVIOUR = (
    Option("--exclusive", "whole nodes", kind="switch"),
    Option(
        "--signal",
        "warn the program before the time limit, by USR1 where no name is given",
        "[NAME@]SECONDS",
        read=_signal,
        write=_write_signal,
    ),
    Option(
        "--requeue",
        "warned (120 s before, unless --signal), it saves, and the job starts again",
        kind="switch",
    ),
    Option(
        "--request-arg",
        "another option of the scheduler, as in --request-arg=--reservation=NAME",
        "ARG",
        kind="many",
        read=_argument,
    ),
)
REQUEST: Table = {"what to ask for": (*_AMOUNTS, *_NAMED, *_BEHAVIOUR)}
_SLURM = {"--log": "--output"}  # its own names, where they differ


def read_request(options: argparse.Namespace, command: Sequence[str]) -> Asked:
    """Return what the options ask for; *command* names the job where they do not."""
    given = {each.flag: getattr(options, each.name) for each in _NAMED}
    named = {
        _SLURM.get(flag, flag): value
        for flag, value in given.items()
        if value is not None
    }
    named.setdefault("--job-name", _job_name(command))
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
        seconds=None if options.time is None else seconds(options.time),
        exclusive=options.exclusive,
        requeue=options.requeue,
        signal=signal,
        named=named,
        extra=tuple(options.request_arg),
    )


def share_out(options: argparse.Namespace) -> None:
    """Let ``--ntasks``, which counts on all nodes, stand for ``--ranks``.

    Raises:
        UsageError: nobody says on how many nodes, or they do not divide.
    """
    tasks, nodes = options.ntasks, options.nodes
    if tasks is None:
        return
    if options.ranks is not None:
        msg = "--ntasks and --ranks both say how many ranks there are"
        raise UsageError(msg, hint="--ranks counts them per node: leave one out")
    if nodes is None:
        msg = "--ntasks counts on all nodes, and --nodes is not given"
        hint = f"as in --nodes 1 --ntasks {tasks}; --ranks counts them per node"
        raise UsageError(msg, hint=hint)
    if tasks % nodes:
        msg = f"{tasks} tasks are not the same number on each of {nodes} nodes"
        raise UsageError(msg, hint=f"as in --ntasks {(tasks // nodes + 1) * nodes}")
    options.ranks = tasks // nodes


def with_cores(
    options: argparse.Namespace, asked: Asked, profile: Profile, plan: Plan
) -> Asked:
    """Return *asked* with the cores of ``--cpus-per-task``, for each GPU.

    Raises:
        UsageError: both are given, or they are no whole number for each GPU.
    """
    cores = options.cpus_per_task
    if cores is None:
        return asked
    if asked.cpus_per_gpu is not None:
        msg = "--cpus-per-task and --cpus-per-gpu both say how many cores there are"
        raise UsageError(msg, hint="leave one out")
    shape, _ = shape_of(profile, plan, asked)
    if cores * shape.tasks % shape.gpus:
        msg = (
            f"{cores} cores for each of {shape.tasks} tasks are no whole number for "
            f"each of {shape.gpus} GPUs"
        )
        raise UsageError(msg, hint="--cpus-per-gpu N says how many for each GPU")
    return asked._replace(cpus_per_gpu=cores * shape.tasks // shape.gpus)


def _job_name(command: Sequence[str]) -> str:
    """Return the name of the program, or of its Python file, in plain characters."""
    script = next((word for word in command if word.endswith(".py")), command[0])
    name = os.path.splitext(os.path.basename(script))[0]
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII) or "job"
