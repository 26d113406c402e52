"""The running of a step's bash, whose lines are read as they come."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from envcfg.errors import JobError
from envcfg.monitor.output import Output

_LEAVE = 10.0  # seconds to end in each way, from the gentlest on
_KEPT = 400  # lines of errors
_LOOK = 0.25  # seconds until limits are looked at again
_ENDING = ("exited with exit code 0", "terminated")  # of no interest


class StepEnd(NamedTuple):
    """How a step has ended.

    Attributes:
        code: its exit code; None where it was ended from here.
        errors: its last lines on stderr.
        seconds: how long it took.
    """

    code: int | None
    errors: tuple[str, ...]
    seconds: float


def run_step(
    script: str,
    env: Mapping[str, str],
    take: Callable[[str], object],
    deadline: Callable[[float], float | None],
) -> StepEnd:
    """Run bash until it ends, or until *deadline*; nothing of it is left then.

    Args:
        script: the bash, as ``render_script`` makes it.
        env: its environment.
        take: gets each line of its stdout.
        deadline: gets the time (``time.monotonic``) and says until when to wait; None: all
            has been said, and it ends by itself within seconds.

    Raises:
        JobError: there is no bash.
    """
    began = time.monotonic()
    step = _Step(script, env)
    done: float | None = None
    code: int | None = None
    try:
        while True:
            try:
                line = step.line(_LOOK)
            except EOFError:
                code = step.code()
                break
            if line is not None:
                take(line)
            now = time.monotonic()
            limit = done if done is not None else deadline(now)
            if limit is None:
                done = limit = now + _LEAVE
            if now >= limit:
                break
        errors = tuple(step.errors)  # what comes later is of the end that we make
    finally:
        step.stop()
    if code is not None:
        errors = tuple(step.errors)
    return StepEnd(code, errors, time.monotonic() - began)


def ended_tasks(errors: tuple[str, ...], pattern: str) -> dict[str, str]:
    """Return the hosts whose tasks have ended by themselves, and how, as errors say it.

    Args:
        errors: lines of stderr.
        pattern: how the starter says that, with groups ``host`` and ``how``; or nothing.
    """
    found: dict[str, str] = {}
    for line in errors if pattern else ():
        match = re.match(pattern, line)
        if match and match["how"].strip().lower() not in _ENDING:
            found.setdefault(match["host"], match["how"].strip())
    return found


class _Step:
    """A running bash, and all that it has started."""

    def __init__(self, script: str, env: Mapping[str, str]) -> None:
        import subprocess

        # A file without a name, as the text is longer than an argument may be; it goes
        # with its last reader.
        handle = os.memfd_create("envcfg-preflight")
        try:
            with os.fdopen(os.dup(handle), "wb") as file:
                file.write(script.encode("utf-8", "surrogateescape"))
            os.set_inheritable(handle, True)
            self._process = subprocess.Popen(
                ["/usr/bin/env", "bash", f"/proc/self/fd/{handle}"],
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(handle,),
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # Ctrl-C is for us
            )
        except OSError as err:
            msg = f"cannot run bash: {err.strerror}"
            raise JobError(msg, hint="is bash on PATH?") from err
        finally:
            os.close(handle)
        self._output = Output(self._process, _KEPT)
        self.errors = self._output.errors

    def line(self, timeout: float) -> str | None:
        """Return the next line, or None when none came within *timeout* seconds.

        Raises:
            EOFError: there are no more.
        """
        return self._output.line(timeout)

    def code(self) -> int:
        """Return the exit code, which comes soon."""
        return self._process.wait()

    def stop(self) -> None:
        """End it: bash passes the signal on, so that the starter ends its tasks."""
        import signal
        from subprocess import TimeoutExpired

        process = self._process
        if process.poll() is None:
            for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
                try:
                    if number == signal.SIGKILL:
                        os.killpg(process.pid, number)
                    else:
                        process.send_signal(number)
                    process.wait(_LEAVE)
                    break
                except TimeoutExpired:
                    continue
                except ProcessLookupError:
                    break
        if not self._output.close(1):  # something still holds one open
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            self._output.close(1)
