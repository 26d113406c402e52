"""``envcfg check-log --watch-step``: the watcher in a script of ``wrap --verify``.

Its standard input is a pipe from the step's shell, which writes the exit code at the
end of the step. If that shell dies, the pipe ends, and so does the watcher. Signals are
left to the step. Stderr is the job's output; stdout has one word for the shell.
"""

from __future__ import annotations

import argparse
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from envcfg.backends.scheduler_client import renew_limits
from envcfg.commands.printing import tell
from envcfg.common.errors import EnvcfgError
from envcfg.common.secrets import safe_line
from envcfg.core.step_pace import StepPace
from envcfg.core.step_watch import LastWords, Network, Silence
from envcfg.log.expectations import Expectations
from envcfg.nodes.hang.hang_records import Evidence
from envcfg.nodes.hang.hang_rules import span

if TYPE_CHECKING:
    from envcfg.core.step_nodes import NodeWatch, Probing

_STDIN = 0
_PAUSE = 1.0  # seconds between two looks, at least
_HASTE, _REST = 4, 50  # pause per second of a look, before and after a verdict
_LONG = 3600.0  # seconds
_LEAVE = 1.0  # seconds for the nodes' step to end after each signal
_WORD = 64  # bytes: an exit code is shorter


def run_watch(
    options: argparse.Namespace, names: Sequence[str], expect: Expectations
) -> int:
    """Watch the step with these NCCL logs and outputs; never fail."""
    parent = os.getppid()

    def stop() -> None:
        if os.getppid() == parent:  # else the shell is gone, and its number reused
            os.kill(parent, signal.SIGTERM)

    try:
        with ExitStack() as stack:
            nodes = (
                stack.enter_context(_nodes(options.verify_after))
                if (
                    options.verify_after
                    and options.watch_step != "off"
                    and os.environ.get("SLURM_JOB_ID")
                )
                else None
            )
            word = _watch(options, names, expect, stop, nodes)
            # The end of the nodes' step may take seconds, and the shell waits.
            sys.stdout.write(f"{word}\n")
            if nodes:
                with suppress(OSError):  # the shell is gone
                    sys.stdout.flush()
    except Exception as err:  # noqa: BLE001  # a bug here must not end a good job
        tell(f"nothing more is watched: {err!r}")
        # The watcher must stay until the end of the step, because the shell waits
        # for its word.
        while _wait(_LONG) is None:
            continue
        sys.stdout.write("\n")
    return 0


# The shell writes the exit code into the pipe, and closes it at its end. Until then,
# looks alternate with pauses that grow with the cost of a look. The network is examined
# first: if it stops the step, silence is not reported as well. After a stop nothing is
# examined, because the end is near. Without a code the shell was killed, and no reader
# is left.
def _watch(
    options: argparse.Namespace,
    names: Sequence[str],
    expect: Expectations,
    stop: Callable[[], None],
    nodes: NodeWatch | None,
) -> str:
    """Watch until the step ends; return ``stopped``, ``verified``, or nothing."""
    folder = next((name for name in names if os.path.isdir(name)), "")
    paths = [os.path.realpath(name) for name in names if name != folder]
    files = dict(zip(paths, options.since, strict=False))
    outputs = {path: file for path, file in files.items() if os.path.isfile(path)}
    seconds, then = options.on_silence or (0, "")
    # A terminal or pipe has no modification time, so silence cannot be measured.
    if seconds and not outputs:
        tell("--on-silence does nothing: the output of this step is not a file")
        seconds = 0
    network = Network(folder, outputs, expect, options.watch_step, _say)
    silence = Silence([*outputs, *filter(None, [folder])], seconds)
    pace = StepPace(outputs, options.verify_after)
    pause, stopped, last_words, evidence = _PAUSE, False, None, None
    while (ended := _wait(pause)) is None:
        if stopped:
            continue
        # Only the thread's own time counts: a busy machine must not slow down the
        # watcher.
        began = time.thread_time()
        network.look()
        pace.look()
        if nodes:
            state, slow = _state_text(network, pace.seconds), pace.finding
            has_steps = network.has_steps or pace.has_steps
            nodes.look(state, [slow] if slow else [], has_steps=has_steps)
        stopped = network.is_bad and options.watch_step == "stop"
        silent = silence.seconds()
        spent = time.thread_time() - began
        if silent and not stopped:
            evidence, lines, is_held_up = _ask(evidence)
            for line in (f"silent for {span(silent)}; envcfg hang says:", *lines):
                _say(line)
            stopped = is_held_up and then == "stop"
            if stopped:
                # The ranks write their stacks before they are stopped, while they still
                # can.
                _say("error: the step is stopped: it is silent, and held up as above")
                last_words = LastWords([*outputs])
                _abort()
            silence.begin_anew()
        if stopped:
            stop()
        pause = max(_PAUSE, spent * (_HASTE if network.is_open else _REST))
    if ended and not stopped:
        network.end(int(ended))
    elif ended and last_words and (stacks := last_words.stacks()):
        _say(f"when it was stopped: {stacks}")
    return "stopped" if stopped else "verified" if ended and network.is_good else ""


