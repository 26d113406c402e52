"""The options that say what is asked of a scheduler."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence

from envcfg.commands.arguments import number_of
from envcfg.profile.words import is_plain
from envcfg.request.amounts import array_tasks, mebibytes, seconds
from envcfg.request.shape import Asked, Signal

_OPTION = re.compile(r"--[A-Za-z][A-Za-z0-9_-]*")
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


_nodes, _gpus = number_of("nodes"), number_of("GPUs")
_cores, _gib = number_of("cores"), number_of("GiB")


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Add the group of options."""
    ask = parser.add_argument_group("what to ask for")
    for flag, metavar, read, text in (
        ("--nodes", "N", _nodes, "default: 1, or as many as the GPUs need"),
        ("--gpus", "N", _gpus, "GPUs in all, on all nodes"),
        ("--gpus-per-node", "N", _gpus, "default: all of a node"),
        ("--cpus-per-gpu", "N", _cores, "cores for each GPU (default: its share)"),
        ("--mem-per-gpu", "SIZE", _size, "memory for each, as in 60G (default: its share)"),
        ("--nvme", "GIB", _gib, "local disk on each node, where it is asked for"),
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


def read_request(options: argparse.Namespace, command: Sequence[str]) -> Asked:
    """Return what the options ask for; *command* names the job where they do not."""
    given = {name: getattr(options, name) for name in _NAMED}
    named = {
        "--" + name.replace("_file", "").replace("_", "-"): value
        for name, value in given.items()
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
