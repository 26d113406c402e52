"""What a process writes, taken as it comes: its lines one by one, its last errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen


class Output:
    """The stdout and stderr of a process, which are pipes, each read by a thread.

    Attributes:
        errors: the last lines of stderr.
    """

    def __init__(self, process: Popen[str], kept: int) -> None:
        """Begin to read what *process* writes; of its errors the last *kept* lines stay."""
        self.errors: deque[str] = deque(maxlen=kept)
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._streams = (process.stdout or (), process.stderr or ())
        self._readers = [
            Thread(target=read, args=(stream,), daemon=True)
            for read, stream in zip(
                (self._read, self._read_errors), self._streams, strict=True
            )
        ]
        for reader in self._readers:
            reader.start()

    def line(self, timeout: float) -> str | None:
        """Return the next line, or None when none came within *timeout* seconds.

        Raises:
            EOFError: there are no more.
        """
        try:
            line = self._lines.get(timeout=max(0.0, timeout))
        except Empty:
            return None
        if line is None:
            raise EOFError
        return line

    def close(self, seconds: float) -> bool:
        """Wait for the end of both, so long for each; return whether both have ended."""
        for reader, stream in zip(self._readers, self._streams, strict=True):
            reader.join(seconds)
            if not (reader.is_alive() or isinstance(stream, tuple)):
                stream.close()
        return not any(reader.is_alive() for reader in self._readers)

    def _read(self, stream: Iterable[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self, stream: Iterable[str]) -> None:
        for line in stream:
            self.errors.append(line.rstrip())
