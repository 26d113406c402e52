"""The options of a request to the scheduler."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from envcfg.common.errors import UsageError
from envcfg.core.option import Option, Table, number_of, switch
from envcfg.job.request.amounts import array_tasks, mebibytes, seconds
from envcfg.job.request.shape import Signal, UserRequest
from envcfg.profile.node_kinds import GPU_TYPE
from envcfg.profile.words import is_plain

_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_-]*")
_SIGNAL = re.compile(
    r"(?:(?:SIG)?(?P<name>USR1|USR2|TERM|INT|HUP)@)?(?P<seconds>\d{1,5})"
)


def _plain(text: str) -> str:
    if not text:
        msg = "is empty: is the variable set that it comes from?"
        raise ValueError(msg)
    if not is_plain(text):
        msg = f"{text!r} holds what a line of a job script cannot: a space, a quote, #, \\"
        raise ValueError(msg)
    return text


def _argument(text: str) -> str:
    option, _, value = text.partition("=")
    if not (_OPTION.fullmatch(option) and (is_plain(value) or not value)):
        msg = f"{text!r} is not an option, as in --request-arg=--reservation=NAME"
        raise ValueError(msg)
    return text


def _read_by(reader: Callable[[str], int]) -> Callable[[str], str]:
    """Return a reader that keeps the text unchanged if *reader* accepts it."""

    def check(text: str) -> str:
        reader(text)
        return text

    return check


_time, _size, _array = map(_read_by, (seconds, mebibytes, array_tasks))


def _signal(text: str) -> Signal:
    match = _SIGNAL.fullmatch(text)
    if not match:
        msg = f"{text!r} is not a warning, as in 120 (seconds) or TERM@300"
        raise ValueError(msg)
    return Signal(match["name"] or "USR1", int(match["seconds"]))


_gpus = number_of("GPUs")


class TypedGpus(int):
    """A number of GPUs of one type, such as ``a100:4``."""

    gpu_type: str

    def __str__(self) -> str:
        """Return the text of the option."""
        return f"{self.gpu_type}:{int(self)}"


def _typed_gpus(text: str) -> int:
    # The word gpu, as in --gres=gpu:8, is no type.
    gpu_type, colon, number = text.removeprefix("gpu:").rpartition(":")
    if not colon:
        return _gpus(number)
    if not re.fullmatch(GPU_TYPE, gpu_type):
        msg = f"{text!r} is not a number of GPUs, or TYPE:N as in a100:4"
        raise ValueError(msg)
    gpus = TypedGpus(_gpus(number))
    gpus.gpu_type = gpu_type
    return gpus


_AMOUNTS = (
    Option("--nodes", metavar="N", read=number_of("nodes"), short="-N"),
    Option("--gpus", metavar="[TYPE:]N", read=_typed_gpus, short="-G"),
    Option("--gpus-per-node", metavar="[TYPE:]N", read=_typed_gpus),
    Option("--cpus-per-gpu", metavar="N", read=number_of("cores")),
    Option("--ntasks", metavar="N", read=number_of("tasks"), short="-n"),
    Option("--cpus-per-task", metavar="N", read=number_of("cores"), short="-c"),
    Option("--mem-per-gpu", metavar="SIZE", read=_size),
    Option("--nvme", metavar="GIB", read=number_of("GiB")),
    Option("--time", metavar="TIME", read=_time, short="-t"),
)
# Options that go to the scheduler unchanged.
_NAMED = (
    Option("--account", metavar="NAME", read=_plain, short="-A"),
    Option("--partition", metavar="PARTITION", read=_plain, short="-p"),
    Option("--qos", metavar="NAME", read=_plain, short="-q"),
    Option("--constraint", metavar="TEXT", read=_plain, short="-C"),
    Option("--job-name", metavar="NAME", read=_plain, short="-J"),
    Option("--array", metavar="LIST", read=_array, short="-a"),
    Option("--log", metavar="PATTERN", read=_plain),
)
_BEHAVIOUR = (
    switch("--exclusive"),
    Option(
        "--signal",
        metavar="[NAME@]SECONDS",
        read=_signal,
        write=lambda signal: f"{signal.name}@{signal.seconds}",
    ),
    Option("--exclude-from", metavar="FILE"),
    Option("--requeue", metavar="N", kind="maybe", read=number_of("starts"), alone=0),
    Option("--request-arg", metavar="ARG", kind="many", read=_argument),
)
REQUEST: Table = {"what to ask for": (*_AMOUNTS, *_NAMED, *_BEHAVIOUR)}
SCRIPT: Table = {"the script": (switch("--no-verify"),)}
_SLURM = {"--log": "--output"}  # Slurm's names, if they differ


def asked_for(values: Mapping[str, Any], command: Sequence[str]) -> UserRequest:
    """Return the request in the *values* of ``REQUEST``, by name.

    The *command* gives the job its name if no option does.
    """
    named_options = {option.flag: values[option.name] for option in _NAMED}
    names = {
        _SLURM.get(flag, flag): value
        for flag, value in named_options.items()
        if value is not None
    }
    names.setdefault("--job-name", _job_name(command))
    signal = values["signal"]
    again = values["requeue"]
    if again is not None and signal is None:
        signal = Signal("USR1", 120)
    own = {name: values[name] for name in UserRequest._fields if name in values}
    # The type goes to the scheduler as it is; all sums are done with the number.
    gpu_type = ""
    for name in ("gpus", "gpus_per_node"):
        gpu_type = getattr(own[name], "gpu_type", gpu_type)
        own[name] = own[name] and int(own[name])
    return UserRequest(**own)._replace(
        gpu_type=gpu_type,
        seconds=values["time"] and seconds(values["time"]),
        requeue=again is not None,
        restarts=again or 0,
        signal=signal,
        other_options=names,
        extra=tuple(values["request_arg"]),
    )


def ranks_per_node(values: Mapping[str, Any]) -> int | None:
    """Return ``--ranks``, or its equivalent from ``--ntasks``, which counts on all
    nodes.

    Args:
        values: the values of ``REQUEST`` and ``STEP``, by name.

    Raises:
        UsageError: the number of nodes is unknown, or the tasks do not divide evenly.
    """
    tasks: int | None = values["ntasks"]
    nodes: int | None = values["nodes"]
    ranks: int | None = values["ranks"]
    if tasks is None:
        return ranks
    if ranks is not None:
        msg = "--ntasks and --ranks both say how many ranks there are"
        raise UsageError(msg, hint="--ranks counts them per node: leave one out")
    if nodes is None:
        msg = "--ntasks counts on all nodes, and --nodes is not given"
        hint = f"as in --nodes N --ntasks {tasks}; --ranks counts them per node"
        raise UsageError(msg, hint=hint)
    if tasks % nodes:
        msg = f"{tasks} tasks are not the same number on each of {nodes} nodes"
        raise UsageError(msg, hint=f"as in --ntasks {(tasks // nodes + 1) * nodes}")
    return tasks // nodes


def _job_name(command: Sequence[str]) -> str:
    """Return the name of the program, or of its Python file, in plain characters."""
    script = next((word for word in command if word.endswith(".py")), command[0])
    name = os.path.splitext(os.path.basename(script))[0]
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII) or "job"
