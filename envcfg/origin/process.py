"""A process that may take so long and say so much, and is gone afterwards."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess

_PIECE = 1 << 16
_MOST_SAID = 4096  # bytes of its last words


class Ended(NamedTuple):
    """How a process ended.

    Attributes:
        code: its exit code, or minus the signal.
        out: the beginning of what it wrote.
        said: its last words on stderr, without progress, on one line.
        is_cut: it wrote more than was asked for.
        is_late: its time was over.
    """

    code: int
    out: bytes
    said: str
    is_cut: bool
    is_late: bool


def run_bounded(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    folder: str,
    most: int,
    seconds: float,
    in_terminal: bool,
    progress: Callable[[str], None] | None = None,
) -> Ended:
    """Run *argv* to its end, or end it.

    Args:
        argv: the command.
        environ: its environment.
        folder: its current folder.
        most: bytes of its output that are wanted.
        seconds: after which it is ended.
        in_terminal: it stays in the session, so that it may ask there; else in one of its
            own, which ends with it.
        progress: takes each line of stderr as it comes, rewritten ones too.
    """
    import subprocess

    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environ),
        cwd=folder,
        start_new_session=not in_terminal,
    )
    try:
        out, said, is_late = _read(child, most, time.monotonic() + seconds, progress)
        if is_late or len(out) > most:
            _end(child, own_session=not in_terminal)
        code = child.wait()
    finally:  # a signal, or the reader's own error
        _end(child, own_session=not in_terminal)
    return Ended(code, out[:most], _last_words(said), len(out) > most, is_late)


def _read(
    child: subprocess.Popen[bytes],
    most: int,
    deadline: float,
    progress: Callable[[str], None] | None,
) -> tuple[bytes, bytes, bool]:
    if child.stdout is None or child.stderr is None:
        raise AssertionError
    out, said = bytearray(), bytearray()
    with selectors.DefaultSelector() as waiting:
        waiting.register(child.stdout, selectors.EVENT_READ, out)
        waiting.register(child.stderr, selectors.EVENT_READ, said)
        while waiting.get_map():
            if (left := deadline - time.monotonic()) <= 0:
                return bytes(out), bytes(said), True
            for key, _ in waiting.select(left):
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    waiting.unregister(key.fileobj)
                key.data.extend(piece)
                if key.data is out and len(out) > most:
                    return bytes(out), bytes(said), False
                if key.data is said:
                    del said[:-_MOST_SAID]
                    if progress and (lines := _lines(bytes(said))):
                        progress(lines[-1])
    return bytes(out), bytes(said), False


def _end(child: subprocess.Popen[bytes], *, own_session: bool) -> None:
    if child.returncode is None:
        try:
            if own_session:
                os.killpg(child.pid, signal.SIGKILL)
            else:
                child.kill()
        except ProcessLookupError:
            pass
        child.wait()
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()


def _lines(said: bytes) -> list[str]:
    lines = said.decode("utf-8", "replace").replace("\r", "\n").split("\n")
    return [each.strip() for each in lines if each.strip()]


def _last_words(said: bytes) -> str:
    """Return the lines that tell of errors, or the last one."""
    lines = _lines(said)
    telling = [
        each.split(": ", 1)[1]
        for each in lines
        if each.startswith(("fatal: ", "error: ", "ssh: ", "remote: ERROR"))
    ]
    return "; ".join(telling[-3:] or lines[-1:])
