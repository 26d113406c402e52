"""A step with line-by-line output that leaves no process behind.

``preflight``, ``hang`` and ``monitor`` start all their steps here. Their calls differ in
the time to wait (``deadline``), in repeated questions (``is_asked``), and in the time for
the end (``leave``): a container has more to clean up than a probe.
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

from envcfg.common.errors import JobError

_LEAVE = 10.0  # seconds to end after each signal, the gentlest first
_LOOK = 0.25  # seconds between checks of the limits
_KEPT = 400  # lines of errors: a starter writes one for each task that it loses
_LONGEST = 1 << 16  # characters of a line; the rest of a longer line is dropped
_UNREAD = 1 << 26  # characters in the queue; a writer beyond that has to wait
_ENDING = (
    "exited with exit code 0",
    "terminated",
)  # regular ends, which need no report

Take = Callable[[str], object]
Deadline = Callable[[float], float | None]


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
        """Start the command *argv*.

        Args:
            argv: the command.
            env: its environment.
            hint: advice if there is no such command.
            is_asked: True if its stdin is a pipe, for ``ask``; the step then ends with the
                pipe, and so with this process.
            leave: seconds to end after each signal.
            files: open files that it inherits.

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
                # Ctrl-C is handled here; srun would ask for a second one.
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
        # Threads read the streams, because a full pipe would block the step.
        self._changed = Condition()
        self._streams = [
            (Thread(target=parser, args=(stream,), daemon=True), stream)
            for parser, stream in (
                (self._collect, self._process.stdout),
                (self._read_errors, self._process.stderr),
            )
            if stream
        ]
        for reader, _ in self._streams:
            reader.start()

    def __enter__(self) -> Step:
        """Return the step; the ``with`` block ends it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the step and its descendants, with the gentlest signal first.

        A step with a stdin pipe ends with that pipe. Bash and srun pass the first signal
        on, so that the starter of the tasks ends them.
        """
        from subprocess import TimeoutExpired

        process = self._process
        with self._changed:
            self._is_over = True  # a blocked writer continues
            self._changed.notify_all()
        if process.stdin:
            with suppress(OSError):
                process.stdin.close()
        first = 0 if process.stdin else signal.SIGTERM
        for number in (first, signal.SIGTERM, signal.SIGKILL):
            try:
                # The whole group is killed, because bash's children outlive it.
                if number == signal.SIGKILL:
                    self._kill()
                elif number:
                    process.send_signal(number)
                process.wait(self._leave)
                break
            except TimeoutExpired:
                continue
        if not self._close():  # a descendant still holds a stream open
            self._kill()
            self._close()

    def ask(self, number: int) -> None:
        """Ask every node for sample *number*."""
        with suppress(OSError):  # the step ended; its earlier output is read first
            if self._process.stdin:
                self._process.stdin.write(f"{number}\n")
                self._process.stdin.flush()

    def send(self, data: bytes) -> None:
        """Send *data* to every node while its lines are read; a part may be lost."""
        if self._process.stdin:
            # The thread needs its own descriptor, because the step closes its stdin.
            file = os.dup(self._process.stdin.fileno())
            Thread(target=_write, args=(file, data), daemon=True).start()

    def read(self, take: Take, deadline: Deadline) -> bool:
        """Pass each line to *take* until *deadline*; return whether all lines were read.

        Args:
            take: receives the lines of stdout.
            deadline: returns the time limit for a time (``time.monotonic``); None: the
                output is complete.

        Raises:
            EOFError: the step has closed its stdout.
        """
        while (limit := deadline(now := time.monotonic())) is not None:
            if now >= limit:
                return False
            with self._changed:
                self._changed.wait_for(
                    # The wait is short, because a deadline can change without a new line.
                    lambda: self._lines or self._is_whole,
                    min(_LOOK, limit - now),
                )
                if self._is_whole and not self._lines:
                    raise EOFError
                line = self._lines.popleft() if self._lines else ""
                self._unread -= len(line)
                # The reading thread may wait for room in the queue.
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

    def _collect(self, stream: IO[str]) -> None:
        for line in _lines_of(stream):
            with self._changed:
                # Without this limit a flood of output would fill the memory.
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
    # The reader may be gone: its end is reported by its exit code.
    with suppress(OSError), open(file, "wb") as stream:
        stream.write(data)


def _lines_of(stream: IO[str]) -> Iterator[str]:
    """Yield the lines of *stream*, each cut to ``_LONGEST``."""
    while line := stream.readline(_LONGEST):
        yield line
        while line and not line.endswith("\n"):
            line = stream.readline(_LONGEST)


class StepEnd(NamedTuple):
    """The end of a step.

    Attributes:
        code: its exit code; None if this process ended it.
        errors: its last lines on stderr.
    """

    code: int | None
    errors: tuple[str, ...]


def run_script(
    script: str, env: Mapping[str, str], take: Take, deadline: Deadline
) -> StepEnd:
    """Run bash until it ends, or until *deadline*; no process of it is left then.

    *take* receives each line of its stdout. After its last line bash ends within seconds.

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
            errors = tuple(step.errors)  # later lines come from our own signals
    return StepEnd(code, errors if code is None else tuple(step.errors))


@contextmanager
def _file_of(text: str) -> Iterator[int]:
    """Yield a file without a name, because an argument has a limit of length."""
    handle = os.memfd_create("envcfg-step")
    try:
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        yield handle
    finally:
        os.close(handle)


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
