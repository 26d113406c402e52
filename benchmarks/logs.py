"""Large logs to read: written fast, the same each time, by the generator of the tests."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

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


def _generator() -> ModuleType:
    """Return the generator: no package, as all under tests."""
    folder = str(Path(__file__).parent.parent / "tests" / "log")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("jobs")


def _job(jobs: ModuleType, **fields: object) -> object:
    return jobs.Job(nodes=NODES, ranks_per_node=RANKS_PER_NODE, **fields)


def _start(jobs: ModuleType) -> bytes:
    """Return the start of all ranks."""
    text: str = jobs.text(_job(jobs, channels=4))
    return text.encode()


def _block(jobs: ModuleType, seed: int) -> bytes:
    lines: list[str] = jobs.training_output(BLOCK_LINES, seed)
    return "".join(f"{line}\n" for line in lines).encode()


def _next(lines: Iterator[str]) -> bytes:
    """Return the next 50 000 lines."""
    return "".join(f"{line}\n" for line in itertools.islice(lines, 50_000)).encode()
