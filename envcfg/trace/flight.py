"""PyTorch's Flight Recorder: the last operations of each rank, as records.

With ``TORCH_FR_BUFFER_SIZE`` (in older PyTorch ``TORCH_NCCL_TRACE_BUFFER_SIZE``) set, each
process keeps them, and writes them to a file whose name ends in its rank when a collective
times out; ``torchfrtrace`` reads these. The file is a pickle, what PyTorch's server for
debugging gives is JSON. Nothing but the bytes that are handed in is read, and nothing of
them is run. Source: pytorch v2.13.0 torch/csrc/distributed/c10d/FlightRecorderDetail.hpp
(format 2.10).
"""

import re
from collections.abc import Mapping
from itertools import accumulate, islice
from typing import Any, NamedTuple

from envcfg.trace.fields import (
    TraceError,
    check_size,
    integer,
    load_plain,
    mapping,
    mappings,
    sequence,
    text_of,
)

_FORMAT = "2"  # the major version of what is known here
_MOST = 1 << 17  # operations of one rank
_TENSORS, _DIMENSIONS, _FRAMES = 1 << 10, 1 << 6, 1 << 6  # of an operation, at most
# Of all operations: a list in a pickle may stand in it many times, and take no room there.
_SIZES = 1 << 22
_RANK = re.compile(r"(\d{1,9})(?:\.json|\.pkl|\.pickle)?$")
# Of these an operation has events, by which PyTorch sees its end; of gloo and others it is
# retired at its end, good or bad.
_WATCHED = frozenset(("nccl", "xccl"))
_NUMBER = re.compile(r"\d{1,9}")
# Frames of these are between the program and the operation.
_WITHIN = ("/torch/", "/typing_extensions.py", "/contextlib.py", "/multiprocessing/")
DEFAULT = "default_pg"  # how PyTorch describes the group of all ranks


class FlightEntry(NamedTuple):
    """One operation of one rank.

    Attributes:
        group: name and description of its process group.
        seq: its number among the collectives of the group, from 1.
        p2p_seq: its number among sends and receives of the group.
        is_p2p: it is one of the latter, and of ``seq`` only the last is known.
        backend: ``nccl``, ``gloo`` ...
        name: of the operation, as in ``all_reduce`` or ``send 0->1``.
        state: ``scheduled``, ``started`` or ``completed``.
        retired: PyTorch looks at it no more.
        done: it has ended, as far as is known.
        input_sizes: of each tensor.
        dtypes: of the inputs, then of the outputs, as in ``Float``.
        created: when it was called, in ns since 1970; None where unknown.
        place: ``FILE:LINE`` of the program that called it; empty where not recorded.
    """

    group: tuple[str, str]
    seq: int
    p2p_seq: int
    is_p2p: bool
    backend: str
    name: str
    state: str
    retired: bool
    done: bool
    input_sizes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    created: int | None
    place: str

    @property
    def timed_out(self) -> bool:
        """Whether PyTorch gave it up: retired and not completed, of NCCL."""
        given_up = self.retired and self.state != "completed"
        return given_up and self.backend in _WATCHED

    @property
    def said(self) -> str:
        """The operation and its sizes, as in ``all_reduce of 16 Float``."""
        sizes = " + ".join("x".join(map(str, each)) or "1" for each in self.input_sizes)
        kind = f" {self.dtypes[0]}" if self.dtypes else ""
        return f"{self.name} of {sizes}{kind}" if sizes else self.name


class FlightDump(NamedTuple):
    """What one rank recorded.

    Attributes:
        rank: its number in the job.
        ranks: of each group, by name; none where they are not known.
        entries: operations in their order; a full buffer has lost the first.
        is_full: it has.
    """

    rank: int
    ranks: Mapping[str, tuple[int, ...]]
    entries: tuple[FlightEntry, ...]
    is_full: bool = False


def is_flight(head: bytes) -> bool:
    """Return whether a file that begins with *head* (some 500 bytes) may be a dump."""
    if head.startswith(b"\x80"):
        return b"version" in head and (b"pg_config" in head or b"entries" in head)
    begin = head.lstrip()
    # Keys of the JSON are in the order of letters, and operations are long.
    own = (b'"collective_seq_id"', b'"pg_config"')
    return begin.startswith(b"{") and any(key in begin for key in own)


def rank_of(name: str) -> int | None:
    """Return the rank that the *name* of a dump's file ends in; None where it has none.

    >>> rank_of("/tmp/nccl_trace_rank_12"), rank_of("trace.json")
    (12, None)
    """
    found = _RANK.search(name)
    return int(found[1]) if found else None


