"""The run of a script on the nodes, and deadlines for the answers of nodes."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

from envcfg.common.child_process import ChildProcess, Deadline, Take, file_of

_LEAVE = 10.0  # seconds to end after each signal: a container has much to clean up
_ENDING = (
    "exited with exit code 0",
    "terminated",
)  # regular ends, which need no report


def at(moment: float) -> Deadline:
    """Return a deadline that is always *moment*."""
    return lambda _: moment


class Patience:
    """Deadline for answers: generous for the first node, shorter for the rest."""

    def __init__(self, start: float, began: float) -> None:
        """Give the first node *start* seconds from *began* on, by a monotonic clock."""
        self._limit = began + start
        self._first: float | None = None

    def until(self, now: float, others_count: float, *, has_any: bool) -> float:
        """Return the deadline: *others_count* seconds after the first answer."""
        if has_any and self._first is None:
            self._first = now
        return self._limit if self._first is None else self._first + others_count


def run_script(
    script: str, env: Mapping[str, str], take: Take, deadline: Deadline
) -> tuple[int | None, list[str]]:
    """Run bash until it ends, or until *deadline*; no process of it is left then.

    *take* receives each line of its stdout. After its last line bash ends within seconds.

    Returns:
        The exit code (None if this process ended it), and the last lines on stderr.
    """
    code: int | None = None
    # An argument has a limit of length.
    with file_of(script.encode("utf-8", "surrogateescape")) as file:
        argv = ("/usr/bin/env", "bash", f"/proc/self/fd/{file}")
        with ChildProcess(argv, env, leave=_LEAVE, files=[file]) as step:
            try:
                if step.read(take, deadline):
                    step.read(take, at(time.monotonic() + _LEAVE))
            except EOFError:
                code = step.wait()
    return code, list(step.errors)


def ended_tasks(errors: Sequence[str], pattern: str) -> dict[str, str]:
    """Return the hosts with tasks that ended by themselves, and the reason.

    *pattern* matches the starter's line of stderr about such an end, with groups ``host``
    and ``how``; empty if there is none.
    """
    hosts: dict[str, str] = {}
    for line in errors if pattern else ():
        match = re.match(pattern, line)
        if match and match["how"].strip().lower() not in _ENDING:
            hosts.setdefault(match["host"], match["how"].strip())
    return hosts
