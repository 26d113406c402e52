"""What NCCL's helper for questions from outside (RAS) tells of a job, as records.

NCCL answers on port 28028 of each node since 2.24, and its program ``ncclras`` prints the
answer: as text, or since 2.28.7 as JSON. Both become a :class:`RasReport`. Nothing is asked
here: :func:`read_ras` reads an answer that somebody has.

The text names single ranks only where they differ from the others, and where they are few;
JSON tells of each rank. Source: NVIDIA/nccl v2.24.3-1 to v2.31 src/ras/client_support.cc.
"""

import re
from typing import NamedTuple

from envcfg.trace.fields import TraceError, check_size
from envcfg.trace.ras_json import from_json
from envcfg.trace.ras_records import RasComm, RasReport, Share
from envcfg.trace.ras_text import from_text

_JSON_KEY = '"communicators_count"'
_TEXT_KEYS = ("Job summary\n", "NCCL version ", "Communicators...")
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
        return from_json(text)
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
