"""A trace is from outside: how large it may be, its fields as they should be, or none.

Plain values come out of a pickle without Python's own unpickler. A pickle is a program.
Python's unpickler runs it, and even one that finds no class can be made to take any amount
of memory (a memo of 2^31 places, a text said to be of many GB) or of time (keys that all
hash alike, or that hold themselves many times over): keys are texts. This one knows the two
dozen instructions that build texts, numbers, lists and dictionaries, and stops at any
other. Source: CPython 3.13 Lib/pickle.py; PyTorch writes protocol 2
(torch/csrc/jit/serialization/pickler.cpp).
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from envcfg.errors import EXIT_CANNOT, EnvcfgError

# Bytes of one trace; a dump of 2000 operations with stacks is some 4 MB.
LARGEST = 1 << 26
_FAR = 1 << 63  # what no number of a library reaches
_LONG = 4096  # letters of a name
_STEPS = 1 << 23  # instructions; one entry of a dump has some hundred
_MARK = object()
_CODE = b"cRbio\x81\x82\x83\x84\x92\x93PQ\x97\x98"  # would find or call something
_INTEGERS = {ord("J"): "<i", ord("K"): "<B", ord("M"): "<H"}
_TEXTS = {ord("X"): "<I", 0x8C: "<B", 0x8D: "<Q"}
_PUTS = {ord("q"): "<B", ord("r"): "<I"}
_GETS = {ord("h"): "<B", ord("j"): "<I"}
_VALUES = {ord("N"): None, 0x88: True, 0x89: False}
_TUPLES = {0x85: 1, 0x86: 2, 0x87: 3}
_SKIPPED = {0x80: 1, 0x95: 8}  # version and frames: bytes that they have


class TraceError(EnvcfgError):
    """A text or dump that is not what it should be, or too large to be read."""

    exit_code = EXIT_CANNOT


def check_size(size: int) -> None:
    """Refuse a trace of *size* bytes if that is too much to be held in memory.

    Raises:
        TraceError: it is.
    """
    if size > LARGEST:
        msg = f"larger than {LARGEST >> 20} MiB"
        raise TraceError(msg, hint="give a part of it, or the file of one rank")


def mapping(value: object) -> Mapping[str, Any]:
    """Return *value* if it is a mapping; else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings of a list; of anything else, none."""
    return [each for each in sequence(value) if isinstance(each, dict)]


def sequence(value: object) -> Sequence[Any]:
    """Return *value* if it is a list or tuple; else an empty one."""
    return value if isinstance(value, list | tuple) else ()


def integer(value: object, *, base: int = 10) -> int | None:
    """Return a whole number, or a text of one; None for anything else, or too large."""
    if isinstance(value, str) and len(value) < 32:
        try:
            value = int(value, base)
        except ValueError:
            return None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    # A number of 64 bits may be written as one with a sign, or without.
    return value if -_FAR <= value < 2 * _FAR else None


def number(value: object) -> float | None:
    """Return a number that is finite and not negative; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < float(_FAR) else None


def text_of(value: object) -> str:
    """Return *value* if it is a text, cut to a readable length; else nothing."""
    return value[:_LONG] if isinstance(value, str) else ""


def load_plain(data: bytes) -> object:
    """Return the value that *data* pickles: of texts, numbers, lists, tuples, dictionaries.

    Raises:
        TraceError: it is damaged, too large, or does more than build such values.
    """
    check_size(len(data))
    try:
        return _run(data)
    except (IndexError, struct.error, UnicodeDecodeError, TypeError, KeyError) as err:
        msg = "a damaged pickle, or one that was cut off"
        raise TraceError(msg, hint="copy it again, or take another rank's") from err


def _run(data: bytes) -> object:
    """Return the value that the instructions of *data* build.

    Each instruction is a branch, those that stand most often in a dump first: texts and
    numbers out of the memo and into it, then marks and what is built of all since a mark.
    None of them is Python's own, so that none can be made to do more than its branch says;
    each checks what it takes off the stack. What is left is refused by its number.
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    at = 0

    def read(form: str) -> Any:  # noqa: ANN401  # a number
        nonlocal at
        (value,) = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return value

    def taken(count: int) -> bytes:
        nonlocal at
        if count > len(data) - at:
            raise IndexError
        at += count
        return data[at - count : at]

    def since_mark() -> list[Any]:
        for back in range(len(stack) - 1, -1, -1):
            if stack[back] is _MARK:
                items = stack[back + 1 :]
                del stack[back:]
                return items
        raise IndexError

    for _ in range(_STEPS):
        code = data[at]
        at += 1
        if code in _GETS:
            stack.append(memo[read(_GETS[code])])
        elif code in _PUTS:
            memo[read(_PUTS[code])] = stack[-1]
        elif code == 0x94:
            memo[len(memo)] = stack[-1]
        elif code in _TEXTS:
            stack.append(taken(read(_TEXTS[code])).decode("utf-8", "surrogatepass"))
        elif code in _INTEGERS:
            stack.append(read(_INTEGERS[code]))
        elif code == 0x8A:
            stack.append(int.from_bytes(taken(read("<B")), "little", signed=True))
        elif code == ord("G"):
            stack.append(read(">d"))
        elif code in _VALUES:
            stack.append(_VALUES[code])
        elif code == ord("("):
            stack.append(_MARK)
        elif code == ord("]"):
            stack.append([])
        elif code == ord("}"):
            stack.append({})
        elif code == ord(")"):
            stack.append(())
        elif code in _TUPLES:
            count = _TUPLES[code]
            if len(stack) < count:
                raise IndexError
            stack[-count:] = [tuple(stack[-count:])]
        elif code == ord("t"):
            stack.append(tuple(since_mark()))
        elif code in b"ea":
            items = since_mark() if code == ord("e") else [stack.pop()]
            _held(stack, list).extend(items)
        elif code in b"us":
            items = since_mark() if code == ord("u") else [stack.pop(-2), stack.pop()]
            if not all(type(each) is str for each in items[::2]):
                raise TypeError
            _held(stack, dict).update(zip(items[::2], items[1::2], strict=False))
        elif code in _SKIPPED:
            taken(_SKIPPED[code])
        elif code == ord("."):
            if len(stack) != 1 or stack[0] is _MARK:
                raise IndexError
            return stack[0]
        else:
            does = (
                "would run code" if code in _CODE else "is not a dump of plain values"
            )
            msg = f"a pickle that {does} (instruction 0x{code:02x})"
            raise TraceError(msg, hint="only what PyTorch wrote itself is read")
    msg = "a pickle of too many values"
    raise TraceError(msg, hint="set TORCH_FR_BUFFER_SIZE lower")


def _held(stack: list[Any], kind: type) -> Any:  # noqa: ANN401  # of that kind
    if type(stack[-1]) is not kind:
        raise TypeError
    return stack[-1]
