"""Large logs to read: written fast, the same each time, by the generator of the tests."""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

NODES, RANKS_PER_NODE = 32, 8
MB = 1_000_000
BLOCK_LINES = 40_000  # of training output, about 10 MB


def training_log(path: Path, size: int) -> int:
    """Write *size* bytes of training output with 256 ranks' start in it.

    Returns:
        The number of lines of the start.
    """
    jobs = _generator()
    with path.open("wb") as file:
        file.write(_block(jobs, 1))
        said = _start(jobs)
        file.write(said)
        block = _block(jobs, 2)
        while (left := size - file.tell()) > 0:
            file.write(block[:left])
        file.truncate(size)
    return said.count(b"\n")


def small_log(path: Path, size: int, nodes: int) -> None:
    """Write the start of *nodes* times 8 ranks, and training output up to *size* bytes."""
    jobs = _generator()
    with path.open("wb") as file:
        file.write(jobs.text(_job(jobs, nodes=nodes, channels=4)).encode())
        block = _block(jobs, 2)
        while (left := size - file.tell()) > 0:
            file.write(block[:left])


def nccl_log(path: Path, size: int, dialect: str = "nccl-2.24") -> int:
    """Write *size* bytes of nothing but the lines of 256 ranks that send all to all.

    300 MB hold 2.8 million channel lines.

    Returns:
        The number of channel lines.
    """
    jobs = _generator()
    # One channel from each rank to each other makes 12 MB.
    job = _job(jobs, dialect=dialect, channels=16, alltoall=size // (12 * MB) + 1)
    lines = jobs.wrapped(job)
    count = 0
    with path.open("wb") as file:
        while (left := size - file.tell()) > 0 and (text := _next(lines)):
            kept = text[:left]
            count += kept.count(b" via ")
            file.write(kept)
    return count


def dense_log(path: Path, nodes: int = 64) -> int:
    """Write all that the ranks of *nodes* say of three communicators each, in 32 channels.

    Channels, rings and trees are most of it. 64 nodes make 23 MB.

    Returns:
        The number of lines.
    """
    jobs = _generator()
    shape = {"channels": 32, "groups": ("node", "across"), "subsystems": "ALL"}
    lines = jobs.wrapped(_job(jobs, nodes=nodes, dialect="nccl-2.24", **shape))
    count = 0
    with path.open("wb") as file:
        while text := _next(lines):
            count += text.count(b"\n")
            file.write(text)
    return count


def spread_log(path: Path, size: int) -> None:
    """Write *size* bytes of training output, each 50th line one of NCCL."""
    jobs = _generator()
    output = _block(jobs, 2).splitlines(keepends=True)
    shape = {"channels": 16, "groups": ("node",), "subsystems": "ALL"}
    said = jobs.text(_job(jobs, dialect="nccl-2.24", **shape)).encode()
    lines = itertools.cycle(said.splitlines(keepends=True))
    with path.open("wb") as file:
        while (left := size - file.tell()) > 0:
            block = b"".join(
                line if number % 50 else line + next(lines)
                for number, line in enumerate(output)
            )
            file.write(block[:left])


def sparse_log(path: Path, size: int = 10_000 * MB, blocks: int = 32) -> int:
    """Write a training log of *size* bytes that is nearly all holes, read as NULs.

    The start comes first; *blocks* blocks of training output lie evenly in the rest, the
    last at the end.

    Returns:
        The bytes that are no hole.
    """
    jobs = _generator()
    block = _block(jobs, 3)
    with path.open("wb") as file:
        file.truncate(size)
        head = _start(jobs)
        written = file.write(head[:size])
        step = (size - len(head)) // blocks
        if step < len(block):
            msg = f"{size} bytes leave no room between {blocks} blocks of {len(block)}"
            raise ValueError(msg)
        for number in range(1, blocks + 1):
            file.seek(len(head) + number * step - len(block))
            written += file.write(block)
    return written


def many_ranks_log(path: Path) -> tuple[int, int]:
    """Write the start of 4,096 ranks with three communicators each, 2 million lines.

    Returns:
        The numbers of ranks and of lines.
    """
    jobs = _generator()
    nodes = 512
    job = _job(jobs, nodes=nodes, channels=43, groups=("node", "across"))
    lines = jobs.wrapped(job)
    count = 0
    with path.open("wb") as file:
        while text := _next(lines):
            count += text.count(b"\n")
            file.write(text)
    return nodes * RANKS_PER_NODE, count


def made_up_log(path: Path, size: int, kind: str) -> None:
    """Write *size* bytes of lines that name a rank (or a channel) more each time."""
    said = {
        "ranks": "comm 0x{0:x} rank {0} nranks 1000000 cudaDev 0 busId 1000 commId 0x1 - "
        "Init COMPLETE",
        "channels": "Channel 00/0 : {0}[0] -> {1}[0] [send] via NET/IB/0/GDRDMA",
    }[kind]
    with path.open("w") as file:
        for number in itertools.count():
            line = said.format(number, number * 7 % 1_000_003)
            file.write(f"h{number}:{number}:7 [0] NCCL INFO {line}\n")
            if number % 1000 == 0 and file.tell() >= size:
                return


class Growth(NamedTuple):
    """A log of 200 ranks that lacks one line for a verdict.

    Attributes:
        start: pieces of whole lines, about a tenth of the start each.
        output: pieces of training output, of a few lines each.
        deciding: the exit code of check-log, and the line that decides for it.
    """

    start: list[bytes]
    output: list[bytes]
    deciding: dict[int, bytes]


def growing_log() -> Growth:
    """Return the start of 200 ranks, and a good and a bad line of the last node."""
    jobs = _generator()
    fields = {"nodes": 25, "dialect": "nccl-2.24"}
    last = 25 * RANKS_PER_NODE - 1
    good = [*jobs.iter_lines(_job(jobs, **fields))]
    # What shows how the last node sends to others comes later than all else.
    shown = [
        said
        for said in good
        if said.rank > last - RANKS_PER_NODE
        and re.search(" via NET/|all rings", said.text)
    ]
    error = {last: ("connect-2.24",)}
    bad = [*jobs.iter_lines(_job(jobs, **fields, errors=error))]
    warned = [said for said in bad if " NCCL WARN " in said.text]
    start = [said for said in good if said not in shown]
    step = -(-len(start) // 10)
    return Growth(
        start=[_bytes(start[at : at + step]) for at in range(0, len(start), step)],
        output=[_block(jobs, seed, 3) for seed in range(5)],
        deciding={0: _bytes(shown[:1]), 1: _bytes(warned[:1])},
    )


def _generator() -> ModuleType:
    """Return the generator: no package, as all under tests."""
    folder = str(Path(__file__).parent.parent / "tests" / "log")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("jobs")


def _job(jobs: ModuleType, **fields: object) -> object:
    fields = {"nodes": NODES, "ranks_per_node": RANKS_PER_NODE, **fields}
    return jobs.Job(**fields)


def _start(jobs: ModuleType) -> bytes:
    """Return the start of all ranks."""
    text: str = jobs.text(_job(jobs, channels=4))
    return text.encode()


def _block(jobs: ModuleType, seed: int, count: int = BLOCK_LINES) -> bytes:
    lines: list[str] = jobs.training_output(count, seed)
    return "".join(f"{line}\n" for line in lines).encode()


def _bytes(said: Sequence[Any]) -> bytes:
    return "".join(f"{each.text}\n" for each in said).encode()


def _next(lines: Iterator[str]) -> bytes:
    """Return the next 50 000 lines."""
    return "".join(f"{line}\n" for line in itertools.islice(lines, 50_000)).encode()