def read_flight(data: bytes, rank: int) -> FlightDump:
    """Return what *rank* recorded in *data*, which does not hold its number.

    Raises:
        TraceError: it is not a dump, damaged, of an unknown version, or too large.
    """
    check_size(len(data))
    dump = mapping(_loaded(data))
    version = text_of(dump.get("version"))
    if "pg_config" not in dump and "entries" not in dump:
        msg = "no dump of PyTorch's Flight Recorder"
        raise TraceError(msg, hint="the files whose names end in a rank are")
    if version.partition(".")[0] != _FORMAT:
        msg = f"a dump of version {version or 'unknown'}, which envcfg does not know"
        raise TraceError(msg, hint="torchfrtrace of the PyTorch that wrote it reads it")
    raw = mappings(dump.get("entries"))
    if len(raw) > _MOST:
        msg = f"a dump of {len(raw)} operations"
        raise TraceError(msg, hint="set TORCH_FR_BUFFER_SIZE lower")
    if any(each > _SIZES for each in accumulate(map(_count_of_sizes, raw))):
        msg = f"a dump of more than {_SIZES} sizes of tensors"
        raise TraceError(msg, hint="set TORCH_FR_BUFFER_SIZE lower")
    return FlightDump(
        rank=rank,
        ranks=_members(dump.get("pg_config")),
        entries=tuple(_entry(each) for each in raw),
        is_full=bool(raw) and (integer(raw[0].get("record_id")) or 0) > 0,
    )


def _loaded(data: bytes) -> object:
    if data.startswith(b"\x80"):
        return load_plain(data)
    import json

    try:
        return json.loads(data)
    except (ValueError, RecursionError) as err:
        msg = "neither a pickle nor JSON, or cut off"
        raise TraceError(msg, hint="copy it again") from err


def _members(config: object) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group whose ranks stand there, each list read once."""
    read: dict[str, tuple[int, ...]] = {}
    found: dict[str, tuple[int, ...]] = {}
    for key, each in mapping(config).items():
        told = mapping(each).get("ranks")
        if isinstance(key, str) and isinstance(told, str):
            if told not in read:  # the text of a list
                numbers = _NUMBER.finditer(told, 0, 1 << 23)
                read[told] = tuple(sorted({int(each[0]) for each in numbers}))
            if read[told]:
                found[key] = read[told]
    return found


def _entry(data: Mapping[str, Any]) -> FlightEntry:
    # How far a group is as a whole (pg_status) counts sends and receives, too.
    seq = integer(data.get("collective_seq_id"))
    backend, _, name = text_of(data.get("profiling_name")).rpartition(":")
    state, is_p2p = text_of(data.get("state")), data.get("is_p2p") is True
    retired = data.get("retired") is True
    done = state == "completed" or (retired and backend not in _WATCHED)
    group, desc = (*sequence(data.get("process_group"))[:2], "", "")[:2]
    return FlightEntry(
        group=(text_of(group), text_of(desc)),
        seq=-1 if seq is None else seq,
        p2p_seq=integer(data.get("p2p_seq_id")) or 0,
        is_p2p=is_p2p,
        backend=backend,
        name=name,
        state=state,
        retired=retired,
        done=done,
        input_sizes=_sizes(data.get("input_sizes")),
        dtypes=tuple(
            text_of(each)
            for side in ("input_dtypes", "output_dtypes")
            for each in sequence(data.get(side))[:_TENSORS]
        ),
        created=integer(data.get("time_created_ns")) or None,
        place=_place(data.get("frames")),
    )


def _count_of_sizes(data: Mapping[str, Any]) -> int:
    return sum(
        1 + len(sequence(tensor)[:_DIMENSIONS])
        for side in ("input_sizes", "output_sizes")
        for tensor in sequence(data.get(side))[:_TENSORS]
    )


def _sizes(value: object) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(integer(each) or 0 for each in sequence(tensor)[:_DIMENSIONS])
        for tensor in sequence(value)[:_TENSORS]
    )


def _place(frames: object) -> str:
    """Return where the program called an operation: its innermost frame outside PyTorch."""
    for frame in islice(sequence(frames), _FRAMES):
        name = text_of(mapping(frame).get("filename"))
        if name and not any(each in name for each in _WITHIN):
            return f"{name}:{integer(mapping(frame).get('line')) or 0}"
    return ""
