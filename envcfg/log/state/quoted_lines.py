"""The process of each line, and a cache of the effect of repeated lines."""

from envcfg.log.read.process_facts import ProcessFacts, Room
from envcfg.log.state.process import Process

_INFO = b" NCCL INFO "
_OFTEN = 32  # times that a line is read before its effect is cached
_MANY = 1 << 16  # entries of each cache


class Speakers:
    """Processes with whole lines of their own, and the cached effects of these lines."""

    def __init__(self, room: Room) -> None:
        """Begin without processes; *room* limits those of the job."""
        self._room = room
        self._known: dict[bytes, Process] = {}  # by HOST:PID
        self._dull: set[bytes] = set()  # lines without numbers that have no effect
        self._said: dict[bytes, int] = {}  # messages, and how often they came

    def forget(self) -> None:
        """Forget the processes, because another file begins."""
        self._known.clear()

    def goes_on(self, line: bytes, shape: bytes) -> bool:
        """Skip *line* if it has no effect or a cached one; return whether it was
        skipped.

        Args:
            line: of a log, unchanged.
            shape: the line without its numbers.
        """
        # The process is HOST:PID, so the second colon ends it.
        position = line.find(b":", line.find(b":") + 1)
        process = self._known.get(line[:position])
        if process is None:
            return False
        if shape not in self._dull or b"[rep" in line:
            head, _, message = line[position:].partition(_INFO)
            thread, _, device = head.partition(b" ")
            after = process.facts.steps.get((message, device))
            # The next line of a process that warned shows how the warning ended.
            if after is None or process.warned or process.raised:
                return False
            # Other forms of the prefix need the full parser.
            if not (thread[1:].isdigit() and device[1:-1].isdigit()):
                return False
            process.facts = after
            process.is_bare = process.is_bare and b"network" not in message
        process.records += 1
        return True

    def hear(
        self,
        process: Process,
        before: ProcessFacts | None,
        line: bytes,
        shape: bytes,
        *,
        dull: bool,
    ) -> None:
        """Cache the effect of a line.

        Args:
            process: its writer.
            before: facts before the line; None if it added more than facts.
            line: unchanged.
            shape: without its numbers.
            dull: True if it has no effect, whatever its numbers are.
        """
        if max(len(self._known), len(self._said), len(self._dull)) > _MANY:
            for cache in (self._known, self._said, self._dull):
                cache.clear()
        position = line.find(b":", line.find(b":") + 1)
        self._known[line[:position]] = process
        after = process.facts
        if before is after and dull:
            self._dull.add(shape)
        elif before and before.is_shared and after.is_shared:
            head, _, message = line[position:].partition(_INFO)
            often = self._said[message] = self._said.get(message, 0) + 1
            if often > _OFTEN and self._room.takes("step"):
                before.steps[message, head.partition(b" ")[2]] = after
