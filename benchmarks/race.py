"""Time commands in turns, so that whatever else the machine does hits all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Command:
    """A program, by its absolute path, with arguments and its whole environment."""

    argv: list[str]
    env: Mapping[str, str]


def race(commands: Mapping[str, Command], *, rounds: int) -> dict[str, float]:
    """Return the median wall time of each of *commands* in milliseconds.

    Each round runs all of them, and begins with another one than the round before.
    """
    names = list(commands)
    times: dict[str, list[int]] = {name: [] for name in names}
    for name in names:  # fill the page cache and the bytecode
        _run(commands[name])
    for turn in range(rounds):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            times[name].append(_run(commands[name]))
    return {name: median(each) / 1e6 for name, each in times.items()}


def _run(command: Command) -> int:
    """Return the nanoseconds from before the program starts to after its end."""
    actions = [
        (os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)
    ]
    before = time.perf_counter_ns()
    pid = os.posix_spawn(
        command.argv[0], command.argv, command.env, file_actions=actions
    )
    _, status = os.waitpid(pid, 0)
    after = time.perf_counter_ns()
    if status != 0:
        msg = f"{command.argv[0]} ended with {os.waitstatus_to_exitcode(status)}"
        raise RuntimeError(msg)
    return after - before
