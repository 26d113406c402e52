"""Blocks of a log to the lines that may mean something.

Almost all of a large log is the program's own output. Every line of meaning holds one of
the short *gates* that stand in the files of the rules. Output differs in its numbers and
says the same otherwise: of each block, only what its lines say without their numbers, and
what none before has said, is searched. In the middle
of a large file, where gigabytes of output stand, only one gate is searched for; the block
with a hit and what follows are looked at in full again.

Channel lines are most of a debug log and differ in the number of the channel only, so that
each is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, compress, count
from typing import Any

NCCL = b"NCCL "  # a gate whatever the rules say: NCCL's own prefix holds it
# Each takes longer than all else that is done for most of a large file.
MIDDLE = (b"NCCL",)
_CHANNEL = re.compile(rb" NCCL INFO Channel \d+(?:/\d+)?")
_PAIR = re.compile(rb" NCCL INFO Channel [^v\n]*")  # to the word via, or into receive
_RING = re.compile(rb" NCCL INFO Ring \d+ : \d+ -> \d+ -> \d+(?=\n)")
_MARK = b"\x01"  # what stands for the part of a channel line that is left out
_SAME = b"\x02"  # and for a ring: of one process, the next says nothing new
_BEFORE, _AFTER = 2048, 8192  # of a line that has no end, what is taken around a gate
# A longer one comes in pieces: the time that a pattern takes may grow faster than its text.
# Each begins within the one before, so that what is cut stands whole in one of the two.
_PIECE = _BEFORE + _AFTER
_WORD = 512  # bytes; a longer word is cut
_MOST = 100  # pieces of one line that are looked at
_MANY = 1 << 16  # channel lines that are remembered
_PAIRS = 1 << 12  # channel lines after which their pairs of ranks are no news
_DIGITS = b"0123456789abcdef"  # addresses and ids are hexadecimal
_NUMBERS = (
    b"0123456789abcdef., "  # what lines of output differ in, and lists of numbers
)
_USUAL = 1 << 12  # lines that are remembered, without their numbers
_USUAL_LENGTH = 1 << 9  # bytes; a longer one is not
_SAMPLE = 1 << 13  # bytes that tell whether a block is full of NCCL lines
_DENSE = 20  # NCCL lines in the sample of a block whose channels are told apart
_NOTHING: frozenset[bytes] = frozenset()


class Scanner:
    """Finds candidate lines in blocks; remembers what lines said across blocks.

    Attributes:
        gates: what a line must hold one of.
        held: of gates and words, those that the last block may hold, among them each that
            it does.
        cut: lines so full of gates that their end was not looked at.
        passed: lines of NCCL that were passed over, as they say nothing new.
    """

    def __init__(
        self,
        gates: Sequence[bytes],
        words: Sequence[bytes] = (),
        needles: Sequence[bytes] = (b"",),
    ) -> None:
        """Begin with no line seen.

        Args:
            gates: what lines to look at hold; NCCL's own prefix is one beside them.
            words: what others look for in a block.
            needles: what they hold, too, if they are not NCCL's.
        """
        self.gates = (NCCL, *gates)
        self._gates = frozenset(self.gates)
        self._bare = [
            (each, each.translate(None, _NUMBERS)) for each in (*self.gates, *words)
        ]
        self._needles = {each.translate(None, _NUMBERS) for each in needles}
        # What lines say without their numbers, and what of the above that holds.
        self._known: dict[bytes, frozenset[bytes]] = {}
        self._channels = {b""}
        self._looked = 0
        self._pieces = 0  # of the line that is looked at
        self._is_open = False  # it has begun in the block before
        self.held = _NOTHING
        self.cut = 0
        self.passed = 0

    def candidates(self, block: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield of each line to look at where in the block it begins, and its text.

        The third is the text without its numbers, where the line is whole.
        """
        if not self._is_open:
            self._pieces = 0
        self._is_open = not block.endswith(b"\n")
        self.held = _NOTHING
        keys = None
        if block.count(NCCL, 0, _SAMPLE) > _DENSE:
            # After many of them it is no news who sends to whom, but by what still is.
            same = _CHANNEL if self._looked < _PAIRS else _PAIR
            marked = _RING.sub(_SAME, same.sub(_MARK, block))
            self.passed += marked.count(_SAME)
            keys = marked.split(b"\n")
            if self._channels.issuperset(keys):
                return iter(())
        shapes = block.translate(None, _NUMBERS).split(b"\n")
        holds = self._hold(set(shapes))
        self.held = frozenset().union(*holds.values())
        gates = self._gates
        gated = {k: held & gates for k, held in holds.items() if held & gates}
        if not gated:
            return iter(())
        return self._lines(block.split(b"\n"), shapes, gated, keys)

    def _hold(self, shapes: set[bytes]) -> dict[bytes, frozenset[bytes]]:
        """Return what each of *shapes* may hold, without those that hold nothing.

        What holds a gate holds it when numbers are left out of both, too.
        """
        known = self._known
        if len(known) > _USUAL:
            known.clear()
        news = shapes.difference(known)
        text = b"\n".join(news)
        found = [(each, bare) for each, bare in self._bare if bare in text]
        new = {
            shape: frozenset(each for each, bare in found if bare in shape)
            for shape in news
        }
        for shape, held in new.items():
            own = NCCL in held or any(each in shape for each in self._needles)
            new[shape] = held if own else held - self._gates
        holds = {shape: held for shape, held in new.items() if held}
        for shape in shapes.intersection(known):
            if held := known[shape]:
                holds[shape] = held
        known.update((k, v) for k, v in new.items() if len(k) < _USUAL_LENGTH)
        return holds

    def _lines(
        self,
        lines: Sequence[bytes],
        shapes: Sequence[bytes],
        gated: Mapping[bytes, frozenset[bytes]],
        keys: Sequence[bytes] | None,
    ) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield the lines of which the shape is *gated*, and the key is no news."""
        known = self._channels
        starts = list(accumulate(map(len, lines), initial=0))
        for number in compress(count(), map(gated.__contains__, shapes)):
            key = keys[number] if keys else b" "
            if key in known:
                continue
            line = lines[number]
            at = starts[number] + number
            if len(line) > _AFTER or (self._pieces and not number):
                self._pieces = 0 if number else self._pieces
                for start, part in self._gated(line, gated[shapes[number]]):
                    yield at + start, part, b""
            elif _MARK in key or _SAME in key:
                if len(known) > _MANY:
                    known.clear()
                    known.add(b"")
                known.add(key)
                self._looked += _MARK in key
                self.passed -= key.count(_SAME)
                yield at, line, line.translate(None, _DIGITS)
            elif NCCL in line or any(gate in line for gate in gated[shapes[number]]):
                yield at, line, line.translate(None, _DIGITS)

    def _gated(
        self, line: bytes, gates: Iterable[bytes]
    ) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of a long *line* around its *gates*."""
        found = set()
        for gate in gates:
            at = line.find(gate)
            while at >= 0:
                end = min(len(line), at + _AFTER)
                found.add((max(0, at - _BEFORE), end))
                at = line.find(gate, end)
        for start, end in _joined(sorted(found)):
            for piece in _pieces(line, start, end):
                self._pieces += 1
                self.cut += self._pieces == _MOST + 1
                if self._pieces > _MOST:
                    break
                yield start, piece


