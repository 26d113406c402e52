"""The step that looks at every node once, and what of it cannot be reached.

A node that is cut off does not hold up the others: they answer at once, and some seconds
later srun gives up the whole step and names the node. Where another had not said all by
then, a second step asks those that are left.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from gzip import compress
from shutil import which

from envcfg.hang.lines import HangReader
from envcfg.probe.probes import HANG
from envcfg.probe.runner import Patience, at
from envcfg.probe.slurm import lost_nodes, start_step

_START = 60.0  # seconds for the first answer: a large job's step starts slowly
_PATIENCE = 20.0  # seconds for the others, once one has answered
_WHOLE = 60.0  # seconds that a probe takes at most, with stacks and RAS
_TOGETHER = 4.0  # seconds until all nodes have begun the step that ends the ranks
_MOST_SENT = 64  # nodes that py-spy is sent to, which has 3 MB
_MOST_ASKING = 8  # nodes that ask RAS: each answer is of the whole job


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
    is_part: bool,
    more: Sequence[str],
    say: Callable[[str], object],
) -> tuple[HangReader, dict[str, str], list[str]]:
    """Run the probe on *hosts* and return what they say, when all has been said.

    *is_part*: the job has other nodes. *say* gets a sentence where it takes longer. Behind
    the reader stand, by node, why it cannot be reached, as srun says it, and srun's last
    lines.

    Raises:
        JobError: there is no srun.
    """
    reader = HangReader(hosts)
    errors = _read(job, hosts, reader, is_part=is_part, more=more)
    lost = lost_nodes(errors, hosts)
    left = [host for host in hosts if host not in lost]
    unfinished = any(not node.whole for node in reader.nodes() if node.host in left)
    if lost and left and unfinished:
        say(f"{', '.join(sorted(lost))} cannot be reached; the others are asked again")
        again = HangReader(hosts)
        more_errors = _read(job, left, again, is_part=True, more=more)
        errors += more_errors
        lost |= lost_nodes(more_errors, left)
        if again.answering:
            reader = again
    return reader, lost, errors


def abort(job: str, hosts: Sequence[str]) -> None:
    """End the ranks of *job* on *hosts* that are in Python, which write their stacks first.

    Raises:
        JobError: there is no srun.
    """
    words = (job, f"--abort={int(time.time() + _TOGETHER)}")
    step = start_step(HANG, job, hosts, words, is_part=False, more=())
    with step, suppress(EOFError):
        step.read(lambda _: None, at(time.monotonic() + _PATIENCE))


def _read(
    job: str,
    hosts: Sequence[str],
    reader: HangReader,
    *,
    is_part: bool,
    more: Sequence[str],
) -> list[str]:
    """Let *reader* have what *hosts* say; return srun's last lines."""
    patience = Patience(_START, time.monotonic())

    def deadline(now: float) -> float | None:
        if reader.is_whole:
            return None
        count = len(reader.answering)
        # Who answers may take longer than one that is silent.
        others = _WHOLE if count >= len(hosts) or reader.is_busy else _PATIENCE
        return patience.until(now, others, has_any=count > 0)

    spy = _packed_spy() if len(hosts) <= _MOST_SENT else b""
    sent = (f"--spy={len(spy)}",) if spy else ()
    words = (job, *sent, *asking_nodes(hosts))
    step = start_step(HANG, job, hosts, words, is_part=is_part, more=more)
    with step, suppress(EOFError):
        step.send(spy)
        step.read(reader.feed, deadline)
    return list(step.errors)


def _packed_spy() -> bytes:
    """Return the py-spy that is installed with envcfg, or on PATH; nothing without one."""
    folders = (os.path.dirname(sys.executable), *os.get_exec_path())
    path = which("py-spy", path=os.pathsep.join(folders))
    try:
        with open(path or os.devnull, "rb") as file:
            program = file.read()
    except OSError:
        return b""
    return compress(program) if program.startswith(b"\x7fELF") else b""
