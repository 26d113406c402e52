"""From blocks of a log to the lines that may matter.

Almost all of a large log is the program's own output. Every relevant line holds one of the
short *gates* in the files of the rules. Output lines differ in their numbers and repeat
their words. Therefore only new words, without numbers, are searched in each block. In the
middle of a large file, with gigabytes of output, only one gate is searched for; the block
with a match and the next blocks are examined in full again.

Channel lines are most of a debug log and differ only in the channel number, so that each
is examined once.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, compress, count
from typing import Any

NCCL = b"NCCL "  # always a gate: NCCL's own prefix holds it
# The only gate in the middle of a file, because each gate there costs a full search.
MIDDLE = (b"NCCL",)
_CHANNEL = re.compile(rb" NCCL INFO Channel \d+(?:/\d+)?")
_PAIR = re.compile(rb" NCCL INFO Channel [^v\n]*")  # to the word via, or into receive
_RING = re.compile(rb" NCCL INFO Ring \d+ : \d+ -> \d+ -> \d+(?=\n)")
_REPEATING = (b" NCCL INFO Channel ", b" NCCL INFO Ring ")  # begins of these
_MARK = b"\x01"  # replaces the removed part of a channel line
_SAME = b"\x02"  # replaces a ring: further rings of a process show nothing new
_BEFORE, _AFTER = 2048, 8192  # bytes around a gate to take from a line without an end
# A longer line is split, because patterns may take more than linear time. Each piece
# overlaps the one before, so that text at a cut is complete in one of the two.
_PIECE = _BEFORE + _AFTER
_WORD = 512  # bytes; a longer word is cut
_MOST = 100  # pieces of one line to examine
_MANY = 1 << 16  # channel lines to remember
_PAIRS = 1 << 12  # channel lines after which further pairs of ranks are not new
_DIGITS = b"0123456789abcdef"  # addresses and ids are hexadecimal
# Lines of output differ in these characters, and lists of numbers consist of them.
_NUMBERS = b"0123456789abcdef., "
_USUAL = 1 << 12  # lines to remember, without their numbers
_USUAL_LENGTH = 1 << 9  # bytes; longer lines are not remembered
_SAMPLE = 1 << 13  # bytes that show whether a block is full of NCCL lines
_DENSE = 20  # NCCL lines in the sample of a block that make channel keys worthwhile
_NOTHING: frozenset[bytes] = frozenset()


class Scanner:
    """Finds candidate lines in blocks; caches line shapes across blocks."""

    def __init__(
        self,
        gates: Sequence[bytes],
        words: Sequence[bytes] = (),
        needles: Sequence[bytes] = (b"",),
    ) -> None:
        """Begin without any line.

        Args:
            gates: texts of relevant lines, in addition to NCCL's own prefix.
            words: texts that other parts of the check search in a block.
            needles: texts that relevant lines hold too, unless they are NCCL's.
        """
        self.gates = (NCCL, *gates)  # texts, one of which a relevant line holds
        self._gates = frozenset(self.gates)
        self._bare = [
            (gate, gate.translate(None, _NUMBERS)) for gate in (*self.gates, *words)
        ]
        self._needles = {needle.translate(None, _NUMBERS) for needle in needles}
        # The gates of each shape: a shape is a line without its numbers.
        self._known: dict[bytes, frozenset[bytes]] = {}
        self._channels = {b""}
        self._looked = 0
        self._pieces = 0  # examined pieces of the current line
        self._is_open = False  # the line began in the block before
        # Gates and words that the last block may hold; none that it holds is missing.
        self.held = _NOTHING
        # Number of lines with so many gates that their end was not examined.
        self.cut = 0
        # Number of NCCL lines that were skipped because they show nothing new.
        self.passed = 0

    def candidates(
        self, block: bytes, *, large: bool = False
    ) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield the offset and text of each candidate line in *block*.

        The third value is the text without its numbers if the line is complete, else empty.
        In a *large* log lines that show nothing new are skipped everywhere, otherwise only
        among many lines of NCCL.
        """
        if not self._is_open:
            self._pieces = 0
        self._is_open = not block.endswith(b"\n")
        self.held = _NOTHING
        keys = None
        if block.count(NCCL, 0, _SAMPLE) > _DENSE:
            marked = self._marked(block)
            self.passed += marked.count(_SAME)
            keys = marked.split(b"\n")
            if self._channels.issuperset(keys):
                return iter(())
        shapes = block.translate(None, _NUMBERS).split(b"\n")
        holds = self._hold(set(shapes))
        self.held = frozenset().union(*holds.values())
        gates = self._gates
        gated = {k: hold & gates for k, hold in holds.items() if hold & gates}
        if not gated:
            return iter(())
        return self._lines(block.split(b"\n"), shapes, gated, keys, large=large)

    def _marked(self, text: bytes) -> bytes:
        """Return *text* without the parts in which lines show nothing new."""
        # After many of them new pairs of ranks matter no longer, but transports do.
        same = _CHANNEL if self._looked < _PAIRS else _PAIR
        return _RING.sub(_SAME, same.sub(_MARK, text))

    def _hold(self, shapes: set[bytes]) -> dict[bytes, frozenset[bytes]]:
        """Return the gates that each of *shapes* contains; shapes without a gate are
        left out.

        A gate without numbers is in the line without numbers if the gate is in the line.
        """
        cache = self._known
        # A full cache is cleared, because the usual lines return at once.
        if len(cache) > _USUAL:
            cache.clear()
        news = shapes.difference(cache)
        text = b"\n".join(news)
        gates_found = [(gate, bare) for gate, bare in self._bare if bare in text]
        new = {
            shape: frozenset(gate for gate, bare in gates_found if bare in shape)
            for shape in news
        }
        for shape, gates in new.items():
            # A gate alone is not enough: other output holds some of them too.
            own = NCCL in gates or any(needle in shape for needle in self._needles)
            new[shape] = gates if own else gates - self._gates
        holds = {shape: gates for shape, gates in new.items() if gates}
        for shape in shapes.intersection(cache):
            if gates := cache[shape]:
                holds[shape] = gates
        cache.update((k, v) for k, v in new.items() if len(k) < _USUAL_LENGTH)
        return holds

    def _lines(
        self,
        lines: Sequence[bytes],
        shapes: Sequence[bytes],
        gated: Mapping[bytes, frozenset[bytes]],
        keys: Sequence[bytes] | None,
        *,
        large: bool,
    ) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield the lines with a *gated* shape and a key that is not yet known."""
        channels = self._channels
        starts = list(accumulate(map(len, lines), initial=0))
        for number in compress(count(), map(gated.__contains__, shapes)):
            line = lines[number]
            if keys:
                key = keys[number]
                if key in channels:
                    continue
            elif large and any(part in line for part in _REPEATING):
                key = self._marked(line + b"\n")[:-1]
                self.passed += 1
                if key in channels:
                    continue
                self.passed -= _SAME not in key
            else:
                key = b" "
            position = starts[number] + number
            if len(line) > _AFTER or (self._pieces and not number):
                self._pieces = 0 if number else self._pieces
                for start, part in self._gated(line, gated[shapes[number]]):
                    yield position + start, part, b""
            # A long line is split, and its pieces have no common shape.
            elif _MARK in key or _SAME in key:
                if len(channels) > _MANY:
                    channels.clear()
                    channels.add(b"")
                channels.add(key)
                self._looked += _MARK in key
                self.passed -= key.count(_SAME)
                yield position, line, line.translate(None, _DIGITS)
            elif NCCL in line or any(gate in line for gate in gated[shapes[number]]):
                yield position, line, line.translate(None, _DIGITS)

    def _gated(
        self, line: bytes, gates: Iterable[bytes]
    ) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of a long *line* around its *gates*."""
        results = set()
        for gate in gates:
            position = line.find(gate)
            while position >= 0:
                end = min(len(line), position + _AFTER)
                results.add((max(0, position - _BEFORE), end))
                position = line.find(gate, end)
        for start, end in _joined(sorted(results)):
            for piece in _pieces(line, start, end):
                # The first piece beyond the limit counts the line once.
                self._pieces += 1
                self.cut += self._pieces == _MOST + 1
                if self._pieces > _MOST:
                    break
                yield start, piece


