"""The programs that envcfg starts and reads: one deadline, limit of output, and end.

A program may hang, print without end, or leave processes behind. Therefore each one gets
its own session. Signals wait while a program is started, read or ended. A signal stops
the reading at once, and the program ends before envcfg does.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from envcfg.common.interrupts import PostponedSignals

NOTHING, PIPE = -3, -1  # as in subprocess, which needs milliseconds
_LEAVE = 0.5  # seconds to end after each signal
_LOOK = 0.05  # seconds between two looks at deadlines, signals and exit codes
_MOST = 10_000_000  # bytes of an answer
_KEPT = 1 << 20  # bytes of an output without limit: its end
_LINES = 400  # lines of errors: a starter writes one for each task that it loses
_LONGEST = 1 << 16  # bytes of a line; the rest of a longer line is dropped
_CHUNK = 1 << 16
_REST = 16  # chunks that a pipe may hold after the end of its program

Take = Callable[[str], object]
Deadline = Callable[[float], "float | None"]


class Answer(NamedTuple):
    """The result of a program."""

    exit_code: int | None  # None: the program did not start, or was ended
    out: str = ""
    err: str = ""
    fault: str = ""  # the reason for that, with the program's name
    is_absent: bool = False

    @property
    def text(self) -> str:
        """The stdout of the program; empty if the program failed."""
        return self.out if self.exit_code == 0 else ""


def run(
    argv: Sequence[str],
    seconds: float,
    data: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Answer:
    """Return the answer of one program, as ``run_all`` does; *data*: its stdin."""
    with file_of(data) as stdin:
        return run_all([argv], seconds, stdin, env)[0]


def run_all(
    commands: Sequence[Sequence[str]],
    seconds: float,
    stdin: int = NOTHING,
    env: Mapping[str, str] | None = None,
) -> list[Answer]:
    """Run programs at the same time; return their answers.

    A program that needs more than *seconds*, or prints too much, is ended and gives no
    answer. No process of them is left.

    Args:
        commands: the words of each program; no words: an empty answer.
        seconds: the time limit for all of them.
        stdin: their open stdin.
        env: their environment; None: that of this process.
    """
    with PostponedSignals() as signals:
        results = [start(argv, stdin, env, kept=_MOST) for argv in commands]
        children = [child for child in results if isinstance(child, ChildProcess)]
        try:
            for _ in rounds(children, seconds):
                if signals.has_come:
                    break
                if sum(child.size for child in children) > _MOST:
                    largest = max(children, key=lambda child: child.size)
                    largest.texts.clear()
                    end([largest], f"printed more than {_MOST // 10**6} MB")
        finally:
            end(children, f"did not answer for {seconds:.2g} s")
    return [r if isinstance(r, Answer) else r.answer() for r in results]


def start(
    argv: Sequence[str],
    stdin: int = NOTHING,
    env: Mapping[str, str] | None = None,
    *,
    kept: int = _KEPT,
) -> "ChildProcess | Answer":
    """Return the started program *argv*, or its answer if it does not start."""
    if not argv:
        return Answer(0)
    try:
        return ChildProcess(argv, env, stdin=stdin, kept=kept)
    except (OSError, ValueError) as err:  # ValueError: a word has a NUL byte
        fault = f"{argv[0]}: {getattr(err, 'strerror', err)}"
        return Answer(None, fault=fault, is_absent=True)


def rounds(
    children: Sequence["ChildProcess"], seconds: float = math.inf
) -> Iterator[float]:
    """Read from and write to *children* until all have ended, at most for *seconds*.

    Yield the time since the start, after each round.
    """
    began = time.monotonic()
    while not all(child.has_exited for child in children):
        if (past := time.monotonic() - began) >= seconds:
            return
        _exchange(children, seconds - past)
        yield past


def _exchange(children: Sequence["ChildProcess"], seconds: float) -> None:
    from select import POLLIN, POLLOUT, poll

    poller, pipes = poll(), {}
    for child in children:
        for name, pipe in child.pipes.items():
            if name != "in" or child.unsent:
                pipes[pipe.fileno()] = child, name
                poller.register(pipe, POLLOUT if name == "in" else POLLIN)
    # A program ends soon after its last stream.
    wait = min(seconds, _LOOK) if pipes else _LOOK / 50
    for number, _ in poller.poll(1000 * wait):
        child, name = pipes[number]
        child.transfer(name)
    for child in children:
        child.note_exit()


def end(children: Sequence["ChildProcess"], fault: str = "was ended") -> None:
    """End *children* and all that they have started; *fault* is then their answer.

    A program with a pipe as stdin ends with that pipe. SIGTERM goes to the program alone,
    because bash and srun end their own children. SIGKILL goes to all that is left.
    """
    from signal import SIGKILL, SIGTERM

    with PostponedSignals():
        for number in (0, SIGTERM, SIGKILL):
            waiting = [child for child in children if child.quit(number, fault)]
            for _ in rounds(
                waiting, max((child.leave for child in waiting), default=0)
            ):
                continue
        for child in children:
            child.close()


class ChildProcess:
    """A running program in its own session; it ends with its ``with`` block."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        stdin: int = NOTHING,
        kept: int = _KEPT,
        leave: float = _LEAVE,
        files: Sequence[int] = (),
    ) -> None:
        """Start the program *argv*.

        Args:
            argv: its words.
            env: its environment; None: that of this process.
            stdin: its open stdin; ``PIPE``: for ``send``. The program ends with the
                pipe, and so with this process.
            kept: bytes of each output that are kept, from its end.
            leave: seconds to end after each signal.
            files: open files that it inherits.

        Raises:
            OSError: it does not start.
            ValueError: a word has a NUL byte.
        """
        import subprocess

        self.leave = leave
        self.has_exited = False
        self.exit_code: int | None = None  # None: it runs, or was ended
        self.unsent = bytearray()  # bytes for its stdin
        self._name, self._kept, self._fault = argv[0], kept, ""
        self.texts = {"out": bytearray(), "err": bytearray()}
        with PostponedSignals() as signals:
            self._process = process = subprocess.Popen(
                argv,
                env=env,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=files,
                bufsize=0,
                # One signal reaches all its processes. Ctrl-C is handled here, because
                # srun would ask for a second one.
                start_new_session=True,
            )
            pipes = {"out": process.stdout, "err": process.stderr, "in": process.stdin}
            self.pipes = {name: pipe for name, pipe in pipes.items() if pipe}
            for pipe in self.pipes.values():
                os.set_blocking(pipe.fileno(), False)
            if signals.has_come:
                end([self])

    def __enter__(self) -> "ChildProcess":
        """Return the program; the ``with`` block ends it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the program and all that it has started."""
        end([self])

    @property
    def size(self) -> int:
        """The number of bytes of its output."""
        return sum(map(len, self.texts.values()))

    @property
    def errors(self) -> list[str]:
        """The last lines of its stderr."""
        lines = bytes(self.texts["err"]).splitlines()[-_LINES:]
        return [_decode(line).rstrip() for line in lines]

    def answer(self) -> Answer:
        """Return the program's answer, or the reason if the program was ended."""
        if self.exit_code is None:
            return Answer(None, fault=f"{self._name} {self._fault}")
        out, err = (text.decode("utf-8", "replace") for text in self.texts.values())
        return Answer(self.exit_code, out, err)

    def send(self, data: bytes) -> None:
        """Write *data* to its stdin while it is read; a part may be lost."""
        self.unsent += data
        self.transfer("in")

    def read(self, take: Take, deadline: Deadline) -> bool:
        """Pass each line to *take* until *deadline*; return whether all lines were read.

        Args:
            take: receives the lines of stdout, without their ends.
            deadline: returns the time limit for a time (``time.monotonic``); None: the
                output is complete.

        Raises:
            EOFError: the program has ended, or has closed its stdout.
        """
        with PostponedSignals() as signals:
            while (limit := deadline(now := time.monotonic())) is not None:
                if signals.has_come:
                    end([self])
                if now >= limit:
                    return False
                if self._is_silent():
                    raise EOFError
                # The wait is short, because a deadline can change without a new line.
                _exchange([self], limit - now)
                for line in self._lines():
                    take(line)
        return True

    def wait(self) -> int | None:
        """Return the exit code, which comes soon once stdout is closed; else None."""
        for _ in rounds([self], self.leave):
            continue
        return self.exit_code

    def transfer(self, name: str) -> bool:
        """Read or write a chunk of the stream *name*; return whether one was read."""
        if name not in self.pipes:
            return False
        pipe, chunk = self.pipes[name], b""
        try:
            if name == "in":
                del self.unsent[: os.write(pipe.fileno(), self.unsent[:_CHUNK])]
                return False
            chunk = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        except BrokenPipeError:  # the program has ended, or needs no more input
            self.unsent.clear()
            return False
        if not chunk:
            self.pipes.pop(name).close()
        if not self._fault:  # later output is the effect of our own signals
            text = self.texts[name]
            text += chunk
            if len(text) > 2 * self._kept:
                # A new object, because a bytearray keeps its memory when its head is
                # deleted.
                self.texts[name] = text[-self._kept :]
        return bool(chunk)

    def note_exit(self) -> None:
        """Note whether the program has ended; its children may still hold its output."""
        if self.has_exited:
            return
        # Before the process is reaped, its number cannot be reused by another
        # session.
        how, code = os.WEXITED | os.WNOHANG | os.WNOWAIT, 0
        with suppress(ChildProcessError):
            state = os.waitid(os.P_PID, self._process.pid, how)
            if state is None:
                return
            is_own = state.si_code == os.CLD_EXITED
            code = state.si_status if is_own else -state.si_status
        # The pipe may still hold output of the ended program.
        for name in ("out", "err"):
            for _ in range(_REST):
                if not self.transfer(name):
                    break
        self.has_exited = True
        if not self._fault:
            self.exit_code = code

    def quit(self, number: int, fault: str) -> bool:
        """Send a signal, or with 0 the end of stdin; return whether an end may follow."""
        from signal import SIGTERM

        if self._process.returncode is not None:
            return False
        if not number:
            pipe = self.pipes.pop("in", None)
            if pipe:
                pipe.close()
            return pipe is not None
        if not self.has_exited:
            self._fault = self._fault or fault
        send = os.kill if number == SIGTERM else os.killpg
        with suppress(OSError):
            send(self._process.pid, number)
        return True

    def close(self) -> None:
        """Close the streams, and forget the ended process."""
        from subprocess import TimeoutExpired

        while self.pipes:
            self.pipes.popitem()[1].close()
        with suppress(TimeoutExpired):
            self._process.wait(self.leave)

    def _is_silent(self) -> bool:
        return self.has_exited or "out" not in self.pipes

    def _lines(self) -> list[str]:
        """Take the complete lines out of stdout; at its end, all of them."""
        text = bytes(self.texts["out"])
        lines = text.splitlines()
        is_open = text[-1:] not in (b"", b"\n", b"\r") and not self._is_silent()
        self.texts["out"] = bytearray(lines.pop()[:_LONGEST] if is_open else b"")
        return [_decode(line) for line in lines]


def _decode(line: bytes) -> str:
    return line[:_LONGEST].decode("utf-8", "replace")


@contextmanager
def file_of(data: bytes) -> Iterator[int]:
    """Yield an open file without a name that contains *data*; ``NOTHING``: no data.

    Programs read it in blocks, and some read a pipe byte by byte.
    """
    if not data:
        yield NOTHING
        return
    handle = os.memfd_create("envcfg-data")
    try:
        os.pwrite(handle, data, 0)
        yield handle
    finally:
        os.close(handle)
