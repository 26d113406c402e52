"""Answers of NCCL's RAS service on a job, as records.

NCCL answers on port 28028 of each node since 2.24, and its program ``ncclras`` prints the
answer as text, or since 2.28.7 as JSON. Both become a :class:`RasReport`. This module asks
no service: :func:`read_ras` reads an existing answer.

The text names single ranks only if they differ from the others and are few; JSON lists
every rank. Source: NVIDIA/nccl v2.24.3-1 to v2.31 src/ras/client_support.cc.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from envcfg.common.foreign_data import integer, mapping, mappings, read_json, text_of
from envcfg.log.collective.ras_records import (
    STATUS,
    DifferingValue,
    RasComm,
    RasProcess,
    RasRank,
    RasReport,
    Share,
    spread_of,
)
from envcfg.log.collective.ras_text import from_text
from envcfg.log.collective.trace_fields import TraceError, check_size
from envcfg.log.numbers import collect

_JSON_KEY = '"communicators_count"'
_TEXT_KEYS = ("Job summary\n", "NCCL version ", "Communicators...")
_COLLECTIVES = 64  # kinds of collectives to compare; NCCL has a dozen
_SUCCESS, _IN_PROGRESS = 0, 7  # values of ncclResult_t, src/nccl.h.in
# The words of the text, src/ras/client_support.cc.
_ERRORS = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
}
# Text that is in the output of nearly every job and in no answer.
_OTHERS = r"^\[|\bNCCL (?:INFO|WARN) |^(?:srun|slurmstepd): |^Traceback \(|Error: "


class Laggard(NamedTuple):
    """Ranks that have launched fewer operations than others of their communicator."""

    comm: RasComm
    operation: str
    share: Share  # the ranks, and the number of operations that they launched
    most: int  # the number that others launched

    @property
    def key(self) -> tuple[str, str, int | str]:
        """Its communicator, operation and count, equal in answers without progress."""
        return self.comm.hash, self.operation, self.share.value


def is_ras(head: str) -> bool:
    """Return whether a text that begins with *head* is an answer of RAS only.

    *head* has some 4 kB. A log with such an answer among other lines is none.
    """
    begin = head.lstrip()
    if begin.startswith("{"):
        return _JSON_KEY in head
    while begin.startswith(("SERVER PROTOCOL ", "OK\n")):  # lines that nc adds
        begin = begin.partition("\n")[2]
    first = min((begin.find(key) for key in _TEXT_KEYS if key in begin), default=-1)
    # Two keys are required, because one of them may be in any program's output.
    return first == 0 and sum(key in begin for key in _TEXT_KEYS) > 1


def is_log(text: str) -> bool:
    """Return whether *text*, which begins as an answer of RAS, continues as a job's log."""
    if text.lstrip().startswith("{"):
        return False
    return re.search(_OTHERS, text, re.MULTILINE) is not None


