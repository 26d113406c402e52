"""The one step that runs the probe on every node, and the rounds of its answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from envcfg.errors import JobError
from envcfg.monitor.board import Board
from envcfg.monitor.output import Output
from envcfg.monitor.probe import ProbeReader, probe_script

PATIENCE = 10.0  # seconds after which a node that has answered before is silent
_START = 60.0  # seconds for the first answer: a large job's step starts slowly
_KEPT = 20  # lines of srun's errors
_LEAVE = 5.0  # seconds to end in each way, from the gentlest on
# Slurm's own settings for clients; all else that is named SLURM_ speaks of another job or
# step, and would be taken for an option of srun.
_CLIENT = frozenset({"SLURM_CONF", "SLURM_JWT", "SLURM_TIME_FORMAT"})


def step_argv(
    job: str,
    hosts: Sequence[str],
    *,
    chosen: bool,
    more: Sequence[str] = (),
    name: str = "monitor",
    program: Sequence[str] = (),
) -> list[str]:
    """Return the srun that starts one probe on each of *hosts*.

    Args:
        job: its number.
        hosts: where to.
        chosen: they are not all nodes of the job, so that they must be named.
        more: further options of srun.
        name: of the command that asks.
        program: the probe; none: that of the monitor.
    """
    size = len(hosts)
    return [
        "srun",
        f"--jobid={job}",
        f"--job-name=envcfg-{name}",
        "--overlap",  # beside the step that works
        f"--nodes={size}",
        f"--ntasks={size}",
        "--ntasks-per-node=1",
        "--cpus-per-task=1",
        "--mem=0",  # no memory of its own: the job's may all be given away
        "--cpu-bind=none",
        "--mpi=none",
        "--kill-on-bad-exit=0",  # a node that fails does not take the others along
        "--wait=0",
        "--input=all",
        *([f"--nodelist={','.join(hosts)}"] if chosen else []),
        *more,
        *(program or ("/bin/sh", "-c", probe_script())),
    ]


def step_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return *environ* without what Slurm has set for a job or step around us."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith("SLURM_") or name in _CLIENT
    }


class NodeStep:
    """A running srun; ends with ``stop``, and by itself when this process is gone."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            JobError: there is no srun.
        """
        import subprocess

        try:
            # A session of its own: Ctrl-C is for us, and srun would ask to be told twice.
            self._process = subprocess.Popen(
                argv,
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as err:
            msg = f"cannot run {argv[0]}: {err.strerror}"
            raise JobError(msg, hint="run it where Slurm's commands are") from err
        self._output = Output(self._process, _KEPT)
        self.errors = self._output.errors

    def tick(self, number: int) -> None:
        """Ask every node for a sample."""
        try:
            if self._process.stdin:
                self._process.stdin.write(f"{number}\n")
                self._process.stdin.flush()
        except OSError:
            pass  # it has ended; what it wrote before is read first

    def line(self, timeout: float) -> str | None:
        """Return the next line, or None when none came within *timeout* seconds.

        Raises:
            EOFError: the step has ended.
        """
        return self._output.line(timeout)

    def stop(self) -> int:
        """End the step on all nodes; return srun's exit code."""
        from subprocess import TimeoutExpired

        process = self._process
        try:
            if process.stdin:
                process.stdin.close()  # the probes end with their input
        except OSError:
            pass
        for harder in (process.terminate, process.kill, lambda: None):
            try:
                process.wait(_LEAVE)
                break
            except TimeoutExpired:
                harder()
        self._output.close(_LEAVE)
        return process.returncode if process.returncode is not None else -9


def rounds(step: NodeStep, board: Board, interval: float) -> Iterator[float]:
    """Ask all nodes each *interval* seconds; yield the time when the answers are there.

    The time is that of ``time.monotonic``. A node that does not answer holds up one round,
    for ``PATIENCE`` seconds. It is over when the step is.
    """
    reader = ProbeReader()
    for number in count(1):
        began = time.monotonic()
        step.tick(number)
        try:
            _collect(step, board, reader, number)
            yield time.monotonic()
            while (left := began + interval - time.monotonic()) > 0:
                _take(step, board, reader, left)
        except EOFError:
            return


def _collect(step: NodeStep, board: Board, reader: ProbeReader, number: int) -> None:
    """Read until all have answered *number*, or it is too late to."""
    had_any = board.has_any()
    limit = time.monotonic() + (PATIENCE if had_any else _START)
    while not board.has_answers(number, now := time.monotonic(), PATIENCE):
        if now >= limit:
            return
        _take(step, board, reader, limit - now)
        if board.has_any() and not had_any:  # the others are to follow soon
            had_any, limit = True, time.monotonic() + PATIENCE


def _take(step: NodeStep, board: Board, reader: ProbeReader, timeout: float) -> None:
    line = step.line(timeout)
    sample = None if line is None else reader.feed(line)
    if sample is not None:
        board.take(sample, time.monotonic())