def _pieces(block: bytes, start: int, end: int) -> Iterator[bytes]:
    """Yield *block* from *start* to *end*, in pieces where it is long."""
    if end - start <= 2 * _PIECE:
        yield _whole_words(block, start, end)
        return
    for at in range(start, end - _BEFORE, _AFTER):
        yield _whole_words(block, at, min(at + _PIECE, end))


def _whole_words(block: bytes, start: int, end: int) -> bytes:
    """Return a part of *block* without the words that are cut at its ends.

    Half of a host's name is the name of another host.
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

    It skips more of the text than Python's own search does, and most of a large file is
    nothing but this search. Where the C library has none, Python's is used.
    """

    def __init__(self, buffer: bytearray) -> None:
        """Search *buffer*, which must stay as large as it is."""
        import ctypes

        self._buffer = buffer
        self._memmem: Any = None
        with suppress(AttributeError, OSError):
            self._memmem = ctypes.CDLL(None).memmem
        if self._memmem is not None:
            size, pointer = ctypes.c_size_t, ctypes.c_void_p
            self._memmem.argtypes = [pointer, size, ctypes.c_char_p, size]
            self._memmem.restype = pointer
            self._hold = (ctypes.c_char * len(buffer)).from_buffer(buffer)
            self._address = ctypes.addressof(self._hold)

    def finds(self, gates: Sequence[bytes], end: int) -> bool:
        """Return whether one of *gates* is in the first *end* bytes."""
        if self._memmem is None:
            return any(self._buffer.find(gate, 0, end) >= 0 for gate in gates)
        memmem, address = self._memmem, self._address
        return any(memmem(address, end, gate, len(gate)) is not None for gate in gates)
