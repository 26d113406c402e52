"""The one step that runs the probe on every node, and what of it cannot be reached.

A node that is cut off does not hold up the others: they answer at once, and some seconds
later srun gives up the whole step and names the node. Where another had not said all by
then, a second step asks those that are left.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence

from envcfg.hang.lines import HangReader, probe_script
from envcfg.monitor.step import NodeStep, step_argv, step_environment

_START = 60.0  # seconds for the first answer: a large job's step starts slowly
_PATIENCE = 20.0  # seconds for the others, once one has answered
_WHOLE = 60.0  # seconds that a probe takes at most, with stacks and RAS
_MOST_ASKING = 8  # nodes that ask RAS: each answer is of the whole job
# What srun says of a node that it cannot start a task on, and of one that it has lost.
_LOST = re.compile(
    r"failed on node (?P<node>[\w.-]+): (?P<why>.+)|Node failure on (?P<lost>[\w.-]+)"
)


def asking_nodes(hosts: Sequence[str]) -> list[str]:
    """Return the nodes that ask RAS: a few of many, from all over the job."""
    if len(hosts) <= _MOST_ASKING:
        return list(hosts)
    last = len(hosts) - 1
    places = {round(n * last / (_MOST_ASKING - 1)) for n in range(_MOST_ASKING)}
    return [hosts[place] for place in sorted(places)]


def look(
    job: str,
    hosts: Sequence[str],
    *,
    chosen: bool,
    more: Sequence[str],
    say: Callable[[str], object],
) -> tuple[HangReader, dict[str, str], list[str]]:
    """Run the probe on *hosts* and return what they say, when all has been said.

    Args:
        job: its number.
        hosts: where to look.
        chosen: they are not all nodes of the job.
        more: further options of srun.
        say: gets a sentence where it takes longer.

    Returns:
        What was read; by node why it cannot be reached, as srun says it; srun's last lines.

    Raises:
        JobError: there is no srun.
    """
    reader = HangReader(hosts)
    lost, errors = _step(job, hosts, reader, chosen=chosen, more=more)
    left = [host for host in hosts if host not in lost]
    unfinished = any(not node.whole for node in reader.nodes() if node.host in left)
    if lost and left and unfinished:
        say(f"{', '.join(sorted(lost))} cannot be reached; the others are asked again")
        again = HangReader(hosts)
        lost_again, more_errors = _step(job, left, again, chosen=True, more=more)
        errors += more_errors
        lost |= lost_again
        if again.answering:
            reader = again
    return reader, lost, errors


def _step(
    job: str,
    hosts: Sequence[str],
    reader: HangReader,
    *,
    chosen: bool,
    more: Sequence[str],
) -> tuple[dict[str, str], list[str]]:
    asking = asking_nodes(hosts)
    program = ("/bin/bash", "-c", probe_script(), "envcfg-hang", job, *asking)
    argv = step_argv(job, hosts, chosen=chosen, more=more, name="hang", program=program)
    step = NodeStep(argv, step_environment(os.environ))
    try:
        _collect(step, reader, len(hosts))
    finally:
        step.stop()
    return _lost(step.errors, hosts), list(step.errors)


def _collect(step: NodeStep, reader: HangReader, size: int) -> None:
    """Read until all has been said, the step has ended, or it is too late."""
    began = time.monotonic()
    limit = began + _START
    first: float | None = None
    while not reader.is_whole and (now := time.monotonic()) < limit:
        try:
            line = step.line(min(1.0, limit - now))
        except EOFError:
            return
        if line is not None:
            reader.feed(line)
        if (count := len(reader.answering)) and first is None:
            first = time.monotonic()
        if first is not None:
            everyone = count >= size
            limit = first + (_WHOLE if everyone else max(_PATIENCE, _slow(reader)))


def _slow(reader: HangReader) -> float:
    """Return how long those that answer may take: longer than one that is silent."""
    answering = set(reader.answering)
    busy = any(node.host in answering and not node.whole for node in reader.nodes())
    return _WHOLE if busy else 0.0


def _lost(errors: Sequence[str], hosts: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in errors:
        if match := _LOST.search(line):
            node = match["node"] or match["lost"]
            if node in hosts:
                found.setdefault(node, (match["why"] or "node failure").strip())
    return found
