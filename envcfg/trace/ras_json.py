"""An answer of RAS in JSON: ``ncclras -f json``, since NCCL 2.28.7."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from envcfg.trace.fields import TraceError, integer, mapping, mappings, text_of
from envcfg.trace.ras_records import (
    STATUS,
    RasComm,
    RasProcess,
    RasRank,
    RasReport,
    Share,
    Spread,
    spread_of,
)

_COLLECTIVES = 64  # whose counts are compared; NCCL has a dozen
_SUCCESS, _IN_PROGRESS = 0, 7  # of ncclResult_t, src/nccl.h.in
# The words of the text, src/ras/client_support.cc.
_ERRORS = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
}


def from_json(text: str) -> RasReport:
    """Return what an answer in JSON says.

    Raises:
        TraceError: it is no JSON, or that of something else.
    """
    import json
    import re

    # NCCL 2.28.9 leaves a comma out, and only where ranks are missing.
    whole = re.sub(r'("nvml_dev": -?\d{1,9})(?=\s{1,99}"status")', r"\1,", text)
    try:
        data = mapping(json.loads(whole))
    except (ValueError, RecursionError) as err:
        msg = "no JSON, or cut off"
        raise TraceError(msg, hint="ask RAS again") from err
    if "communicators" not in data:
        msg = "JSON, but no answer of NCCL's RAS"
        raise TraceError(msg, hint="ncclras -f json prints one")
    comms = tuple(_comm(each) for each in mappings(data["communicators"]))
    lost = (rank for comm in comms for rank in comm.ranks if rank.silent)
    silent = tuple(
        dict.fromkeys(RasProcess(each.host, each.pid, each.dead) for each in lost)
    )
    return RasReport(
        time=text_of(data.get("timestamp")),
        missing=sum(not each.dead for each in silent),
        dead=sum(each.dead for each in silent),
        silent=silent,
        groups=(),
        comms=comms,
        whole="ras" in data,
    )


def _comm(data: Mapping[str, Any]) -> RasComm:
    told = [_rank(each) for each in mappings(data.get("ranks"))]
    absent = [_missing(each) for each in mappings(data.get("missing_ranks"))]
    spreads = tuple(_spreads([*told, *(each for each in absent if each.status)]))
    problems = {
        "INCOMPLETE": any(each.silent for each in absent),
        "ERROR": any(each.error for each in told),
        "MISMATCH": bool(spreads),
    }
    number = integer(data.get("hash"), base=16)
    return RasComm(
        hash="" if number is None else f"{number:016x}",
        name="",
        size=integer(data.get("size")),
        problems=tuple(each for each, is_so in problems.items() if is_so),
        ranks=tuple(sorted([*told, *absent], key=lambda each: each.rank)),
        spreads=spreads,
    )


def _rank(data: Mapping[str, Any]) -> RasRank:
    state = mapping(data.get("status"))
    begun, later = (integer(state.get(each)) for each in ("init_state", "async_error"))
    status = "INIT"
    # In this order: src/ras/client_support.cc, rasClientRunComms.
    if state.get("abort_flag") is True:
        status = "ABORT"
    elif True in (state.get("finalize_called"), state.get("destroy_flag")):
        status = "FINALIZE"
    elif begun == _SUCCESS:
        status = "RUNNING"
    failed = [
        each for each in (begun, later) if each not in (None, _SUCCESS, _IN_PROGRESS)
    ]
    counts = {
        name: number
        for name, given in mapping(data.get("collective_counts")).items()
        if (number := integer(given)) is not None
    }
    return _placed(data)._replace(
        status=status if state else "",
        error=_ERRORS.get(failed[0] or 0, "Unexpected error") if failed else "",
        counts=counts,
    )


def _missing(data: Mapping[str, Any]) -> RasRank:
    state = mapping(data.get("status"))
    silent = state.get("unresponsive") is True
    dead = state.get("considered_dead") is True
    # Its process answered, and knows nothing of this communicator.
    status = "NOCOMM" if state.get("unresponsive") is False and not dead else ""
    return _placed(data)._replace(status=status, silent=silent or dead, dead=dead)


def _placed(data: Mapping[str, Any]) -> RasRank:
    host, pid = text_of(data.get("host")), integer(data.get("pid"))
    rank = integer(data.get("rank"))
    return RasRank(
        rank=-1 if rank is None else rank,
        host="" if host == "unknown" else host,
        pid=None if pid == -1 else pid,
        gpu=integer(data.get("cuda_dev")),
    )


def _spreads(ranks: Sequence[RasRank]) -> Iterator[Spread]:
    """Yield what ranks differ in."""
    told = [each for each in ranks if each.status]
    yield from _spread(STATUS, [(each.status, each) for each in told])
    counted = [each for each in ranks if each.counts]
    names = dict.fromkeys(name for each in counted for name in each.counts)
    for name in islice(names, _COLLECTIVES):
        yield from _spread(name, [(each.counts.get(name, 0), each) for each in counted])


def _spread(what: str, values: Iterable[tuple[int | str, RasRank]]) -> Iterator[Spread]:
    sharers: dict[int | str, list[RasRank]] = {}
    for value, rank in values:
        sharers.setdefault(value, []).append(rank)
    if len(sharers) > 1:
        shares = [
            Share(value, len(own), tuple(sorted(own, key=lambda each: each.rank)))
            for value, own in sharers.items()
        ]
        yield spread_of(what, shares)
