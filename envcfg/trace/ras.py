"""What NCCL's helper for questions from outside (RAS) tells of a job, as records.

NCCL answers on port 28028 of each node since 2.24, and its program ``ncclras`` prints the
answer: as text, or since 2.28.7 as JSON. Both become a :class:`RasReport`. Nothing is asked
here: :func:`read_ras` reads an answer that somebody has.

The text names single ranks only where they differ from the others, and where they are few;
JSON tells of each rank. Source: NVIDIA/nccl v2.24.3-1 to v2.31 src/ras/client_support.cc.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from envcfg.trace.fields import (
    TraceError,
    check_size,
    integer,
    mapping,
    mappings,
    text_of,
)
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
from envcfg.trace.ras_text import from_text

_JSON_KEY = '"communicators_count"'
_TEXT_KEYS = ("Job summary\n", "NCCL version ", "Communicators...")
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
# What no answer holds, and the output of nearly every job.
_OTHERS = r"^\[|\bNCCL (?:INFO|WARN) |^(?:srun|slurmstepd): |^Traceback \(|Error: "


class Laggard(NamedTuple):
    """Ranks that have launched less of a collective than others of their communicator.

    Attributes:
        comm: the communicator.
        operation: the collective.
        share: the ranks, and how many they have launched.
        most: how many others have.
    """

    comm: RasComm
    operation: str
    share: Share
    most: int


def is_ras(head: str) -> bool:
    """Return whether a text that begins with *head* is an answer of RAS, and no more.

    *head* is some 4 kB. A log that holds such an answer among other lines is none.
    """
    begin = head.lstrip()
    if begin.startswith("{"):
        return _JSON_KEY in head
    while begin.startswith(("SERVER PROTOCOL ", "OK\n")):  # as nc shows it
        begin = begin.partition("\n")[2]
    first = min((begin.find(key) for key in _TEXT_KEYS if key in begin), default=-1)
    return first == 0 and sum(key in begin for key in _TEXT_KEYS) > 1


def is_log(text: str) -> bool:
    """Return whether *text*, which begins as an answer of RAS, goes on as a job's log."""
    if text.lstrip().startswith("{"):
        return False
    return re.search(_OTHERS, text, re.MULTILINE) is not None


def read_ras(text: str) -> RasReport:
    """Return what *text* says: an answer as text or JSON, which may be cut.

    Raises:
        TraceError: it is neither, or too large.
    """
    check_size(len(text))
    if text.lstrip().startswith("{"):
        return _from_json(text)
    if not any(key in text for key in _TEXT_KEYS):
        msg = "no answer of NCCL's RAS"
        raise TraceError(msg, hint="ncclras prints one, as does nc localhost 28028")
    return from_text(text)


def laggards(report: RasReport) -> tuple[Laggard, ...]:
    """Return who is behind whom, the farthest behind first.

    One look proves no hang: ranks may be apart for a while. Those that have launched no
    more a minute later are stuck, and so are those that wait for them.
    """
    found = [
        Laggard(comm, spread.what, share, int(spread.shares[-1].value))
        for comm in report.comms
        for spread in comm.spreads
        for share in spread.behind
    ]
    return tuple(sorted(found, key=lambda each: int(each.share.value) - each.most))


def _from_json(text: str) -> RasReport:
    """Return what an answer in JSON says.

    Raises:
        TraceError: it is not JSON, or that of something else.
    """
    import json

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
    found = [_comm(each) for each in mappings(data["communicators"])]
    silent = tuple(dict.fromkeys(each for _, lost in found for each in lost))
    return RasReport(
        time=text_of(data.get("timestamp")),
        missing=sum(not each.dead for each in silent),
        dead=sum(each.dead for each in silent),
        silent=silent,
        groups=(),
        comms=tuple(comm for comm, _ in found),
        whole="ras" in data,
    )


def _comm(data: Mapping[str, Any]) -> tuple[RasComm, list[RasProcess]]:
    """Return a communicator, and those of its processes that did not answer."""
    told = [_told(each) for each in mappings(data.get("ranks"))]
    absent: list[RasRank] = []
    lost: list[RasProcess] = []
    lacking: list[tuple[str, RasRank]] = []
    for each in mappings(data.get("missing_ranks")):
        rank, state = _placed(each), mapping(each.get("status"))
        absent.append(rank)
        dead, silent = state.get("considered_dead") is True, state.get("unresponsive")
        if dead or silent is True:
            lost.append(RasProcess(rank.host, rank.pid, dead))
        elif silent is False:  # its process knows nothing of this communicator
            lacking.append(("NOCOMM", rank))
    counted = [each for _, each in told if each.counts]
    names = dict.fromkeys(name for each in counted for name in each.counts)
    states = [(status, each) for status, each in (*told, *lacking) if status]
    spreads = _spread(STATUS, states)
    for name in islice(names, _COLLECTIVES):
        spreads += _spread(name, [(e.counts.get(name, 0), e) for e in counted])
    ranks = [*(each for _, each in told), *absent]
    number = integer(data.get("hash"), base=16)
    comm = RasComm(
        hash="" if number is None else f"{number:016x}",
        name="",
        size=integer(data.get("size")),
        failed=any(each.error for each in ranks),
        ranks=tuple(sorted(ranks, key=lambda each: each.rank)),
        spreads=tuple(spreads),
    )
    return comm, lost


def _told(data: Mapping[str, Any]) -> tuple[str, RasRank]:
    """Return how far a rank is, or nothing, and the rank."""
    state = mapping(data.get("status"))
    begun, later = (integer(state.get(each)) for each in ("init_state", "async_error"))
    status = "INIT" if state else ""
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
    error = _ERRORS.get(failed[0] or 0, "Unexpected error") if failed else ""
    return status, _placed(data)._replace(error=error, counts=counts)


def _placed(data: Mapping[str, Any]) -> RasRank:
    host, pid = text_of(data.get("host")), integer(data.get("pid"))
    rank = integer(data.get("rank"))
    return RasRank(
        rank=-1 if rank is None else rank,
        host="" if host == "unknown" else host,
        pid=None if pid == -1 else pid,
    )


def _spread(what: str, values: Iterable[tuple[int | str, RasRank]]) -> list[Spread]:
    """Return in what ranks differ; nothing where they do not."""
    sharers: dict[int | str, list[RasRank]] = {}
    for value, rank in values:
        sharers.setdefault(value, []).append(rank)
    shares = [
        Share(value, len(own), tuple(sorted(own, key=lambda each: each.rank)))
        for value, own in sharers.items()
    ]
    return [spread_of(what, shares)] if len(shares) > 1 else []
