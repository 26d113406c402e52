"""Small logs, each for one thing that a report can say: for the golden reports.

A log is that of two nodes with two ranks each, line by line, where nothing else is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from jobs import Job, text

At = Callable[[int], str]  # what a rank says in a place, by its number


class Scenario(NamedTuple):
    """A log, and what it must show."""

    log: str
    expected: Mapping[str, object] = {}


def by_rank(**said: str) -> dict[int, str]:
    """Return what single ranks say: ``r3="..."``; ``n1`` stands for both of node 1."""
    found = {}
    for name, line in said.items():
        number = int(name[1:])
        for rank in (number,) if name[0] == "r" else (2 * number, 2 * number + 1):
            found[rank] = line
    return found


def small(
    *,
    size: int = 4,
    here: int = 2,
    network: str = "Using network IB",
    start: str = "",
    end: str = "",
    channel: str | None = "NET/IB/0/GDRDMA",
    complete: bool = True,
    only: tuple[int, ...] = (),
    comm_id: str = "0xc1",
    nodes: bool = True,
    first_pid: int = 70,
    instead: Mapping[int, str] = {},
    then: Mapping[int, str] = {},
    host: str = "nid",
) -> str:
    """Return the lines of *size* ranks, *here* on each node.

    Args:
        network: what each says of its network; *instead*: what single ranks do.
        start: further lines before that, of every rank; *end*: behind all others.
        then: further lines of single ranks.
        channel: by what each sends to the next; None: no channel is shown.
        complete: the start comes to its end.
        only: ranks that say anything; empty: all.
        comm_id: of the communicator; empty: none is named.
        nodes: the number of nodes is said.
    """
    lines = []
    for rank in only or range(size):
        node = f"{host}{rank // here + 1}"
        prefix = f"{node}:{first_pid + rank}:{first_pid + rank} [{rank % here}]"
        comm = f"comm 0x{rank + 10:x}a rank {rank} nranks {size} cudaDev {rank % here} busId c1"
        comm += f" commId {comm_id}" if comm_id else ""
        said = ["Bootstrap : Using hsn0:10.0.0.1<0>", *start.splitlines()]
        said += (instead.get(rank, network)).splitlines()
        said.append(f"{comm} - Init START")
        if nodes:
            shape = (
                f"nNodes {-(-size // here)} localRanks {here} localRank {rank % here}"
            )
            said.append(
                f"comm 0x{rank + 10:x}a rank {rank} nRanks {size} {shape} MNNVL 0"
            )
        if complete:
            said.append(f"{comm} - Init COMPLETE")
        if channel:
            peer = (rank + 1) % size
            said.append(f"Channel 00/0 : {rank}[0] -> {peer}[0] [send] via {channel}")
        said += [*then.get(rank, "").splitlines(), *end.splitlines()]
        lines += [
            f"{prefix} {line}" if "NCCL WARN" in line else f"{prefix} NCCL INFO {line}"
            for line in said
        ]
    return "".join(f"{line}\n" for line in lines)


CXI = "NET/OFI Selected Provider is cxi (found 4 nics)\nUsing network AWS Libfabric"
LOADED = "NET/Plugin: Loaded net plugin AWS Libfabric (v5)"
TCP = CXI.replace("cxi (found 4", "tcp (found 1")
OFI = "NET/AWS Libfabric/0/GDRDMA"
SOCKET = (
    "NET/Socket : Using [0]hsn0:10.0.0.1<0> [1]hsn1:10.0.0.2<0>\nUsing network Socket"
)
ABSENT = "NET/Plugin: Could not find: librccl-net.so. Using internal network plugin."
FAILED = "a:1 NCCL WARN NET/OFI aws-ofi-nccl initialization failed"
ASKED = "NET/Plugin: Plugin name set by env to ofi"
MEMORY = "a:1 NCCL WARN NET/OFI Unable to register memory (type = 2) for device 3. RC: -22, E"
CLOSED = "misc/socket.cc:47 NCCL WARN socketProgress: Connection closed by remote peer nid2<4>"
CARRIER = "transport/net.cc:304 -> 2"
GAVE_UP = "group.cc:422 -> 2"
SENT = "NET/Socket/0"
GLOO = "RuntimeError: Gloo connectFullMesh failed with [/x/gloo/transport/tcp/pair.cc:144] no"
AFFINITY = "".join(f"Rank {rank} --> {mask}\n" for rank, mask in enumerate(("0x1", "0x2", "0x4", "0x2")))  # fmt: skip


def stripped(log: str) -> str:
    return re.sub(r"(?m)^\S+ (?=\[\d\] )", "", log)


def labelled(log: str, *, as_rank: bool) -> str:
    form = "[1,{}]<stdout>:{}" if as_rank else "{}: {}"
    lines = []
    for line in log.splitlines():
        pid = re.match(r"nid\d:(\d+)", line)
        lines.append(form.format(int(pid[1]) - 70 if pid else 0, line))
    return "".join(f"{line}\n" for line in lines)


def without(log: str, pattern: str) -> str:
    return "".join(f"{li}\n" for li in log.splitlines() if not re.search(pattern, li))


def newer(log: str) -> str:
    """Return *log* in the words of NCCL 2.24."""
    return log.replace("Bootstrap : Using", "Bootstrap: Using")


def one_process(log: str) -> str:
    """Return *log* as processes of several GPUs write it: one on each node."""
    return re.sub(r"(?m)^(nid\d):\d+:", r"\1:7:", log)


EXIT = "srun: error: nid1: tasks 0-1: Exited with exit code 1\n"
LIMIT = "slurmstepd: error: *** STEP 4.0 ON nid1 CANCELLED AT 2026-03-04T05:06:07 DUE TO TIME LIMIT ***\n"
MOON = "a:1 NCCL WARN The moon is full on day 11"
FAMILY = "a:1 NCCL WARN ncclSocketInit: connecting to address  with family 52321 is neither AF_INET(2) nor AF_INET6(10)"
NIC_OFF = "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"


def stamped(log: str, time: str) -> str:
    """Return *log* with the time in front of its warnings, as newer versions have it."""
    return re.sub(r"(?m)^(?=.* NCCL WARN )", f"[{time}] ", log)


def left(log: str) -> str:
    """Return *log* without rank 0, and of the others how they left their communicator."""
    said = re.sub(r"(?m)^nid1:70:.*\n|.* Init START\n", "", log)
    return re.sub(r" commId \S+ - Init COMPLETE", " - Destroy COMPLETE", said)


HIDDEN = r"comm 0x\w+ rank|Bootstrap"


def later(text: str) -> str:
    """Return *text* as of a second communicator: a process prints its bootstrap once."""
    return re.sub(r"(?m)^.* Bootstrap *: Using .*\n", "", text)


GOOD = small()

SCENARIOS: dict[str, Scenario] = {
    # what a rank uses
    "good": Scenario(GOOD),
    "good-libfabric": Scenario(small(start=LOADED, network=CXI, channel=OFI)),
    "good-one-process-a-node": Scenario(one_process(GOOD)),
    "good-one-rank-a-node": Scenario(small(size=2, here=1)),
    "good-without-channels": Scenario(small(channel=None)),
    "good-rings-tell-gdr": Scenario(newer(small(channel=None, end="Connected all rings, use ring PXN 0 GDR 1"))),
    "good-many-groups": Scenario(GOOD + later(small(comm_id="0xc2", size=2, only=(0, 1), channel=None))),
    "good-expected-all": Scenario(
        small(start=LOADED, network=CXI, channel=OFI),
        {"ranks": 4, "networks": ("AWS Libfabric",), "provider": "cxi", "nics": 4, "prove_nics": True, "interfaces": ("hsn",), "gdr": True},
    ),
    "good-sockets-wanted": Scenario(small(network=SOCKET, channel=SENT), {"allow_socket": True}),
    "good-sockets-expected": Scenario(small(network=SOCKET, channel=SENT), {"networks": ("Socket",)}),
    "good-tcp-wanted": Scenario(small(network=TCP, channel=OFI), {"allow_socket": True}),
    "sockets": Scenario(small(network=SOCKET, channel=SENT)),
    "sockets-on-one": Scenario(small(instead=by_rank(r3=SOCKET))),
    "sockets-connected": Scenario(small(instead=by_rank(r3=SOCKET), end="Connected all rings")),
    "sockets-connected-wanted": Scenario(
        small(instead=by_rank(r3=SOCKET), end="Connected all rings"), {"allow_socket": True}
    ),
    "sockets-on-a-slow-interface": Scenario(small(network=SOCKET.replace("hsn0", "nmn0"), channel=SENT)),
    "sockets-on-one-node": Scenario(small(network=SOCKET, here=4, channel=None)),
    "sockets-on-one-node-fast-wanted": Scenario(
        small(network=SOCKET, here=4, channel=None), {"networks": ("IB",)}
    ),
    "sockets-without-plugin": Scenario(small(start=ABSENT, network=SOCKET, channel=SENT)),
    "sockets-without-plugin-no-reason": Scenario(
        small(start="NET/Plugin: Using internal network plugin.", network=SOCKET, channel=SENT)
    ),
    "sockets-plugin-failed-and-missing": Scenario(
        small(network=SOCKET, channel=SENT, instead=by_rank(n0=f"{ABSENT}\n{SOCKET}", n1=f"{FAILED}\n{SOCKET}"))
    ),
    "sockets-listed-only": Scenario(small(network="NET/Socket : Using [0]hsn0:10.0.0.1<0>", channel=None)),
    "sockets-on-channels-only": Scenario(small(channel=SENT)),
    "network-not-expected": Scenario(GOOD, {"networks": ("AWS Libfabric",)}),
    "network-unknown-name": Scenario(small(network="Using network Quux", channel=None)),
    "network-not-shown": Scenario(small(network="", channel=None)),
    "network-not-shown-of-one": Scenario(small(channel=None, instead=by_rank(r2="cudaDriverVersion 12060"))),
    "network-assigned": Scenario(newer(small(network="Assigned NET plugin IB to comm", channel=None))),
    "plugin-not-needed": Scenario(small(start=FAILED)),
    "plugin-not-needed-asked": Scenario(small(start=f"{ASKED}\n{ABSENT}")),
    "plugin-none-asked": Scenario(small(start=f"{ASKED.replace('ofi', 'none')}\n{ABSENT}")),
    "plugin-doubtful": Scenario(small(start=f"{FAILED}\n{LOADED}", network=CXI, channel=OFI)),
    "plugin-asked-and-missing": Scenario(small(start=f"{ASKED}\n{ABSENT}", network=SOCKET, channel=SENT)),
    "plugin-failed": Scenario(small(start=FAILED, network=SOCKET, channel=SENT)),
    "plugin-failed-and-nothing-more": Scenario(small(start=FAILED, network="", channel=None, complete=False)),
    "plugin-failed-on-one": Scenario(small(instead=by_rank(r1=f"{FAILED}\nUsing network IB", r2=FAILED))),
    "plugin-too-old": Scenario(
        small(start="NET/Plugin: Failed to find ncclNetPlugin symbol (>= v5). x", network=SOCKET, channel=SENT)
    ),
    "plugin-some": Scenario(
        small(start=LOADED, network=CXI, channel=OFI, instead=by_rank(r3=f"{ABSENT}\n{SOCKET}"), end="Connected all rings")
    ),
    "provider-tcp": Scenario(small(network=TCP, channel=OFI)),
    "provider-tcp-of-one": Scenario(small(network=CXI, channel=OFI, instead=by_rank(r1=TCP))),
    "provider-not-shown": Scenario(small(network="Using network AWS Libfabric", channel=OFI)),
    "provider-not-known": Scenario(small(network=CXI.replace("cxi", "quux"), channel=OFI)),
    "provider-not-expected": Scenario(small(network=CXI, channel=OFI), {"provider": "efa"}),
    "provider-expected-of-verbs": Scenario(GOOD, {"provider": "cxi"}),
    "provider-expected-of-sockets": Scenario(small(network=SOCKET, channel=SENT), {"provider": "cxi"}),
    "provider-tcp-expected": Scenario(small(network=TCP, channel=OFI), {"provider": "tcp"}),
    "providers-differ": Scenario(
        small(network=CXI, channel=OFI, instead=by_rank(r1=CXI.replace("cxi", "efa"), r2=CXI.replace("cxi", "verbs;ofi_rxm")))
    ),
    "providers-differ-last": Scenario(small(network=CXI.replace("cxi", "verbs"), channel=OFI, instead=by_rank(r3=CXI))),
    "nics-fewer": Scenario(small(network=CXI, channel=OFI, instead=by_rank(n1=CXI.replace("4 nics", "2 nics"))), {"nics": 4}),
    "nics-differ": Scenario(
        small(network=CXI, channel=OFI, instead=by_rank(r1=CXI.replace("4 nics", "3 nics"), r2=CXI.replace("4 nics", "1 nics")))
    ),
    "nics-of-infiniband": Scenario(
        small(start="NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB hsn0:10.0.0.1<0>"), {"nics": 4}
    ),
    "nics-not-shown": Scenario(GOOD, {"nics": 4, "prove_nics": True}),
    "nics-not-shown-by-profile": Scenario(GOOD, {"nics": 4}),
    "gdr-none": Scenario(small(channel="NET/IB/0")),
    "gdr-of-some-channels": Scenario(
        small(then=by_rank(r2="Channel 01/0 : 2[0] -> 3[0] [send] via NET/IB/0"))
    ),
    "gdr-off-by-plugin": Scenario(
        small(start="NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR", network=CXI, channel=None)
    ),
    "gdr-off-by-driver": Scenario(
        small(start="NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)", channel=None)
    ),
    "gdr-off-by-distance": Scenario(
        small(start="GPU Direct RDMA Disabled for GPU 4 / HCA 0 (distance 7 > 4)", channel=None)
    ),
    "gdr-off-by-driver-on-one-node": Scenario(
        small(here=4, start="NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)", channel=None)
    ),
    "gdr-not-shown": Scenario(small(channel=None), {"gdr": True}),
    "gdr-not-shown-of-one": Scenario(
        small(channel=None, then=by_rank(r0="Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0/GDRDMA", r1="Channel 00/0 : 1[0] -> 0[0] via P2P/IPC")),
        {"gdr": True},
    ),
    "gdr-rings-say-no": Scenario(newer(small(channel=None, then=by_rank(r1="Connected all rings, use ring PXN 0 GDR 0")))),
    "gdr-rings-say-no-culprit-known": Scenario(
        newer(small(then=by_rank(r1="Channel 01/0 : 1[0] -> 2[0] [send] via NET/IB/0\nConnected all rings, use ring PXN 0 GDR 0")))
    ),
    "gdr-rings-on-one-node": Scenario(newer(small(here=4, channel=None, end="Connected all rings, use ring PXN 0 GDR 0"))),
    "interface-slow": Scenario(small().replace("hsn0", "nmn0")),
    "interface-not-expected": Scenario(small().replace("hsn0", "eth0"), {"interfaces": ("hsn", "ib")}),
    "interface-of-sockets-not-expected": Scenario(
        small(network=SOCKET.replace("hsn", "eth"), channel=SENT), {"interfaces": ("hsn",), "allow_socket": True}
    ),
    "interfaces-most-used-first": Scenario(small(instead=by_rank(r0="Bootstrap : Using eth1:10.0.0.1<0>\nUsing network IB"))),
    "one-node": Scenario(small(here=4, channel=None)),
    "one-rank": Scenario(small(size=1, here=1, channel=None)),
    "nodes-not-known": Scenario(without(small(only=(0, 1), channel=None), "nNodes")),
    # what only all ranks show
    "networks-mixed": Scenario(small(channel=None, instead=by_rank(r3=CXI))),
    "networks-of-one-kind-differ": Scenario(small(channel=None, instead=by_rank(r3="Using network IBext_v8"))),
    "versions-differ": Scenario(small(start="NCCL version 2.24.3+cuda12.4", instead=by_rank(r2="NCCL version 2.27.5+cuda12.9\nUsing network IB"))),
    "versions-of-rccl-differ": Scenario(small(start="RCCL version : 2.21.5-HEAD:1", instead=by_rank(r1="RCCL version : 2.22.3-HEAD:2\nUsing network IB"))),
    "versions-differ-by-words": Scenario(
        small(instead=by_rank(
            r0="NET/Plugin : Plugin load (libnccl-net.so) returned 2 : no such file\nUsing network IB",
            r3="NET/Plugin: Could not find: x. Using internal net plugin\nUsing network IB",
        ))
    ),
    "versions-differ-by-words-and-are-known": Scenario(
        small(start="NCCL version 2.24.3+cuda12.4", instead=by_rank(
            r0="NET/Plugin : Plugin load (libnccl-net.so) returned 2 : no such file\nUsing network IB",
            r3="NET/Plugin: Could not find: x. Using internal net plugin\nUsing network IB",
        ))
    ),
    "plugin-versions-differ": Scenario(
        small(network=CXI, channel=OFI, start="NET/OFI Using aws-ofi-rccl 1.4.0", then=by_rank(r2="NET/OFI Using aws-ofi-rccl 1.5.0"))
    ),
    "affinity-wrong": Scenario(GOOD + AFFINITY, {"masks": (1, 2, 4, 8)}),
    "affinity-right": Scenario(GOOD + AFFINITY.replace("0x2\n", "0x2\n", 1).replace("3 --> 0x2", "3 --> 0x8"), {"masks": (1, 2, 4, 8)}),
    "affinity-not-asked": Scenario(GOOD + AFFINITY),
    "warnings-unknown": Scenario(
        small(then=by_rank(r1="a:1 NCCL WARN The moon is full on day 11\na:1 NCCL WARN The moon is full on day 12", r2="a:1 NCCL WARN Mars is near"))
    ),
    "store-not-reached": Scenario("scontrol: not found\nrun.sh: line 4: scontrol: command not found\n"),
    "store-not-reached-and-mended": Scenario("/bin/dash: 1: scontrol: not found\n" + GOOD),
    # who takes part
    "ranks-missing": Scenario(small(only=(0, 2, 3))),
    "ranks-missing-of-expected": Scenario(GOOD, {"ranks": 8}),
    "ranks-fewer-than-expected": Scenario(small(), {"ranks": 2}),
    "worlds-of-one": Scenario("".join(small(size=1, here=1, channel=None, comm_id=f"0x{n}", first_pid=n, host=f"n{n}nid") for n in (1, 2))),
    "ranks-by-label": Scenario(labelled(without(GOOD, HIDDEN), as_rank=True)),
    "ranks-by-label-of-channels": Scenario(
        labelled(without(small(channel=f"{OFI} comm 0x8 nRanks 4", network=CXI), HIDDEN), as_rank=True)
    ),
    "tasks-by-label": Scenario(labelled(without(GOOD, HIDDEN), as_rank=False)),
    "ranks-by-table": Scenario(
        "".join(f"#  Rank  {r} Pid  {70 + r} on  nid{r // 2 + 1} device  {r % 2} [0xc1] X\n" for r in range(4)) + without(GOOD, "comm 0x")
    ),
    "prefix-missing": Scenario(stripped(GOOD)),
    "prefix-missing-of-a-few-lines": Scenario(GOOD + "NCCL INFO Using network Socket\n"),
    "prefix-missing-half": Scenario(small(only=(0, 1)) + stripped(small(only=(2, 3)))),
    "nothing": Scenario("step 1\n"),
    "warnings-only": Scenario("nid1:71:71 [0] a:1 NCCL WARN NUMA auto balancing enabled which\n"),
    "ray-left-out": Scenario(GOOD + "(W pid=1) loaded [repeated 7x across cluster]\n(W pid=1) nid1:71:71 [0] NCCL INFO x [repeated 3x across cluster]\n"),
    "start-not-finished": Scenario(small(complete=False, channel=None)),
    "start-not-finished-channels": Scenario(without(GOOD, "rank [13] .*COMPLETE")),
    "start-not-finished-rings": Scenario(without(small(end="Connected all rings"), "rank 1 .*COMPLETE")),
    "start-not-finished-trees": Scenario(without(small(end="Connected all rings\nConnected all trees"), "rank 2 .*COMPLETE")),
    "smaller-not-finished": Scenario(GOOD + later(small(comm_id="0xc2", size=2, only=(0, 1), complete=False, channel=None))),
    "smaller-finished-by-one": Scenario(GOOD + without(later(small(comm_id="0xc2", size=2, channel=None)), "rank 1 .*COMPLETE")),
    "smaller-lacks-a-rank": Scenario(GOOD + small(comm_id="0xc2", size=2, only=(0,), channel=None, first_pid=900, host="z")),
    "joined-nothing": Scenario(GOOD + "nid1:99:99 [0] NCCL INFO Bootstrap : Using hsn0:10.0.0.1<0>\n"),
    "spoke-and-joined-nothing": Scenario(GOOD + "nid1:99:99 [0] NCCL INFO cudaDriverVersion 12060\n"),
    "bad-and-joined-nothing": Scenario(GOOD + "nid1:99:99 [0] NCCL INFO Using network Socket\n"),
    "alike": Scenario(re.sub(r"(?m)^nid\d:\d+:", "box:1:", small(here=1))),
    "attempts": Scenario(GOOD + small(comm_id="0xc2", first_pid=900)),
    "attempts-one-lacks-a-rank": Scenario(GOOD + small(comm_id="0xc2", first_pid=900, only=(0, 1, 3))),
    "attempts-one-is-bad": Scenario(small(comm_id="0xc2", first_pid=900, network=SOCKET, channel=SENT) + GOOD),
    "attempts-blurred": Scenario(small(comm_id="") + small(comm_id="", first_pid=900)),
    "no-world": Scenario(
        small(size=2, only=(0, 1), comm_id="0xa1", channel=None) + small(size=2, only=(0, 1), comm_id="0xa2", first_pid=80, host="m", channel=None)
        + small(size=2, only=(0, 1), comm_id="0xa3", first_pid=90, host="z", channel=None)
    ),
    # errors
    "error": Scenario(small(then=by_rank(r1=MEMORY))),
    "error-and-what-follows": Scenario(small(then=by_rank(r1=f"{MEMORY}\n{CLOSED}", r2=CLOSED, r3=CLOSED))),
    "errors-on-two-nodes": Scenario(small(then=by_rank(r1=MEMORY, r2="a:1 NCCL WARN Cuda failure 2 'out of memory'"))),
    "errors-of-one-node": Scenario(small(then=by_rank(r0=MEMORY, r1="a:1 NCCL WARN Cuda failure 2 'out of memory'"))),
    "only-what-follows": Scenario(small(then=by_rank(r2=CLOSED))),
    "error-of-no-process": Scenario(f"{GOOD}{GLOO}\n"),
    "warning-of-a-rule": Scenario(small(then=by_rank(r2="a:1 NCCL WARN socketFinalizeAccept: wrong type 3 != 4"))),
    "note-of-a-rule": Scenario(small(then=by_rank(r2="a:1 NCCL WARN NUMA auto balancing enabled which"))),
    "gave-up-silently": Scenario(small(complete=False, channel=None, then=by_rank(r1=f"{CARRIER}\n{GAVE_UP}"))),
    "gave-up-after-the-end": Scenario(small(then=by_rank(r1=f"comm 0xba rank 1 nranks 4 cudaDev 1 busId c1 commId 0xc1 - Abort COMPLETE\n{GAVE_UP}"))),
    "error-not-explained": Scenario(small(then=by_rank(r1=CARRIER, r2="transport/net.cc:304 -> 6", r3="transport/net.cc:304 -> 3"))),
    "traces-of-an-error": Scenario(small(then=by_rank(r1=f"{MEMORY}\n{CARRIER}\n{GAVE_UP}"))),
    # further branches
    "sockets-of-processes-without-ranks": Scenario(without(small(network=SOCKET, channel=SENT), HIDDEN)),
    "sockets-of-one-process-without-rank": Scenario(without(small(network=SOCKET, channel=SENT, only=(1,)), HIDDEN)),
    "sockets-of-one-gpu-of-a-process": Scenario(one_process(small(channel=None, instead=by_rank(r3=SOCKET)))),
    "sockets-of-one-gpu-of-a-process-connected": Scenario(
        one_process(small(instead=by_rank(r3=SOCKET), end="Connected all rings"))
    ),
    "network-unknown-name-without-ranks": Scenario(without(small(network="Using network Quux", channel=None), HIDDEN)),
    "network-unknown-name-of-one-process": Scenario(
        without(small(network="Using network Quux", channel=None, only=(3,)), HIDDEN)
    ),
    "versions-differ-by-words-and-one-is-known": Scenario(
        small(instead=by_rank(
            r0="NCCL version 2.17.1+cuda12.1\nNET/Plugin : Plugin load (libnccl-net.so) returned 2 : no such file\nUsing network IB",
            r3="NET/Plugin: Could not find: x. Using internal net plugin\nUsing network IB",
        ))
    ),
    "words-of-two-versions-in-one-process": Scenario(
        without(small(channel=None), "Bootstrap").replace(
            "Using network IB", "NET/Plugin : Plugin load (x) returned 2 : no\nnid1:70:70 [0] NCCL INFO NET/Plugin: Could not find: x. Using internal net plugin\nnid1:70:70 [0] NCCL INFO Using network IB", 1
        )
    ),
    "nics-named-by-some": Scenario(
        small(network=CXI, channel=OFI, instead=by_rank(r1=CXI.replace(" (found 4 nics)", "")))
    ),
    "nics-fewer-by-two-lines": Scenario(
        small(network=CXI, channel=OFI, start="NET/OFI Selected Provider is efa (found 2 nics)"), {"nics": 4}
    ),
    "plugin-failed-warnings-only": Scenario(f"nid1:71:71 [0] {FAILED}\n"),
    "plugin-failed-and-nothing-more-on-one": Scenario(
        small(channel=None, instead=by_rank(r2=FAILED))
    ),
    "plugin-failed-some": Scenario(
        small(start=LOADED, network=CXI, channel=OFI, instead=by_rank(r3=f"{FAILED}\n{SOCKET}"), end="Connected all rings")
    ),
    "plugin-none-asked-by-file": Scenario(small(start=f"{ASKED.replace('ofi', 'librccl-net-none.so')}\n{ABSENT}")),
    "plugin-two-names": Scenario(small(start=f"{LOADED}\n{LOADED.replace('AWS Lib', 'Lib')}", network=CXI, channel=OFI)),
    "affinity-wrong-of-several": Scenario(
        GOOD + "".join(reversed(AFFINITY.replace("0x1", "0x8").splitlines(keepends=True))), {"masks": (1, 2, 4, 8)}
    ),
    "affinity-without-rank": Scenario(GOOD + "pid 54777's current affinity mask: f0\n", {"masks": (1, 2)}),
    "affinity-of-local-ranks": Scenario(GOOD + "Rank 3 --> 0x1\nRank 2 --> 0x1\n", {"masks": (1, 2)}),
    "plugin-versions-differ-new-first": Scenario(
        small(network=CXI, channel=OFI, instead=by_rank(
            r0=f"NET/OFI Using aws-ofi-rccl 1.5.0\n{CXI}", r3=f"NET/OFI Using aws-ofi-rccl 1.4.0\n{CXI}"))
    ),
    "ranks-by-label-one-is-missing": Scenario(
        labelled(without(small(channel=f"{OFI} comm 0x8 nRanks 4", network=CXI, only=(0, 1, 3)), HIDDEN), as_rank=True)
    ),
    "old-nccl-infiniband-without-channels": Scenario(
        text(Job(ranks_per_node=2, dialect="nccl-2.4", network="ib", channels=0))
    ),
    "old-nccl-libfabric-without-channels": Scenario(text(Job(ranks_per_node=2, dialect="nccl-2.4", channels=0))),
    "old-nccl-sockets": Scenario(text(Job(ranks_per_node=2, dialect="nccl-2.4", network="socket", channels=0))),
    "smaller-without-id-in-one-process": Scenario(
        one_process(GOOD + small(size=2, here=1, comm_id="", channel=None))
    ),
    "torn-in-front": Scenario(GOOD.replace("nid2:72", "RCCL verHnid2:72", 1)),
    "provider-tcp-besides-cxi": Scenario(
        small(network=CXI, channel=OFI, start="NET/OFI Selected Provider is tcp (found 1 nics)")
    ),
    "provider-tcp-where-nics-are-expected": Scenario(
        small(network=TCP, channel="NET/AWS Libfabric/0"), {"nics": 4, "prove_nics": True, "provider": "cxi"}
    ),
    "warnings-of-two-kinds": Scenario(
        small(network=SOCKET, channel=SENT, then=by_rank(r2="a:1 NCCL WARN socketFinalizeAccept: wrong type 3 != 4"))
    ),
    "errors-of-two-kinds-more-often": Scenario(
        small(then=by_rank(r0="a:1 NCCL WARN Cuda failure 2 'out of memory'", r2=f"{MEMORY}\n{MEMORY}"))
    ),
    "no-network-and-plugin-at-work": Scenario(
        small(channel=None, network=SOCKET, instead=by_rank(r3=f"{LOADED}\nNET/OFI Selected Provider is cxi (found 4 nics)"))
    ),
    "islands": Scenario(
        small(here=4, comm_id="0xa1", channel=None) + small(here=4, comm_id="0xa2", channel=None, first_pid=80, host="m")
        + "".join(
            f"{at} [0] NCCL INFO comm 0xee rank {r} nranks 2 cudaDev 0 busId c1 commId 0xa3 - Init COMPLETE\n"
            for r, at in enumerate(("nid1:70:70", "m1:80:80"))
        )
    ),
    "traces-of-no-weight": Scenario(small(then=by_rank(r1="misc/strongstream.cc:3 -> 2"))),
    "gdr-of-all-but-one": Scenario(text(Job(ranks_per_node=2, dialect="nccl-2.18", gdr=frozenset({3})))),
    "gdr-shown-of-some": Scenario(small(channel=None, then=by_rank(r0="Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0/GDRDMA"))),
    "transports-of-all-kinds": Scenario(
        small(then=by_rank(
            r0="Channel 00/0 : 0[0] -> 1[0] via P2P/IPC\nChannel 00/0 : 3[0] -> 0[0] [receive] via NET/IB/1/GDRDMA",
            r1="Channel 00 : 1[0] -> 0[0] via direct shared memory",
            r2="Channel 00/0 : 2[0] -> 3[0] via SHM/direct/direct",
        ))
    ),
    "line-of-a-rank-by-its-label": Scenario(labelled(GOOD, as_rank=True) + f"[1,2]<stderr>:{GLOO}\n"),
    "line-of-a-task-by-its-label": Scenario(labelled(GOOD, as_rank=False) + f"2: {GLOO}\n"),
    "line-of-a-rank-that-is-not-known": Scenario(labelled(GOOD, as_rank=True) + f"[1,9]<stderr>:{GLOO}\n"),
    "label-that-changes": Scenario(labelled(GOOD, as_rank=True) + "[1,3]<stdout>:" + GOOD.splitlines()[0] + f"\n[1,3]<stderr>:{GLOO}\n"),
    "warning-is-the-last-word": Scenario(
        small(start=FAILED, network="", channel=None, complete=False, end="a:1 NCCL WARN NUMA auto balancing enabled which")
    ),
    "warnings-of-many-kinds": Scenario(
        GOOD + "".join(f"nid1:70:70 [0] a:1 NCCL WARN {chr(97 + n // 9) * 9}{chr(97 + n % 9)} is odd\n" for n in range(70))
    ),
    "no-network-and-plugin-loaded-only": Scenario(
        small(channel=None, network=SOCKET, instead=by_rank(r3=LOADED))
    ),
    "ranks-by-table-one-is-silent": Scenario(
        "".join(f"#  Rank  {r} Pid  {70 + r} on  nid{r // 2 + 1} device  {r % 2} [0xc1] X\n" for r in range(4))
        + without(small(only=(0, 1, 2)), r"comm 0x\w+ rank")
    ),
    "lists-sockets-and-joined-nothing": Scenario(GOOD + "nid1:99:99 [0] NCCL INFO NET/Socket : Using [0]hsn0:10.0.0.1<0>\n"),
    "one-node-that-is-not-counted": Scenario(small(here=4, nodes=False, channel=None)),
    "two-nodes-that-are-not-counted": Scenario(small(nodes=False, channel=None)),
    "provider-not-known-where-tcp-is-wanted": Scenario(
        small(network=CXI.replace("cxi", "quux"), channel=OFI), {"allow_socket": True}
    ),
    "gdr-off-on-one-node-and-expected": Scenario(
        small(here=4, start="NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)", channel=None), {"gdr": True}
    ),
    "sockets-on-one-node-on-a-slow-interface": Scenario(
        small(here=4, network=SOCKET.replace("hsn0", "nmn0"), channel=None), {"allow_socket": True}
    ),
    "prefix-missing-of-a-good-line": Scenario(GOOD + "NCCL INFO Using network IB\n"),
    "smaller-ones-lack-ranks": Scenario(
        GOOD + small(size=3, only=(0, 1), comm_id="0xc3", channel=None, first_pid=900, host="z")
        + small(size=2, only=(0,), comm_id="0xc2", channel=None, first_pid=800, host="y")
        + small(size=2, only=(0,), comm_id="0xc4", channel=None, first_pid=700, host="x")
    ),
    "sockets-of-two-and-one-connected": Scenario(
        small(channel=None, instead=by_rank(r2=SOCKET, r3=SOCKET), then=by_rank(r3="Connected all rings"))
    ),
    "smaller-without-id-and-sockets-in-them": Scenario(
        small(then=by_rank(r1="".join(
            f"comm 0x{r}f rank {r} nranks 2 cudaDev 1 busId c1 - Init COMPLETE\n" for r in (0, 1)
        ) + "Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0"))
    ),
    "glued-behind-text": Scenario(re.sub(r"\n(nid2:72:\S+ \[0\] NCCL INFO Channel)", r"\nloss=0.5\1", GOOD)),
    "step-of-one-process-beside": Scenario(GOOD + small(size=1, here=1, comm_id="0xd1", first_pid=900, channel=None)),
    "rings-of-a-node-beside": Scenario(
        newer(small(channel=None, comm_id="0xc9", end="Connected all rings, use ring PXN 0 GDR 1"))
        + later(small(size=2, only=(0, 1), comm_id="0xc8", channel=None, network=""))
    ),
    # what ended the job, beside what is known of its network
    "ended-by-exit-code": Scenario(GOOD + EXIT),
    "ended-by-a-crash-and-exit-codes": Scenario(GOOD + EXIT * 2 + "srun: error: nid2: task 3: Segmentation fault (core dumped)\n"),
    "ended-by-want-of-memory": Scenario(GOOD + "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" + EXIT),
    "ended-by-its-time": Scenario(small(network=SOCKET, channel=SENT) + LIMIT),
    "ended-by-its-time-and-nothing-known": Scenario(LIMIT),
    "ended-by-an-error-and-exit-codes": Scenario(small(then=by_rank(r1=MEMORY)) + EXIT),
    # warnings and what follows them
    "warning-unknown-and-traces": Scenario(small(then=by_rank(r1=f"{MOON}\n{CARRIER}\n{GAVE_UP}"))),
    "warning-unknown-of-many-and-traces": Scenario(
        small(then=by_rank(n0=f"{MOON}\n{CARRIER}", r3=f"{MOON.replace('11', '12')}\ntransport/net.cu:7 -> 7"))
    ),
    "warning-unknown-and-traces-and-on": Scenario(small(start=f"{MOON}\n{CARRIER}")),
    "warning-unknown-and-traces-at-the-end": Scenario(
        small(then=by_rank(r1=f"comm 0xba rank 1 nranks 4 cudaDev 1 busId c1 - Destroy COMPLETE\n{MOON}\n{CARRIER}"))
    ),
    "warning-harmless-and-gave-up": Scenario(small(then=by_rank(r1=f"a:1 NCCL WARN lib wrapper not initialized.\n{GAVE_UP}"))),
    "good-warning-harmless-and-traces": Scenario(small(then=by_rank(r1="a:1 NCCL WARN lib wrapper not initialized.\nmisc/ibvwrap.cc:94 -> 3"))),
    "warning-unknown-and-an-error-that-asks-for-it": Scenario(
        small(then=by_rank(r1=MOON)) + "RuntimeError: NCCL error in: ../x.cpp:1, unhandled system error, NCCL version 2.21.5\n"
    ),
    "warning-known-and-an-error-that-asks-for-it": Scenario(
        "nid1:70:70 [0] transport/net_ib.cc:117 NCCL WARN NET/IB : Unable to open device mlx5_0\n"
        "RuntimeError: NCCL error in: ../x.cpp:1, unhandled system error, NCCL version 2.21.5\n"
    ),
    "good-warning-of-ras": Scenario(small(then=by_rank(r1="ras/client_support.cc:181 NCCL WARN Call to bind failed: Address already in use\nras/ras.cc:9 -> 2"))),
    "errors-at-different-times": Scenario(
        stamped(small(then=by_rank(r1=MEMORY)), "2026-03-04 05:06:09") + stamped(small(then=by_rank(r2="a:1 NCCL WARN Cuda failure 'named symbol not found'")), "2026-03-04 05:06:07")
    ),
    # reasons
    "sockets-ib-disabled": Scenario(small(start="NCCL_IB_DISABLE set by environment to 1.", network=SOCKET, channel=SENT)),
    "sockets-asked": Scenario(small(start="NCCL_NET set by environment to Socket.", network=SOCKET, channel=SENT)),
    "sockets-named-nic-absent": Scenario(
        small(start="NCCL_IB_HCA set to mlx5_9\nNET/IB : No device found.", network=SOCKET, channel=SENT)
    ),
    "sockets-plugin-lacks-a-library": Scenario(
        small(start=f"NET/Plugin: libfabric.so.1: cannot open shared object file: No such file or directory\n{ABSENT}", network=SOCKET, channel=SENT)
    ),
    "sockets-on-interfaces-that-differ": Scenario(
        small(network=SOCKET, channel=SENT, instead=by_rank(n1=SOCKET.replace("hsn", "eno")))
    ),
    "sockets-on-infiniband": Scenario(small(network=SOCKET.replace("hsn", "ib"), channel=SENT)),
    "address-without-family": Scenario(small(then=by_rank(r1=f"{FAMILY}\nbootstrap.cc:9 -> 2"))),
    "address-without-family-of-a-channel": Scenario(small(then=by_rank(r1=f"{FAMILY}\ntransport/net_ib.cc:9 -> 2"))),
    # networks
    "gdr-off-for-every-nic": Scenario(small(start=NIC_OFF, channel=None)),
    "good-gdr-off-for-one-nic": Scenario(small(start=f"{NIC_OFF}\n{NIC_OFF.replace('Dis', 'En').replace('mlx5_0', 'mlx5_1').replace('HCA 0', 'HCA 1')}", channel=None)),
    "good-gdr-off-for-nics-of-sockets": Scenario(small(start=NIC_OFF.replace("NET/IB", "NET/Socket"), channel=None)),
    "good-network-of-google": Scenario(small(network="Using network FasTrak", channel="NET/FasTrak/0")),
    "good-network-of-google-roce": Scenario(small(network="Using network gIB", channel="NET/gIB/0/GDRDMA")),
    "network-strange-without-gdr": Scenario(newer(small(network="Using network Quux", channel="NET/Quux/0", end="Connected all rings, use ring PXN 0 GDR 0"))),
    "loopback-on-one-node": Scenario(small(here=4, channel=None).replace("hsn0", "lo")),
    "good-loopback-on-two-nodes": Scenario(small().replace("hsn0", "lo")),
    "good-old-and-no-version": Scenario(
        small(network="NET/IB : Using [0]mlx5_0:1/IB ; OOB hsn0:10.0.0.1<0>", comm_id="", nodes=False).replace("Using hsn0", "Using [0]hsn0")
    ),
    "good-left-by-some": Scenario(small(only=(0,), comm_id="0xc1") + left(small(comm_id="0xc1"))),
    # jobs as they are
    "old-nccl": Scenario(text(Job(ranks_per_node=2, dialect="nccl-2.4"))),
    "new-rccl-fallen": Scenario(text(Job(ranks_per_node=2, dialect="rccl-2.27", fallen=frozenset({1}), ended=True))),
    "nccl-fallen-first": Scenario(text(Job(ranks_per_node=2, dialect="nccl-2.18", fallen=frozenset({0})))),
    "pinned": Scenario(text(Job(ranks_per_node=2, dialect="nccl-2.24", fallen=frozenset({1}), pinned=True))),
    "many-nodes": Scenario(text(Job(nodes=30, ranks_per_node=2, dialect="nccl-2.24", fallen=frozenset({1, 8}), missing=frozenset({7})))),
    "node-process-one-gpu-without-gdr": Scenario(text(Job(ranks_per_node=4, dialect="nccl-2.24", processes="node", gdr=frozenset({3})))),
    "step-beside": Scenario(GOOD + small(size=2, here=2, comm_id="0xd1", first_pid=900, channel=None)),
}  # fmt: skip
