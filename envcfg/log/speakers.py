"""Who speaks, and lines that say what others have said, which are read once for all."""

from __future__ import annotations

from envcfg.log.facts import Facts, Room
from envcfg.log.process import Process

_INFO = b" NCCL INFO "
_OFTEN = 32  # times that a line is read until it is known by heart
_MANY = 1 << 16  # of each that are remembered


class Speakers:
    """Processes that wrote lines in which nothing else stands, and what these come to."""

    def __init__(self, room: Room) -> None:
        """Begin with none; *room* is that of the job."""
        self._room = room
        self._known: dict[bytes, Process] = {}  # by HOST:PID
        self._dull: set[bytes] = set()  # lines without their numbers, that say nothing
        self._said: dict[bytes, int] = {}  # what lines say, and how often

    def forget(self) -> None:
        """Forget who spoke: another file begins."""
        self._known.clear()

    def goes_on(self, line: bytes, shape: bytes) -> bool:
        """Take in *line* if it says nothing, or what others said; return whether it does.

        Args:
            line: of a log, as it stands.
            shape: the line without its numbers.
        """
        at = line.find(b":", line.find(b":") + 1)
        process = self._known.get(line[:at])
        if process is None:
            return False
        if shape not in self._dull or b"[rep" in line:
            head, _, message = line[at:].partition(_INFO)
            thread, _, device = head.partition(b" ")
            after = process.facts.steps.get((message, device))
            # What it does next tells of a process that warned how that ended.
            if after is None or process.warned or process.raised:
                return False
            if not (thread[1:].isdigit() and device[1:-1].isdigit()):
                return False
            process.facts = after
        process.records += 1
        return True

    def hear(
        self,
        process: Process,
        before: Facts | None,
        line: bytes,
        shape: bytes,
        *,
        dull: bool,
    ) -> None:
        """Remember what a line came to.

        Args:
            process: that wrote it.
            before: what was known of it; None where it learned what is no fact, too.
            line: as it stands.
            shape: without its numbers.
            dull: it says nothing, whatever its numbers are.
        """
        if max(len(self._known), len(self._said), len(self._dull)) > _MANY:
            for known in (self._known, self._said, self._dull):
                known.clear()
        at = line.find(b":", line.find(b":") + 1)
        self._known[line[:at]] = process
        after = process.facts
        if before is after and dull:
            self._dull.add(shape)
        elif before and before.is_shared and after.is_shared:
            head, _, message = line[at:].partition(_INFO)
            often = self._said[message] = self._said.get(message, 0) + 1
            if often > _OFTEN and self._room.takes("step"):
                before.steps[message, head.partition(b" ")[2]] = after
