"""What RAS says of a job, as text and as JSON, by the rules of src/ras/client_support.cc.

Read in NCCL 2.24 to 2.31: which ranks are told apart, in which order, and who is named.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

COLLECTIVES = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
STATUSES = ("NOCOMM", "INIT", "RUNNING", "FINALIZE", "ABORT")
PROBLEMS = ("MISMATCH", "ERROR", "INCOMPLETE")
ERRORS = (
    "",
    "Unhandled CUDA error",
    "System error",
    "Internal error",
    "Invalid argument",
    "Invalid usage",
    "Remote process error",
)
SUCCESS, IN_PROGRESS = 0, 7


class Peer(NamedTuple):
    """A process: ``there``, ``missing`` (it did not answer) or ``dead`` (given up)."""

    host: str
    pid: int
    gpu: int
    nvml: int
    state: str = "there"


class Member(NamedTuple):
    """A rank: of the process *peer*; one that has *left* is not known there any more."""

    peer: int
    left: bool = False
    init: int = SUCCESS
    later: int = SUCCESS
    finalized: bool = False
    aborted: bool = False
    counts: tuple[int, ...] = (0, 0, 0, 0, 0)

    @property
    def status(self) -> int:
        """Place in ``STATUSES``."""
        if self.aborted:
            return 4
        if self.finalized:
            return 3
        return 2 if self.init == SUCCESS else 1


class Comm(NamedTuple):
    """A communicator; the number of a rank is its place."""

    hash: int
    members: tuple[Member, ...]


class State(NamedTuple):
    """A job."""

    peers: tuple[Peer, ...]
    comms: tuple[Comm, ...]
    timeouts: int = 0


class _View:
    """What is worked out of a communicator before anything is said."""

    def __init__(self, state: State, comm: Comm) -> None:
        peers = state.peers
        told = [
            (number, each)
            for number, each in enumerate(comm.members)
            if peers[each.peer].state == "there" and not each.left
        ]
        self.comm = comm
        self.told = sorted(told, key=lambda each: (each[1].peer, each[0]))
        self.left = [
            (number, each)
            for number, each in enumerate(comm.members)
            if peers[each.peer].state == "there" and each.left
        ]
        self.absent = [
            (number, each)
            for number, each in enumerate(comm.members)
            if peers[each.peer].state != "there"
        ]
        self.nodes = len({peers[each.peer].host for _, each in told})
        self.statuses = {each.status for _, each in told} | (
            {0} if self.left else set()
        )
        first = self.told[0][1].counts
        differs = any(each.counts != first for _, each in told)
        failed = any(
            code not in (SUCCESS, IN_PROGRESS)
            for _, each in told
            for code in (each.init, each.later)
        )
        self.errors = (
            (len(self.statuses) > 1 or differs or bool(self.left))
            + 2 * failed
            + 4 * bool(self.absent)
        )

    @property
    def key(self) -> tuple[int, int, int, int]:
        """What makes communicators one row of the table."""
        return (
            len(self.comm.members), self.nodes, max(self.statuses), self.errors,
        )  # fmt: skip


def _is_named(count: int, total: int | None, *, verbose: bool) -> bool:
    if count == 1:
        return True
    if verbose:
        return total is None or count < total * 0.5
    return count <= 10 and (total is None or count <= total * 0.25)


def as_text(state: State, *, verbose: bool, version: str = "2.27.7") -> str:
    """Return the answer to STATUS, or to VERBOSE STATUS."""
    peers = state.peers
    out = [
        f"NCCL version {version} compiled with CUDA 12.9",
        "CUDA runtime version 12090, driver version 13000",
        "",
        "Job summary",
        "===========",
        "",
    ]
    out += _summary(peers, verbose=verbose)
    out += ["", "Communicators... (0.01s)", "=============", ""]
    views = [_View(state, each) for each in state.comms]
    views.sort(key=lambda v: (*(-each for each in v.key), len(v.told)))
    rows: dict[tuple[int, int, int, int], list[_View]] = {}
    for view in views:
        rows.setdefault(view.key, []).append(view)
    if rows:
        out += [
            "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors",
            "    #  in group  per comm  per node  per comm  in group",
        ]
    else:
        out.append("No communicator data collected!")
    names: list[tuple[str, _View]] = []
    for row, (key, held) in enumerate(rows.items()):
        many = Counter(peers[m.peer].host for _, m in held[0].told).values()
        per = str(min(many)) if min(many) == max(many) else f"{min(many)}-{max(many)}"
        problems = [
            p
            for bit, p in ((4, "INCOMPLETE"), (2, "ERROR"), (1, "MISMATCH"))
            if key[3] & bit
        ]
        total = len({m.peer for v in held for _, m in v.told})
        out.append(
            f"{row:5d}  {len(held):8d}  {key[1]:8d}  {per:>8}  {key[0]:8d}  {total:8d}  "
            f"{STATUSES[key[2]]:>8}  {','.join(problems) or 'OK':>6}"
        )
        names += [
            (f"#{row}-{number} ({v.comm.hash:016x})", v)
            for number, v in enumerate(held)
        ]
    out += ["", "Errors", "======", ""]
    out += _lost(peers, verbose=verbose)

    def said(number: int, member: Member, what: str = "") -> str:
        peer = peers[member.peer]
        gpu = str(peer.gpu) + (f" (NVML {peer.nvml})" if peer.nvml != peer.gpu else "")
        return f"  Rank {number}{what} -- GPU {gpu} managed by process {peer.pid} on node {peer.host}"

    for name, view in names:
        if view.absent:
            out += [
                f"{name} INCOMPLETE",
                f"  Missing communicator data from {len(view.absent)} rank{'s' * (len(view.absent) > 1)}",
            ]
            if _is_named(len(view.absent), None, verbose=verbose):
                out += [said(*each) for each in view.absent]
            out.append("")
        if view.errors & 2:
            out.append(f"{name} ERROR")
            kinds: list[tuple[str, Callable[[Member], int]]] = [
                ("Initialization", lambda m: m.init),
                ("Asynchronous", lambda m: m.later),
            ]
            for kind, code_of in kinds:
                codes = Counter(code_of(m) for _, m in view.told)
                bad = {
                    c: n for c, n in codes.items() if c not in (SUCCESS, IN_PROGRESS)
                }
                if not bad:
                    continue
                n = sum(bad.values())
                out.append(f"  {kind} error{'s' * (n > 1)} on {n} rank{'s' * (n > 1)}")
                for code in sorted(bad, key=lambda c: (-bad[c], c)):
                    if bad[code] > 1:
                        out.append(f"  {bad[code]} ranks reported {ERRORS[code]}")
                    if _is_named(bad[code], None, verbose=verbose):
                        what = "" if bad[code] > 1 else f" reported {ERRORS[code]}"
                        out += [
                            said(r, m, what)
                            for r, m in sorted(view.told)
                            if code_of(m) == code
                        ]
            out.append("")
    out += ["Warnings", "========", ""]
    if state.timeouts:
        out += [
            "TIMEOUT",
            f"  Encountered {state.timeouts} communication timeout{'s' * (state.timeouts > 1)} while gathering communicator data",
            "",
        ]
    for name, view in names:
        if not view.errors & 1:
            continue
        out.append(f"{name} MISMATCH")
        size = len(view.comm.members)

        def shares(
            values: Sequence[tuple[int, tuple[int, Member]]],
            size: int,
            many: Callable[[int], str],
            one: Callable[[int], str],
        ) -> list[str]:
            lines = []
            groups: dict[int, list[tuple[int, Member]]] = {}
            for value, who in values:
                groups.setdefault(value, []).append(who)
            for value in sorted(groups, key=lambda v: (-len(groups[v]), -v)):
                held = sorted(groups[value], key=lambda each: each[0])
                if len(held) > 1:
                    lines.append(f"  {len(held)} ranks {many(value)}")
                if _is_named(len(held), size, verbose=verbose):
                    what = "" if len(held) > 1 else one(value)
                    lines += [said(*each, what) for each in held]
            return lines

        if len(view.statuses) > 1:
            out.append("  Communicator ranks have different status")
            values = [(m.status, (r, m)) for r, m in view.told] + [
                (0, each) for each in view.left
            ]
            out += shares(
                values,
                size,
                lambda v: f"have status {STATUSES[v]}",
                lambda v: f" has status {STATUSES[v]}",
            )
        for place, collective in enumerate(COLLECTIVES):
            values = [(m.counts[place], (r, m)) for r, m in view.told]
            if len({value for value, _ in values}) > 1:
                out.append(
                    f"  Communicator ranks have different {collective} operation counts"
                )
                out += shares(
                    values,
                    size,
                    lambda v: (
                        f"have launched up to operation {v}"
                        if v
                        else "have not launched any operations"
                    ),
                    lambda v: (
                        f" has launched up to operation {v}"
                        if v
                        else " has not launched any operations"
                    ),
                )
                out.append("")
    return "".join(f"{line}\n" for line in out)


def _summary(peers: Sequence[Peer], *, verbose: bool) -> list[str]:
    nodes = Counter(each.host for each in peers)
    many = Counter(nodes.values())
    if len(many) == 1:
        return [
            "  Nodes  Processes         GPUs  Processes     GPUs",
            "(total)   per node  per process    (total)  (total)",
            f"{len(nodes):7d}  {next(iter(many)):9d}  {1:11d}  {len(peers):9d}  {len(peers):7d}",
        ]
    out = ["  Nodes  Processes         GPUs", "          per node  per process"]
    ordered = sorted(many, key=lambda each: (-many[each], -each))
    out += [f"{many[each]:7d}  {each:9d}  {1:11d}" for each in ordered]
    out += [
        "",
        "  Nodes  Processes         GPUs",
        "(total)    (total)      (total)",
        f"{len(nodes):7d}  {len(peers):9d}  {len(peers):11d}",
    ]
    for each in ordered[1:]:
        if _is_named(many[each], len(nodes), verbose=verbose):
            out += ["", f"The outlier node{'s' * (many[each] > 1)}:"]
            for host in [host for host, count in nodes.items() if count == each]:
                pids = ",".join(str(p.pid) for p in peers if p.host == host)
                out.append(f"  Node {host} running process{'es' * (each > 1)} {pids}")
    return out


def _lost(peers: Sequence[Peer], *, verbose: bool) -> list[str]:
    out: list[str] = []
    missing = [each for each in peers if each.state == "missing"]
    dead = [each for each in peers if each.state == "dead"]
    for lost, head in (
        (
            missing,
            [
                "INCOMPLETE",
                f"  Missing communicator data from {len(missing)} job process{'es' * (len(missing) > 1)}",
            ],
        ),
        (
            dead,
            [
                "DEAD",
                f"  {len(dead)} job process{'es are' if len(dead) > 1 else ' is'} considered dead (unreachable via the RAS network)",
            ],
        ),
    ):
        if not lost:
            continue
        out += head
        if _is_named(len(lost), None, verbose=verbose):
            for each in sorted(lost, key=lambda p: (p.host, p.pid)):
                nvml = f" (NVML {each.nvml})" if each.nvml != each.gpu else ""
                out.append(
                    f"  Process {each.pid} on node {each.host} managing GPU {each.gpu}{nvml}"
                )
        out.append("")
    return out


def as_json(state: State, version: str = "2.28.7+cuda13.0") -> str:
    """Return the same in JSON, which names everybody."""
    comms = []
    for comm in state.comms:
        view = _View(state, comm)
        ranks: list[dict[str, Any]] = []
        absent: list[dict[str, Any]] = []
        for number, member in enumerate(comm.members):
            peer = state.peers[member.peer]
            place = {
                "rank": number, "host": peer.host, "pid": peer.pid, "cuda_dev": peer.gpu, "nvml_dev": peer.nvml,
            }  # fmt: skip
            if (number, member) in view.told:
                status = {
                    "init_state": member.init,
                    "async_error": member.later,
                    "finalize_called": member.finalized,
                    "destroy_flag": member.finalized,
                    "abort_flag": member.aborted,
                }
                counts = dict(zip(COLLECTIVES, member.counts, strict=True))
                ranks.append({**place, "status": status, "collective_counts": counts})
            else:
                status = {
                    "unresponsive": peer.state != "there",
                    "considered_dead": peer.state == "dead",
                }
                absent.append({**place, "status": status})
        comms.append(
            {
                "hash": hex(comm.hash),
                "secondary_hash": "0x1:0x2",
                "size": len(comm.members),
                "ranks_count": len(ranks),
                "missing_ranks_count": len(absent),
                "ranks": ranks,
                "missing_ranks": absent,
            }
        )
    whole = {
        "nccl_version": version,
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": "2026-03-04 05:06:07",
        "communicators_count": len(comms),
        "communicators": comms,
        "ras": {"collection_time_sec": 0.003, "timeouts_count": state.timeouts},
    }
    return json.dumps(whole, indent=2)
