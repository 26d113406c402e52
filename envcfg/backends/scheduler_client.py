"""The scheduler's own commands: questions with limits, and submission without one.

A scheduler may hang, print without end, or leave processes behind. Therefore every
question goes through this module. One command of envcfg has one limit of time and one
of bytes for all its questions. A command that exceeds a limit is killed with its whole
session.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING, NamedTuple

from envcfg.common.characters import whole_number
from envcfg.common.interrupts import PostponedSignals

if TYPE_CHECKING:
    import signal
    import subprocess
    from selectors import BaseSelector
else:
    import _signal as signal  # the module signal needs a millisecond

SECONDS = 2.0  # for all questions of one command of envcfg
BYTES = 10_000_000  # for all their answers
_VARIABLE = "ENVCFG_SCHEDULER_SECONDS"  # replaces SECONDS for a slow scheduler
_LOOK = 0.05  # seconds between two looks at exit codes and signals
_LEAVE = 0.5  # seconds to wait for a killed process
_NOTICE = 10.0  # seconds until the first notice of a slow submission
_KEPT = 1 << 20  # bytes of the output of a submission
_CHUNK = 1 << 16
_REST = 16  # chunks that a pipe may hold after the end of its command


class Answer(NamedTuple):
    """The result of a scheduler's command.

    Attributes:
        exit_code: None: the command did not start, or was ended.
        fault: the reason for that, with the command's name.
        is_absent: the command did not start.
    """

    exit_code: int | None
    out: str = ""
    err: str = ""
    fault: str = ""
    is_absent: bool = False

    @property
    def text(self) -> str:
        """The stdout of the command; empty if the command failed."""
        return self.out if self.exit_code == 0 else ""


class _Limits:
    """The remaining time and bytes for the questions of this command."""

    seconds: float = SECONDS
    bytes = BYTES


def renew_limits() -> None:
    """Start a new command: its questions get the whole time and all bytes again."""
    _Limits.seconds = whole_number(os.environ.get(_VARIABLE, "")) or SECONDS
    _Limits.bytes = BYTES


def query(argv: Sequence[str], data: bytes = b"") -> Answer:
    """Return the answer to one question; *data*: its stdin."""
    return query_all([argv], data=data)[0]


def query_all(
    questions: Sequence[Sequence[str]],
    seconds: float | None = None,
    data: bytes = b"",
) -> list[Answer]:
    """Return the answers to several questions, which are asked at the same time.

    Args:
        questions: the words of each command; no words: an empty answer.
        seconds: the time limit for all of them; None: the remaining time of this
            command.
        data: the stdin of each.
    """
    wait = _Limits.seconds if seconds is None else min(seconds, _Limits.seconds)
    # After one slow answer, later questions would only add to the delay.
    if wait <= 0:
        fault = "was not asked, because the scheduler did not answer before"
        return [
            Answer(None, fault=f"{argv[0]} {fault}") if argv else Answer(0)
            for argv in questions
        ]
    began = time.monotonic()
    # A signal is postponed until the processes are ended, or they would stay
    # behind.
    with PostponedSignals() as signals:
        clients = [_Client(argv, data) for argv in questions]
        try:
            for _ in _events(clients):
                if signals.has_come or time.monotonic() - began >= wait:
                    break
        finally:
            for client in clients:
                client.end(signal.SIGKILL)
            # The time is subtracted even after an error, so that a loop of
            # questions ends.
            _Limits.seconds -= time.monotonic() - began
    return [client.answer(f"did not answer for {wait:.2g} s") for client in clients]


def hand_over(
    argv: Sequence[str],
    data: bytes,
    *,
    wait: Callable[[int], object],
    interrupt: Callable[[], object],
) -> Answer:
    """Give *data* to a command that submits a job, on its stdin; return the answer.

    There is no time limit, because a killed command may already have submitted the job.
    Only the end of its output is kept.

    Args:
        wait: called with the elapsed seconds, at growing intervals.
        interrupt: called if a signal ends the command before it has answered.
    """
    began, notice = time.monotonic(), _NOTICE
    with PostponedSignals() as signals:
        client = _Client(argv, data, is_question=False)
        for _ in _events([client]):
            past = time.monotonic() - began
            if signals.has_come and client.is_running:
                interrupt()
                # TERM first: the command may still remove a half-submitted job.
                client.end(signal.SIGTERM, signal.SIGKILL)
            elif past >= notice:
                wait(int(past))
                notice *= 2
        client.end()
    return client.answer("was interrupted")


def _events(clients: Sequence["_Client"]) -> Iterator[None]:
    """Read from and write to *clients* until all have ended; yield after each round."""
    from selectors import DefaultSelector

    with DefaultSelector() as selector:
        for client in clients:
            client.register(selector)
        while any(client.is_running for client in clients):
            for key, _ in selector.select(_LOOK):
                key.data()
            for client in clients:
                client.look()
            yield


class _Client:
    """A command of the scheduler in its own session.

    Attributes:
        is_running: the command has neither ended nor exceeded a limit.
    """

    def __init__(
        self, argv: Sequence[str], data: bytes = b"", *, is_question: bool = True
    ) -> None:
        """Start the command *argv*.

        Args:
            argv: its words; none: it has already ended, without output.
            data: its stdin.
            is_question: an answer that is too long is useless, and ends the command.
        """
        self._name, self._data = "".join(argv[:1]), memoryview(data)
        self._is_question = is_question
        self._texts = {"out": bytearray(), "err": bytearray()}
        self._bytes = 0
        self._has_exited = not argv
        self._absence = self._fault = ""
        self._selector: BaseSelector | None = None
        self._process = process = self._start(argv) if argv else None
        self.is_running = process is not None
        pairs = process and (
            ("out", process.stdout),
            ("err", process.stderr),
            ("in", process.stdin),
        )
        self._streams = {name: stream for name, stream in pairs or () if stream}

    def _start(self, argv: Sequence[str]) -> "subprocess.Popen[bytes] | None":
        import subprocess

        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.PIPE if self._data else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # one signal reaches all its processes
            )
        except (OSError, ValueError) as err:  # ValueError: a word has a NUL byte
            self._absence = f"{self._name}: {getattr(err, 'strerror', err)}"
        return None

    def register(self, selector: "BaseSelector") -> None:
        """Let *selector* call a function for each stream that is ready."""
        from selectors import EVENT_READ, EVENT_WRITE

        self._selector = selector
        for name, stream in self._streams.items():
            os.set_blocking(stream.fileno(), False)
            if name in self._texts:
                selector.register(
                    stream, EVENT_READ, partial(self._read_chunk, name, stream)
                )
            else:
                selector.register(stream, EVENT_WRITE, partial(self._write, stream))

    def look(self) -> None:
        """Note whether the command has ended; its children may still hold its output."""
        if self._process is None or not self.is_running:
            return
        # Before the process is reaped, its number cannot be reused by another
        # session.
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        with suppress(ChildProcessError):
            if os.waitid(os.P_PID, self._process.pid, how) is None:
                return
        # The pipe may still hold output of the ended command.
        for name, stream in self._streams.items():
            for _ in range(_REST if name in self._texts else 0):
                if not self._read_chunk(name, stream):
                    break
        self.is_running, self._has_exited = False, not self._fault

    def end(self, *numbers: int) -> None:
        """Close the command's streams, and end its session by the signals *numbers*."""
        from subprocess import TimeoutExpired

        if self._process is None:
            return
        self.is_running = False
        for stream in self._streams.values():
            self._close(stream)
        # Without a signal, the process is only waited for.
        for number in numbers or (0,):
            if number and self._process.returncode is None:
                with suppress(OSError):
                    os.killpg(self._process.pid, number)
            with suppress(TimeoutExpired):
                self._process.wait(_LEAVE)

    def answer(self, fault: str) -> Answer:
        """Return the command's answer; *fault*: the reason if the command was ended."""
        if self._absence:
            return Answer(None, fault=self._absence, is_absent=True)
        if not self._has_exited:
            return Answer(None, fault=f"{self._name} {self._fault or fault}")
        out, err = (text.decode("utf-8", "replace") for text in self._texts.values())
        return Answer(self._process.returncode if self._process else 0, out, err)

    def _read_chunk(self, name: str, stream: IO[bytes]) -> bool:
        """Store the available output of *stream*; return False if there was none."""
        if stream.closed:
            return False
        try:
            chunk = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self._close(stream)
            return False
        self._bytes += len(chunk)
        if self._is_question:
            _Limits.bytes -= len(chunk)
            if _Limits.bytes < 0:
                # The bytes of this answer are returned, so that they do not count
                # against the next one.
                _Limits.bytes += self._bytes
                self._texts = {}
                self._fault = f"printed more than {BYTES // 10**6} MB"
                self.end(signal.SIGKILL)
                return False
        text = self._texts[name]
        text += chunk
        if not self._is_question and len(text) > 2 * _KEPT:
            # A new object, because a bytearray keeps its memory when its head is
            # deleted.
            self._texts[name] = text[-_KEPT:]  # the job's id may be in the last line
        return True

    def _write(self, stream: IO[bytes]) -> None:
        if stream.closed:
            return
        try:
            self._data = self._data[os.write(stream.fileno(), self._data[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the command has ended, or needs no more input
            self._data = self._data[:0]
        if not self._data:
            self._close(stream)

    def _close(self, stream: IO[bytes]) -> None:
        if self._selector and not stream.closed:
            with suppress(KeyError):
                self._selector.unregister(stream)
        stream.close()
