"""Run commands in turns, so that whatever else the machine does hits all of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

# Linux counts the memory of who starts a program as the program's own, so that something
# small starts it: our Python without its modules, 9 MB.
_WEIGHER = """\
import os, sys, time
before = time.perf_counter_ns()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
after = time.perf_counter_ns()
os.write(2, b"%d %d %d" % (after - before, usage.ru_maxrss, status))
"""


@dataclass(frozen=True, slots=True)
class Command:
    """A program, by its absolute path, with arguments and its whole environment."""

    argv: list[str]
    env: Mapping[str, str]
    code: int = 0  # with which it is to end


@dataclass(frozen=True, slots=True)
class Usage:
    """What a program took: wall time, memory at its peak, and what it wrote."""

    seconds: float
    megabytes: float
    stdout: bytes


def race(commands: Mapping[str, Command], *, rounds: int) -> dict[str, float]:
    """Return the median wall time of each of *commands* in milliseconds.

    Each round runs all of them, and begins with another one than the round before.
    """
    times: dict[str, list[int]] = {name: [] for name in commands}
    for command in commands.values():  # fill the page cache and the bytecode
        _run(command)
    for name in _turns(list(commands), rounds):
        times[name].append(_run(commands[name]))
    return {name: median(each) / 1e6 for name, each in times.items()}


def best(commands: Mapping[str, Command], *, rounds: int) -> dict[str, Usage]:
    """Return the shortest time and the highest peak of each of *commands*.

    They run in turns, as in :func:`race`, for what takes seconds.
    """
    usages: dict[str, list[Usage]] = {name: [] for name in commands}
    for command in commands.values():  # fill the page cache and the bytecode
        weigh(command)
    for name in _turns(list(commands), rounds):
        usages[name].append(weigh(commands[name]))
    return {
        name: Usage(
            min(each.seconds for each in taken),
            max(each.megabytes for each in taken),
            taken[0].stdout,
        )
        for name, taken in usages.items()
    }


def weigh(command: Command) -> Usage:
    """Run *command* once, and return what it took."""
    argv = [sys.executable, "-I", "-S", "-c", _WEIGHER, *command.argv]
    done = subprocess.run(argv, env=dict(command.env), capture_output=True, check=True)
    *said, numbers = done.stderr.rpartition(b"\n")
    nanoseconds, kilobytes, status = map(int, numbers.split())
    _check(command, status, b"".join(said).decode(errors="replace"))
    return Usage(nanoseconds / 1e9, kilobytes * 1024 / 1e6, done.stdout)


def _turns(names: Sequence[str], rounds: int) -> Iterator[str]:
    for turn in range(rounds):
        start = turn % len(names)
        yield from (*names[start:], *names[:start])


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
    _check(command, status)
    return after - before


def _check(command: Command, status: int, said: str = "") -> None:
    code = os.waitstatus_to_exitcode(status)
    if code != command.code:
        msg = f"{command.argv[0]} ended with {code}{f': {said}' if said else ''}"
        raise RuntimeError(msg)
