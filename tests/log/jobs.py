"""Logs of whole jobs for the tests: every dialect, every wrapper, every failure.

    Job(nodes=4, dialect="nccl-2.24", fallen=frozenset({2}))

is a job whose third node did not find the plugin; :func:`text` is its log. Everything
follows from the job: the same job gives the same log, byte for byte.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

import messages
import rings
from dialects import DIALECTS, Dialect, Plugin
from failures import BENIGN, ERRORS, Failure, benign_of, errors_of
from shape import Comm, Job, Rank, Said, comms_of, world
from training import training_output
from wrappers import LABELS, WRAPPERS, Where, iso

__all__ = [
    "BENIGN",
    "DIALECTS",
    "ERRORS",
    "LABELS",
    "WRAPPERS",
    "Dialect",
    "Failure",
    "Job",
    "Line",
    "Plugin",
    "Rank",
    "Where",
    "benign_of",
    "errors_of",
    "iter_lines",
    "lines",
    "text",
    "training_output",
    "wrap",
    "wrapped",
]

STAMP = "[2026-03-14 09:26:53] "
Phase = Callable[[Rank], Iterator[str]]


class Line(NamedTuple):
    """One line of a log, without its end, and the rank that wrote it."""

    rank: int
    text: str


def lines(job: Job) -> list[Line]:
    """Return all lines of *job*."""
    return list(iter_lines(job))


def iter_lines(job: Job) -> Iterator[Line]:
    """Yield the lines of *job*; each rank's keep their order.

    Ranks wait for each other between the steps of the initialisation, as they do in truth;
    within a step their lines mix by the seed.
    """
    order = random.Random(job.seed)
    ranks = [
        Rank(job, number) for number in range(job.world) if number not in job.missing
    ]
    for phase in _phases(job):
        yield from _mix([(rank.number, phase(rank)) for rank in ranks], order)


def text(job: Job, *wrappers: str) -> str:
    """Return the log of *job*, each line in *wrappers*, the innermost first."""
    return "".join(f"{line}\n" for line in wrapped(job, *wrappers))


def wrapped(job: Job, *wrappers: str) -> Iterator[str]:
    """Yield the lines of :func:`text` without their ends."""
    return wrap(job, iter_lines(job), *wrappers)


def wrap(job: Job, said: Iterator[Line], *wrappers: str) -> Iterator[str]:
    """Yield *said* in *wrappers*, the innermost first, each a key of ``WRAPPERS``."""
    functions = [WRAPPERS[name] for name in wrappers if name != "none"]
    for number, (rank, line) in enumerate(said):
        if not functions:
            yield line
            continue
        node, local = divmod(rank, job.ranks_per_node)
        where = Where(rank, node, job.host(node), local, iso(number), job.world)
        whole: str | None = line
        for function in functions:
            if whole is not None:
                whole = function(whole, where)
        if whole is not None:
            yield whole


def _mix(
    streams: list[tuple[int, Iterator[str]]], order: random.Random
) -> Iterator[Line]:
    """Yield from all *streams*, a few lines at a time from one drawn by lot."""
    draw = order.random
    while streams:
        at = int(draw() * len(streams))
        rank, stream = streams[at]
        for _ in range(1 + int(draw() * 6)):
            said = next(stream, None)
            if said is None:
                streams[at] = streams[-1]
                streams.pop()
                break
            if "\n" in said:
                for part in said.split("\n"):
                    yield Line(rank, part)
            else:
                yield Line(rank, said)


def _phases(job: Job) -> list[Phase]:
    """Return the steps of the job; as of 2.22 the first collective connects."""
    version = DIALECTS[job.dialect].version
    # Threads of a process begin when it has read its settings.
    phases: list[Phase] = [_open, _begin] if job.processes == "node" else [_begin]
    groups: list[Callable[[Rank], Comm]] = [lambda rank: world(rank.job)]
    groups += [lambda rank, at=at: comms_of(rank)[at] for at in range(len(job.groups))]
    for number, group in enumerate(groups):
        if number:
            phases.append(_alive(_begin_group, group))
        phases.append(_alive(_describe, group))
        steps = [_connect, _complete] if version < (2, 22) else [_complete, _connect]
        phases += [_alive(step, group) for step in steps]
    phases.append(_fail)
    if job.ended:
        phases += [_alive(_end, group) for group in groups]
    return phases


def _alive(
    step: Callable[[Rank, Comm], Iterator[str]], group: Callable[[Rank], Comm]
) -> Phase:
    """Return *step* for the ranks that come that far."""

    def phase(rank: Rank) -> Iterator[str]:
        return iter(()) if _is_stopped(rank) else step(rank, group(rank))

    return phase


def _is_stopped(rank: Rank) -> bool:
    names = rank.job.errors.get(rank.number, ())
    died = any(name in ERRORS and ERRORS[name].at_start for name in names)
    return died or rank.number in rank.job.stopped or _has_no_network(rank)


def _has_no_network(rank: Rank) -> bool:
    return rank.job.pinned and rank.job.network == "ofi" and not rank.has_plugin


def _open(rank: Rank) -> Iterator[str]:
    return render(rank, messages.opening(rank) if rank.is_first_of_process else [])


def _begin(rank: Rank) -> Iterator[str]:
    d = rank.dialect
    said = []
    if rank.is_first_of_process:
        said += messages.opening(rank) if rank.job.processes == "rank" else []
        said += messages.network(rank) if d.version >= (2, 13) else []
    elif d.version >= (2, 13) and not _has_no_network(rank):
        said += messages.chosen(rank)
    if not _has_no_network(rank):
        said += messages.init_start(rank, world(rank.job))
    return render(rank, said)


def _begin_group(rank: Rank, comm: Comm) -> Iterator[str]:
    said = messages.chosen(rank) if rank.dialect.version >= (2, 13) else []
    return render(rank, [*said, *messages.init_start(rank, comm)])


def _describe(rank: Rank, comm: Comm) -> Iterator[str]:
    return render(rank, rings.describe(rank, comm))


def _connect(rank: Rank, comm: Comm) -> Iterator[str]:
    if not (rank.job.channels and _is_shown(rank, Said("", "INIT,NET"))):
        return iter(())
    said = rings.connect(rank, comm, _prefix(rank, Said("")))
    if not _is_shown(rank, Said("", "INIT")):
        return (line for line in said if "NCCL INFO Connected all" not in line)
    return said


def _complete(rank: Rank, comm: Comm) -> Iterator[str]:
    address = rank.comm(comm)
    buffers = f"sendbuff 0x7f{rank.number:06x}0000 recvbuff 0x7e{rank.number:06x}0000"
    call = f"{buffers} count 4096 datatype 7 op 0 root 0 comm {address}"
    reduce = f"AllReduce: opCount 0 {call} [nranks={len(comm.ranks)}] stream 0x5ba0"
    return render(rank, [*messages.init_complete(rank, comm), Said(reduce, "COLL")])


def _end(rank: Rank, comm: Comm) -> Iterator[str]:
    return render(rank, messages.destroyed(rank, comm))


def _fail(rank: Rank) -> Iterator[str]:
    for name in rank.job.errors.get(rank.number, ()):
        failure = ERRORS.get(name) or BENIGN[name]
        yield from render(rank, failure.of(rank))


def render(rank: Rank, said: list[Said] | Iterator[Said]) -> Iterator[str]:
    """Yield what is shown of *said*, with the prefix of the rank's library.

    A text with line ends is one write: its lines stay together.
    """
    for each in said:
        if not _is_shown(rank, each):
            continue
        if each.level == "":
            yield each.text
        elif each.level == "WARN":
            yield f"\n{_prefix(rank, each)}{each.text}"
        else:
            yield f"{_prefix(rank, each)}{_returned(rank, each)}"


def _is_shown(rank: Rank, said: Said) -> bool:
    debug = rank.job.debug
    if said.level == "":
        return True
    if said.level == "WARN":
        return debug in {"INFO", "WARN"}
    if debug != "INFO":
        return False
    asked = rank.job.subsystems
    if asked == "ALL" or not said.of:
        return True
    of = set(said.of.split(","))
    if asked is None:
        return not of.isdisjoint(rank.dialect.subsystems)
    if asked.startswith("^"):
        return not of <= set(asked[1:].split(","))
    return not of.isdisjoint(asked.split(","))


def _prefix(rank: Rank, said: Said) -> str:
    d = rank.dialect
    thread = rank.pid if said.main else rank.thread
    device = 0 if said.main and not rank.has_own_process else rank.device
    start = f"{rank.host.partition('.')[0]}:{rank.pid}:{thread} [{device}]"
    stamp = STAMP if d.version >= (2, 26) else ""
    if said.level != "WARN":
        return f"{stamp if rank.job.timestamps else ''}{start} NCCL INFO "
    where = said.where if said.by_plugin else f"{d.source}{said.where}"
    if d.version >= (2, 30) and not said.by_plugin:
        where += f" ({said.function or 'ncclWork'})"
    return f"{stamp}{start} {where} NCCL WARN "


def _returned(rank: Rank, said: Said) -> str:
    """Return the text, for a source line with what the library adds to it."""
    if said.level != "RETURN":
        return said.text
    d = rank.dialect
    where, _, rest = said.text.partition(" -> ")
    if d.version >= (2, 30):
        where += f" ({said.function or 'ncclWork'})"
    return f"{d.source}{where} -> {rest}"