def _nodes(after: int) -> NodeWatch:
    from envcfg.core.step_nodes import NodeWatch

    return NodeWatch(after, _start_probe, _say)


def _start_probe() -> Probing:
    """Start the probe of ``monitor`` on the nodes of this step.

    Raises:
        EnvcfgError: Slurm does not answer, or does not show the step.
    """
    from envcfg.commands.job_target import find_job, job_name
    from envcfg.core.step_nodes import Probing
    from envcfg.nodes.probe.probes import WATCH
    from envcfg.nodes.probe.slurm_job import own_nodes, start_step

    renew_limits()
    job, all_hosts, _ = find_job(job_name(None, "monitor"), None, "monitor")
    # Other nodes of the job may wait for another step.
    hosts = own_nodes(job, os.getppid()) if len(all_hosts) > 1 else all_hosts
    is_part = len(hosts) < len(all_hosts)
    step = start_step(WATCH, job.id, hosts, is_part=is_part, more=(), leave=_LEAVE)
    # Slurm sets such a variable for each request of GPUs.
    has_gpus = any(re.match("SLURM_.*GPUS", name) for name in os.environ)
    return Probing(step, hosts, job.gpus if job.gpus or has_gpus else 0)


def _state_text(network: Network, pace: float | None) -> str:
    text = f", {pace:.3g} s per step" if pace else ""
    if network.is_good:
        return f"network fast{text}"
    return f"network {'slow' if network.is_bad else 'not verified'}{text}"


def _wait(seconds: float) -> str | None:
    if not select.select([_STDIN], [], [], seconds)[0]:
        return None
    return os.read(_STDIN, _WORD).decode("ascii", "replace").strip()


def _say(text: str) -> None:
    with suppress(OSError):  # for example, a full disk
        sys.stderr.write(f"envcfg: {safe_line(text)}\n")
        sys.stderr.flush()


def _abort() -> None:
    """Let the ranks write their stacks; only Python programs can do so."""
    from envcfg.commands.job_target import find_job, job_name
    from envcfg.nodes.hang.hang_step import abort

    renew_limits()
    # Without a known job there are no stacks, and the stop continues.
    with suppress(EnvcfgError):
        job, hosts, _ = find_job(job_name(None, "hang"), None, "hang")
        abort(job.id, hosts)


def _ask(earlier: Evidence | None) -> tuple[Evidence | None, list[str], bool]:
    """Return evidence on the job, the report, and whether a rank or node blocks it."""
    from envcfg.commands.hang import look_at
    from envcfg.report.hang_report import hang_lines

    renew_limits()
    try:
        evidence, judgement = look_at(None, earlier=earlier)
    except EnvcfgError as err:
        return earlier, [f"note: envcfg hang cannot tell: {err.message}"], False
    lines = [f"  {text}" for _, text in hang_lines(evidence, judgement)]
    return evidence, lines, judgement.verdict == "named"
