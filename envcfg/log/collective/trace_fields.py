"""Pickles of values without code, and the limits of a trace from outside.

A pickle is a program, and Python's unpickler runs it. Even without classes it can use any
amount of memory, as for a memo of 2^31 places in C, or of time, as for keys with equal
hashes, or keys that hold themselves many times. The subclass here knows only the
instructions that build texts, numbers, lists and dictionaries, accepts only texts as
keys. Source: CPython 3.13 Lib/pickle.py; PyTorch writes protocol 2
(torch/csrc/jit/serialization/pickler.cpp).
"""

import io
import pickle
import struct
from collections.abc import Callable
from typing import Any, ClassVar

from envcfg.common.errors import EXIT_CANNOT, EnvcfgError

# Bytes of one trace; a dump of 2000 operations with stacks has some 4 MB.
LARGEST = 1 << 26
_STEPS = 1 << 23  # instructions of one byte; one entry of a dump has some hundred
_SHORT = tuple(bytes([code]) for code in b"()]}N\x85\x86\x87\x88\x89\x94")
_PLAIN = b"().NGJKMXaehjqrstu]}\x80\x85\x86\x87\x88\x89\x8a\x8c\x8d\x94\x95"
_CODE = (
    b"cRbio\x81\x82\x83\x84\x92\x93PQ\x97\x98"  # these would import or call something
)
_DAMAGE = (
    IndexError, struct.error, UnicodeDecodeError, TypeError, KeyError, AttributeError,
    ValueError, OverflowError, EOFError, pickle.UnpicklingError,
)  # fmt: skip


class TraceError(EnvcfgError):
    """A text or dump with an invalid form, or too large to read."""

    exit_code = EXIT_CANNOT


def check_size(size: int) -> None:
    """Refuse a trace of *size* bytes if it is too large for the memory.

    Raises:
        TraceError: it is too large.
    """
    if size > LARGEST:
        msg = f"larger than {LARGEST >> 20} MiB"
        raise TraceError(msg, hint="give a part of it, or the file of one rank")


def load_plain(data: bytes) -> object:
    """Return the value that *data* pickles: of texts, numbers, lists, tuples, dictionaries.

    Raises:
        TraceError: it is damaged, has too many values, or does more than build them.
    """
    # Each instruction makes a value of up to 100 bytes; texts hold few of these
    # characters.
    if sum(map(data.count, _SHORT)) > _STEPS:
        msg = "a pickle of too many values"
        raise TraceError(msg, hint="set TORCH_FR_BUFFER_SIZE lower")
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except _DAMAGE as err:
        msg = "a damaged pickle, or one that was cut off"
        raise TraceError(msg, hint="copy it again, or take another rank's") from err


class _Instructions(dict[int, Callable[[Any], None]]):
    """The instructions for plain values, by their numbers."""

    def __missing__(self, code: int) -> Callable[[Any], None]:
        does = "would run code" if code in _CODE else "is not a dump of plain values"
        msg = f"a pickle that {does} (instruction 0x{code:02x})"
        raise TraceError(msg, hint="only what PyTorch wrote itself is read")


# The variant in Python, because the one in C has no table of instructions to restrict.
_Unpickler: Any = pickle._Unpickler  # noqa: SLF001


class _PlainUnpickler(_Unpickler):  # type: ignore[misc]  # of a class without types
    """Python's own unpickler, restricted to plain values."""

    dispatch: ClassVar = _Instructions(
        {code: _Unpickler.dispatch[code] for code in _PLAIN}
    )

    def _set_items(self) -> None:
        items = self.pop_mark()
        # Other keys may all have the same hash, or take forever to hash.
        if not all(type(key) is str for key in items[::2]):
            raise TypeError
        self.stack[-1].update(zip(items[::2], items[1::2], strict=False))

    def _set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        if type(key) is not str:
            raise TypeError
        self.stack[-1][key] = value

    dispatch |= {ord("u"): _set_items, ord("s"): _set_item}
