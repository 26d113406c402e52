"""A step, whose lines are read as they come and of which nothing is left.

All that ``preflight``, ``hang`` and ``monitor`` start on nodes runs here. They differ in
how long they wait (``deadline``), in whether the step is asked again (``is_asked``), and
in how long its end may take (``leave``): a container has more to clear away than a probe.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Condition, Thread
from typing import IO, NamedTuple

from envcfg.errors import JobError

_LEAVE = 10.0  # seconds to end in each way, from the gentlest on
_LOOK = 0.25  # seconds until limits are looked at again
_KEPT = 400  # lines of errors: a starter writes one for each task that it loses
_LONGEST = 1 << 16  # characters of a line; what a longer one has besides is dropped
_UNREAD = 1 << 26  # characters that may wait here; who writes more waits, too
_ENDING = ("exited with exit code 0", "terminated")  # of no interest

Take = Callable[[str], object]
Deadline = Callable[[float], float | None]


def at(moment: float) -> Deadline:
    """Return the deadline that is *moment*, whatever has been said."""
    return lambda _: moment


class Patience:
    """Until when nodes are waited for: long for the first, and then for the others."""

    def __init__(self, start: float, began: float) -> None:
        """Give the first *start* seconds from *began* on, by a clock that only goes on."""
        self._limit = began + start
        self._first: float | None = None

    def until(self, now: float, others: float, *, has_any: bool) -> float:
        """Return when it is too late: once one has come, *others* seconds after that."""
        if has_any and self._first is None:
            self._first = now
        return self._limit if self._first is None else self._first + others


class Step:
    """A running command and all that it has started; it ends with its ``with`` block.

    Attributes:
        errors: the last lines of its stderr.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        hint: str,
        is_asked: bool = False,
        leave: float,
        files: Sequence[int] = (),
    ) -> None:
        """Start it.

        Args:
            argv: the command.
            env: its environment.
            hint: what helps where there is no such command.
            is_asked: its stdin is a pipe, for ``ask``; it ends when that does, and so when
                this process is gone.
            leave: seconds that it has to end in each way.
            files: open ones that it inherits.

        Raises:
            JobError: there is no such command.
        """
        import subprocess

        try:
            self._process = subprocess.Popen(
                argv,
                env=dict(env),
                stdin=subprocess.PIPE if is_asked else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=files,
                text=True,
                encoding="utf-8",
                errors="replace",
                # Ctrl-C is for us, and srun would ask to be told twice.
                start_new_session=True,
            )
        except OSError as err:
            msg = f"cannot run {argv[0]}: {err.strerror}"
            raise JobError(msg, hint=hint) from err
        self.errors: deque[str] = deque(maxlen=_KEPT)
        self._leave = leave
        self._lines: deque[str] = deque()
        self._unread = 0  # characters of them
        self._is_whole = self._is_over = False
        self._changed = Condition()
        self._streams = [
            (Thread(target=read, args=(stream,), daemon=True), stream)
            for read, stream in (
                (self._read, self._process.stdout),
                (self._read_errors, self._process.stderr),
            )
            if stream
        ]
        for reader, _ in self._streams:
            reader.start()

    def __enter__(self) -> Step:
        """Return it, to be ended."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, from the gentlest way on, and whatever it has left.

        Who is asked ends with its stdin. Bash and srun pass the first signal on, so that
        tasks are ended by who has started them.
        """
        from subprocess import TimeoutExpired

        process = self._process
        with self._changed:
            self._is_over = True  # who writes waits no longer
            self._changed.notify_all()
        if process.stdin:
            with suppress(OSError):
                process.stdin.close()
        first = 0 if process.stdin else signal.SIGTERM
        for number in (first, signal.SIGTERM, signal.SIGKILL):
            try:
                if number == signal.SIGKILL:
                    self._kill()
                elif number:
                    process.send_signal(number)
                process.wait(self._leave)
                break
            except TimeoutExpired:
                continue
        if not self._close():  # something still holds one open
            self._kill()
            self._close()

    def ask(self, number: int) -> None:
        """Ask every node for sample *number*."""
        with suppress(OSError):  # it has ended; what it wrote before is read first
            if self._process.stdin:
                self._process.stdin.write(f"{number}\n")
                self._process.stdin.flush()

    def send(self, data: bytes) -> None:
        """Give *data* to every node, while its lines are read; it may come in part."""
        if self._process.stdin:
            file = os.dup(
                self._process.stdin.fileno()
            )  # its number stays this thread's
            Thread(target=_write, args=(file, data), daemon=True).start()

    def read(self, take: Take, deadline: Deadline) -> bool:
        """Hand each line to *take* until *deadline*; return whether all has been said.

        Args:
            take: gets the lines of stdout.
            deadline: gets the time (``time.monotonic``) and says until when to wait; None:
                all has been said.

        Raises:
            EOFError: the step has closed its stdout.
        """
        while (limit := deadline(now := time.monotonic())) is not None:
            if now >= limit:
                return False
            with self._changed:
                self._changed.wait_for(
                    lambda: self._lines or self._is_whole, min(_LOOK, limit - now)
                )
                if self._is_whole and not self._lines:
                    raise EOFError
                line = self._lines.popleft() if self._lines else ""
                self._unread -= len(line)
                self._changed.notify_all()
            if line:
                take(line)
        return True

    def code(self) -> int | None:
        """Return the exit code, which comes soon once stdout is closed; else None."""
        from subprocess import TimeoutExpired

        with suppress(TimeoutExpired):
            return self._process.wait(self._leave)
        return None

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _close(self) -> bool:
        """Wait for the end of both streams, a second for each; return whether it came."""
        for reader, stream in self._streams:
            reader.join(1)
            if not reader.is_alive():
                stream.close()
        return not any(reader.is_alive() for reader, _ in self._streams)

    def _read(self, stream: IO[str]) -> None:
        for line in _lines_of(stream):
            with self._changed:
                self._changed.wait_for(lambda: self._unread < _UNREAD or self._is_over)
                if not self._is_over:
                    self._lines.append(line)
                    self._unread += len(line)
                self._changed.notify_all()
        with self._changed:
            self._is_whole = True
            self._changed.notify_all()

    def _read_errors(self, stream: IO[str]) -> None:
        self.errors.extend(line.rstrip() for line in _lines_of(stream))