def _pieces(block: bytes, start: int, end: int) -> Iterator[bytes]:
    """Yield *block* from *start* to *end*, split into pieces if it is long."""
    if end - start <= 2 * _PIECE:
        yield _whole_words(block, start, end)
        return
    for position in range(start, end - _BEFORE, _AFTER):
        yield _whole_words(block, position, min(position + _PIECE, end))


def _whole_words(block: bytes, start: int, end: int) -> bytes:
    """Return a part of *block* without the words that are cut at its ends.

    Half of a host's name would be the name of another host.
    """
    if start and block[start - 1] not in b"\n ":
        start = block.find(b" ", start, start + _WORD) + 1 or start
    if end < len(block) and block[end] not in b"\n ":
        cut = block.rfind(b" ", max(start, end - _WORD), end)
        end = cut if cut >= 0 else end
    return block[start:end]


def _joined(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join spans that overlap: pieces of one line without an end."""
    last: tuple[int, int] | None = None
    for start, end in spans:
        if last and start < last[1]:
            last = last[0], max(end, last[1])
        else:
            if last:
                yield last
            last = start, end
    if last:
        yield last


class Seeker:
    """Searches a buffer for gates by the C library's memmem.

    It is faster than Python's own search, and most of the time for a large file is this
    search. Python's search is used if the C library has no memmem.
    """

    def __init__(self, buffer: bytearray) -> None:
        """Search *buffer*, which must keep its size."""
        import ctypes

        self._buffer = buffer
        self._memmem: Any = None
        with suppress(AttributeError, OSError):
            self._memmem = ctypes.CDLL(None).memmem
        if self._memmem is not None:
            size, pointer = ctypes.c_size_t, ctypes.c_void_p
            self._memmem.argtypes = [pointer, size, ctypes.c_char_p, size]
            self._memmem.restype = pointer
            # The buffer keeps its address as long as this object refers to it.
            self._hold = (ctypes.c_char * len(buffer)).from_buffer(buffer)
            self._address = ctypes.addressof(self._hold)

    def finds(self, gates: Sequence[bytes], end: int) -> bool:
        """Return whether one of *gates* is in the first *end* bytes."""
        if self._memmem is None:
            return any(self._buffer.find(gate, 0, end) >= 0 for gate in gates)
        memmem, address = self._memmem, self._address
        return any(memmem(address, end, gate, len(gate)) is not None for gate in gates)