def read_ras(text: str) -> RasReport:
    """Parse an answer of RAS in text or JSON form; it may be truncated.

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
    """Return the lagging ranks with the ranks ahead of them, the slowest first.

    One answer proves no hang: ranks may be apart for a while. Ranks with the same number a
    minute later are stuck, and so are the ranks that wait for them.
    """
    lagging = [
        Laggard(comm, spread.subject, share, int(spread.shares[-1].value))
        for comm in report.comms
        for spread in comm.spreads
        for share in spread.behind
    ]
    return tuple(
        sorted(lagging, key=lambda laggard: int(laggard.share.value) - laggard.most)
    )


def _from_json(text: str) -> RasReport:
    """Parse an answer in JSON form.

    Raises:
        TraceError: it is not JSON, or is no answer of RAS.
    """
    # NCCL 2.28.9 omits a comma, but only if ranks are missing.
    repaired = re.sub(r'("nvml_dev": -?\d{1,9})(?=\s{1,99}"status")', r"\1,", text)
    try:
        data = mapping(read_json(repaired))
    except ValueError as err:
        msg = "no JSON, or cut off"
        raise TraceError(msg, hint="ask RAS again") from err
    if "communicators" not in data:
        msg = "JSON, but no answer of NCCL's RAS"
        raise TraceError(msg, hint="ncclras -f json prints one")
    comms = [_comm(entry) for entry in mappings(data["communicators"])]
    silent = tuple(
        dict.fromkeys(ras_process for _, lost in comms for ras_process in lost)
    )
    return RasReport(
        time=text_of(data.get("timestamp")),
        # The groups are in the text form only.
        missing=sum(not ras_process.dead for ras_process in silent),
        dead=sum(ras_process.dead for ras_process in silent),
        silent=silent,
        groups=(),
        comms=tuple(comm for comm, _ in comms),
        is_complete="ras" in data,
    )


def _comm(data: Mapping[str, Any]) -> tuple[RasComm, list[RasProcess]]:
    """Return a communicator, and those of its processes that did not answer."""
    lines = [_rank(entry) for entry in mappings(data.get("ranks"))]
    absent: list[RasRank] = []
    lost: list[RasProcess] = []
    lacking: list[tuple[str, RasRank]] = []
    for entry in mappings(data.get("missing_ranks")):
        rank, state = _placed(entry), mapping(entry.get("status"))
        absent.append(rank)
        dead, silent = state.get("considered_dead") is True, state.get("unresponsive")
        if dead or silent is True:
            lost.append(RasProcess(rank.host, rank.pid, dead))
        elif silent is False:  # its process does not know this communicator
            lacking.append(("NOCOMM", rank))
    counted = [ras_rank for _, ras_rank in lines if ras_rank.counts]
    names = dict.fromkeys(name for ras_rank in counted for name in ras_rank.counts)
    states = [(status, ras_rank) for status, ras_rank in (*lines, *lacking) if status]
    spreads = _spread(STATUS, states)
    # A rank without a count of a collective has not launched it.
    for name in islice(names, _COLLECTIVES):
        spreads += _spread(name, [(e.counts.get(name, 0), e) for e in counted])
    ranks = [*(ras_rank for _, ras_rank in lines), *absent]
    number = integer(data.get("hash"), base=16)
    comm = RasComm(
        hash="" if number is None else f"{number:016x}",
        name="",
        size=integer(data.get("size")),
        failed=any(ras_rank.error for ras_rank in ranks),
        ranks=tuple(sorted(ranks, key=lambda ras_rank: ras_rank.rank)),
        spreads=tuple(spreads),
    )
    return comm, lost


def _rank(data: Mapping[str, Any]) -> tuple[str, RasRank]:
    """Return the status of a rank, or an empty text, and the rank."""
    state = mapping(data.get("status"))
    begun, later = (integer(state.get(name)) for name in ("init_state", "async_error"))
    status = "INIT" if state else ""
    # The order is that of src/ras/client_support.cc, rasClientRunComms.
    if state.get("abort_flag") is True:
        status = "ABORT"
    elif True in (state.get("finalize_called"), state.get("destroy_flag")):
        status = "FINALIZE"
    elif begun == _SUCCESS:
        status = "RUNNING"
    failed = [
        state_found
        for state_found in (begun, later)
        if state_found not in (None, _SUCCESS, _IN_PROGRESS)
    ]
    counts = {
        name: number
        for name, count in mapping(data.get("collective_counts")).items()
        if (number := integer(count)) is not None
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


def _spread(
    subject: str, values: Iterable[tuple[int | str, RasRank]]
) -> list[DifferingValue]:
    """Return the values in which ranks differ; empty if they agree."""
    shares = [
        Share(value, len(own), tuple(sorted(own, key=lambda ras_rank: ras_rank.rank)))
        for value, own in collect(values).items()
    ]
    return [spread_of(subject, shares)] if len(shares) > 1 else []