def _write(file: int, data: bytes) -> None:
    with suppress(OSError), open(file, "wb") as stream:  # it may have ended
        stream.write(data)


def _lines_of(stream: IO[str]) -> Iterator[str]:
    """Yield the lines of *stream*, each cut to ``_LONGEST``."""
    while line := stream.readline(_LONGEST):
        yield line
        while line and not line.endswith("\n"):
            line = stream.readline(_LONGEST)


class StepEnd(NamedTuple):
    """How a step has ended.

    Attributes:
        code: its exit code; None where it was ended from here.
        errors: its last lines on stderr.
    """

    code: int | None
    errors: tuple[str, ...]


def run_script(
    script: str, env: Mapping[str, str], take: Take, deadline: Deadline
) -> StepEnd:
    """Run bash until it ends, or until *deadline*; nothing of it is left then.

    *take* gets each line of its stdout. Where all has been said, it ends by itself within
    seconds.

    Raises:
        JobError: there is no bash.
    """
    code: int | None = None
    with _file_of(script) as file:
        argv = ("/usr/bin/env", "bash", f"/proc/self/fd/{file}")
        hint = "is bash on PATH?"
        with Step(argv, env, hint=hint, leave=_LEAVE, files=(file,)) as step:
            try:
                if step.read(take, deadline):
                    step.read(take, at(time.monotonic() + _LEAVE))
            except EOFError:
                code = step.code()
            errors = tuple(step.errors)  # what comes later is of the end that we make
    return StepEnd(code, errors if code is None else tuple(step.errors))


@contextmanager
def _file_of(text: str) -> Iterator[int]:
    """Yield a file without a name: a text may be longer than an argument may be."""
    handle = os.memfd_create("envcfg-step")
    try:
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        yield handle
    finally:
        os.close(handle)


def ended_tasks(errors: Sequence[str], pattern: str) -> dict[str, str]:
    """Return the hosts whose tasks have ended by themselves, and how.

    *pattern* is how the starter says that in a line of stderr, with groups ``host`` and
    ``how``; or nothing.
    """
    found: dict[str, str] = {}
    for line in errors if pattern else ():
        match = re.match(pattern, line)
        if match and match["how"].strip().lower() not in _ENDING:
            found.setdefault(match["host"], match["how"].strip())
    return found
