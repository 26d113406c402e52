"""The step that examines every node once, and the nodes it cannot reach.

An unreachable node does not delay the others: they answer at once, and some seconds later
srun ends the whole step and names the node. If another node had not finished by then, a
second step asks the remaining ones.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from gzip import compress
from shutil import which

from envcfg.nodes.hang.hang_lines import node_views
from envcfg.nodes.hang.hang_records import HangNode
from envcfg.nodes.probe.node_answer import NodeReader
from envcfg.nodes.probe.probes import HANG
from envcfg.nodes.probe.runner import Patience, at
from envcfg.nodes.probe.slurm_job import lost_nodes, start_step

_START = 60.0  # seconds for the first answer: a large job's step starts slowly
_PATIENCE = 20.0  # seconds for the others, once one has answered
_WHOLE = 60.0  # seconds that a probe takes at most, with stacks and RAS
_TOGETHER = 4.0  # seconds until all nodes have begun the step that ends the ranks
_MOST_SENT = 64  # nodes that receive py-spy, which has 3 MB
_MOST_ASKING = 8  # nodes that ask RAS: each answer describes the whole job


def asking_nodes(hosts: Sequence[str]) -> list[str]:
    """Return the nodes that ask RAS: all, or in a large job some from all its parts."""
    if len(hosts) <= _MOST_ASKING:
        return list(hosts)
    last = len(hosts) - 1
    # Ranks on distant nodes may see different things, so the nodes are spread evenly.
    places = {round(n * last / (_MOST_ASKING - 1)) for n in range(_MOST_ASKING)}
    return [hosts[place] for place in sorted(places)]


def look(
    job: str,
    hosts: Sequence[str],
    *,
    is_part: bool,
    more: Sequence[str],
    say: Callable[[str], object],
) -> tuple[tuple[HangNode, ...], dict[str, str], list[str]]:
    """Run the probe on *hosts*; return the nodes, lost ones, and srun's last lines.

    *is_part*: the job has other nodes. *say* gets a sentence if a second step is needed.
    The lost nodes come with srun's reasons.

    Raises:
        JobError: there is no srun.
    """
    reader = NodeReader(hosts)
    errors = _read_lines(job, hosts, reader, is_part=is_part, more=more)
    lost = lost_nodes(errors, hosts)
    missing = [host for host in hosts if host not in lost]
    # Without a lost node a second step would wait for the same silence again.
    if lost and not reader.is_whole(missing):
        say(f"{', '.join(sorted(lost))} cannot be reached; the others are asked again")
        again = NodeReader(hosts)
        more_errors = _read_lines(job, missing, again, is_part=True, more=more)
        errors += more_errors
        lost |= lost_nodes(more_errors, missing)
        # An empty second answer is worse than the incomplete first one.
        if again.answers:
            reader = again
    return node_views(hosts, reader.answers), lost, errors


def abort(job: str, hosts: Sequence[str]) -> None:
    """End the Python ranks of *job* on *hosts*, which write their stacks first.

    Raises:
        JobError: there is no srun.
    """
    # All nodes end their ranks at one time, so that no rank reacts to another's end.
    words = (job, f"--abort={int(time.time() + _TOGETHER)}")
    step = start_step(HANG, job, hosts, words, is_part=False, more=())
    with step, suppress(EOFError):
        step.read(lambda _: None, at(time.monotonic() + _PATIENCE))


def _read_lines(
    job: str,
    hosts: Sequence[str],
    reader: NodeReader,
    *,
    is_part: bool,
    more: Sequence[str],
) -> list[str]:
    """Pass the lines of *hosts* to *reader*; return srun's last lines."""
    patience = Patience(_START, time.monotonic())

    def deadline(now: float) -> float | None:
        if reader.is_whole(hosts):
            return None
        answers = reader.answers.values()
        # A node that has begun to answer may take longer than a silent one.
        is_busy = len(answers) >= len(hosts) or not all(a.is_whole for a in answers)
        others_count = _WHOLE if is_busy else _PATIENCE
        return patience.until(now, others_count, has_any=bool(answers))

    spy = _packed_spy() if len(hosts) <= _MOST_SENT else b""
    sent = (f"--spy={len(spy)}",) if spy else ()
    words = (job, *sent, *asking_nodes(hosts))
    step = start_step(HANG, job, hosts, words, is_part=is_part, more=more)
    with step, suppress(EOFError):
        step.send(spy)
        step.read(reader.feed, deadline)
    return list(step.errors)


def _packed_spy() -> bytes:
    """Return the py-spy that is installed with envcfg, or on PATH; empty without one."""
    folders = (os.path.dirname(sys.executable), *os.get_exec_path())
    path = which("py-spy", path=os.pathsep.join(folders))
    try:
        with open(path or os.devnull, "rb") as file:
            program = file.read()
    except OSError:
        return b""
    # A script (a wrapper of pip) would need Python on the node.
    return compress(program) if program.startswith(b"\x7fELF") else b""
