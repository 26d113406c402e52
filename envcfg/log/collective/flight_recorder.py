"""PyTorch's Flight Recorder: the last operations of each rank, as records.

With ``TORCH_FR_BUFFER_SIZE`` (in older PyTorch ``TORCH_NCCL_TRACE_BUFFER_SIZE``) set, each
process records them. When a collective times out, it writes them to a file with its rank
at the end of the name; ``torchfrtrace`` reads these. The file is a pickle, and PyTorch's
debug server returns JSON. Only the given bytes are read, and none of them is executed.
Source: pytorch v2.13.0 torch/csrc/distributed/c10d/FlightRecorderDetail.hpp (format 2.10).
"""

import re
from collections.abc import Mapping
from itertools import accumulate, islice
from typing import Any, NamedTuple

from envcfg.common.foreign_data import (
    integer,
    mapping,
    mappings,
    read_json,
    sequence,
    text_of,
)
from envcfg.log.collective.trace_fields import TraceError, check_size, load_plain

_FORMAT = "2"  # the major version that this module reads
_MOST = 1 << 17  # operations of one rank
_TENSORS, _DIMENSIONS, _FRAMES = 1 << 10, 1 << 6, 1 << 6  # limits for one operation
# The limit for all operations: a pickle may repeat one list many times at no cost in
# bytes.
_SIZES = 1 << 22
_RANK = re.compile(r"(\d{1,9})(?:\.json|\.pkl|\.pickle)?$")
# With these backends PyTorch sees the end of an operation by events. With gloo and others
# an operation is retired at its end, successful or not.
_WATCHED = frozenset(("nccl", "xccl"))
_NUMBER = re.compile(r"\d{1,9}")
# Frames in these files are between the program and the operation.
_WITHIN = ("/torch/", "/typing_extensions.py", "/contextlib.py", "/multiprocessing/")
DEFAULT = "default_pg"  # PyTorch's description of the group of all ranks


class FlightEntry(NamedTuple):
    """One operation of one rank."""

    group: tuple[str, str]  # name and description of its process group
    seq: int  # its number among the collectives of the group, from 1
    p2p_seq: int  # its number among sends and receives of the group
    # True for sends and receives; `seq` is then that of the last collective.
    is_p2p: bool
    backend: str  # `nccl`, `gloo`
    name: str  # of the operation, as in `all_reduce` or `send 0->1`
    state: str  # `scheduled`, `started` or `completed`
    retired: bool  # True if PyTorch no longer watches it
    done: bool  # True if it has ended, as far as the dump shows
    input_sizes: tuple[tuple[int, ...], ...]  # of each tensor
    dtypes: tuple[str, ...]  # of the inputs, then of the outputs, as in `Float`
    created: int | None  # time of the call, in ns since 1970; None if unknown
    place: str  # `FILE:LINE` of the program that called it; empty if not recorded

    @property
    def timed_out(self) -> bool:
        """Whether PyTorch gave up this operation of NCCL: it retired without completing."""
        given_up = self.retired and self.state != "completed"
        return given_up and self.backend in _WATCHED

    @property
    def text(self) -> str:
        """The operation and its sizes, as in ``all_reduce of 16 Float``."""
        sizes = " + ".join("x".join(map(str, size)) or "1" for size in self.input_sizes)
        kind = f" {self.dtypes[0]}" if self.dtypes else ""
        return f"{self.name} of {sizes}{kind}" if sizes else self.name


class FlightDump(NamedTuple):
    """The record of one rank."""

    rank: int
    # Of each group, by name; without groups with unknown ranks.
    ranks: Mapping[str, tuple[int, ...]]
    # Operations in their order; a full buffer has lost the first.
    entries: tuple[FlightEntry, ...]
    is_full: bool = False  # True if the buffer has lost operations


def is_flight(head: bytes) -> bool:
    """Return whether a file that begins with *head* (some 500 bytes) may be a dump."""
    if head.startswith(b"\x80"):
        return b"version" in head and (b"pg_config" in head or b"entries" in head)
    begin = head.lstrip()
    # JSON keys are sorted, and operations are long: only these come early enough.
    own = (b'"collective_seq_id"', b'"pg_config"')
    return begin.startswith(b"{") and any(key in begin for key in own)


def rank_of(name: str) -> int | None:
    """Return the rank at the end of a dump's file name; None if there is none.

    >>> rank_of("/tmp/nccl_trace_rank_12"), rank_of("trace.json")
    (12, None)
    """
    match = _RANK.search(name)
    return int(match[1]) if match else None


def read_flight(data: bytes, rank: int) -> FlightDump:
    """Parse the dump of *rank* from *data*; the data do not contain the rank.

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
    if any(count > _SIZES for count in accumulate(map(_count_of_sizes, raw))):
        msg = f"a dump of more than {_SIZES} sizes of tensors"
        raise TraceError(msg, hint="set TORCH_FR_BUFFER_SIZE lower")
    return FlightDump(
        rank=rank,
        ranks=_members(dump.get("pg_config")),
        entries=tuple(_entry(entry) for entry in raw),
        is_full=bool(raw) and (integer(raw[0].get("record_id")) or 0) > 0,
    )


def _loaded(data: bytes) -> object:
    if data.startswith(b"\x80"):
        return load_plain(data)
    try:
        return read_json(data)
    except ValueError as err:
        msg = "neither a pickle nor JSON, or cut off"
        raise TraceError(msg, hint="copy it again") from err


def _members(config: object) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group with a list of ranks; equal lists are parsed once."""
    lists: dict[str, tuple[int, ...]] = {}
    groups: dict[str, tuple[int, ...]] = {}
    for key, element in mapping(config).items():
        ranks = mapping(element).get("ranks")
        if isinstance(key, str) and isinstance(ranks, str):
            if ranks not in lists:  # the text of a list
                numbers = _NUMBER.finditer(ranks, 0, 1 << 23)
                lists[ranks] = tuple(sorted({int(number[0]) for number in numbers}))
            if lists[ranks]:
                groups[key] = lists[ranks]
    return groups


def _entry(data: Mapping[str, Any]) -> FlightEntry:
    # The group's own status (pg_status) also counts sends and receives, so it is unused.
    seq = integer(data.get("collective_seq_id"))
    backend, _, name = text_of(data.get("profiling_name")).rpartition(":")
    state, is_p2p = text_of(data.get("state")), data.get("is_p2p") is True
    retired = data.get("retired") is True
    # Without events, "retired" is the only sign of an end.
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
            text_of(element)
            for side in ("input_dtypes", "output_dtypes")
            for element in sequence(data.get(side))[:_TENSORS]
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
        tuple(integer(element) or 0 for element in sequence(tensor)[:_DIMENSIONS])
        for tensor in sequence(value)[:_TENSORS]
    )


def _place(frames: object) -> str:
    """Return the program's place of a call: the innermost frame outside PyTorch."""
    for frame in islice(sequence(frames), _FRAMES):
        name = text_of(mapping(frame).get("filename"))
        if name and not any(folder in name for folder in _WITHIN):
            return f"{name}:{integer(mapping(frame).get('line')) or 0}"
    return ""
