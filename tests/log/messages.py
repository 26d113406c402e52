"""What a rank says on its way to a communicator, by version of the library.

Each function returns messages in order; the prefix comes later. The plugin speaks in
:mod:`ofi`, channels in :mod:`rings`.
"""

from __future__ import annotations

from ofi import plugin_failure, plugin_search, plugin_start, provider
from shape import Comm, Rank, Said


def opening(rank: Rank) -> list[Said]:
    """Return what the process says before it makes a communicator."""
    d = rank.dialect
    interface = rank.interfaces[0]
    name = rank.job.interface
    echo = Said(f"NCCL_SOCKET_IFNAME set by environment to {name}", "ENV")
    if d.version >= (2, 24):
        bootstrap = Said(f"Bootstrap: Using {interface}", "BOOTSTRAP")
    elif d.version >= (2, 8):
        bootstrap = Said(f"Bootstrap : Using {interface}")
    else:
        listed = " ".join(f"[{at}]{each}" for at, each in enumerate(rank.interfaces))
        bootstrap = Said(f"Bootstrap : Using {listed}")
    said = [echo, bootstrap]
    if d.version < (2, 22):
        said += network(rank) if d.version < (2, 13) else plugin_search(rank)
    said += versions(rank)
    return [each._replace(main=True) for each in said]


def versions(rank: Rank) -> list[Said]:
    """Return the version of the library, and what it runs on."""
    d = rank.dialect
    if d.rccl:
        kernel = Said("Kernel version: 5.14.21-150500.55.97_13.0.73-cray_shasta_c")
        runtime = [Said("Hipruntime version: 70226043, firmware version: 171")]
        dmabuf = Said("Dmabuf feature disabled without NCCL_DMABUF_ENABLE=1")
        host = [kernel, *(runtime if d.version >= (2, 27) else [])]
        return [*host, Said(f"ROCr version {d.driver}"), dmabuf, *banner(rank)]
    driver = [Said(f"cudaDriverVersion {d.driver}")] if d.driver else []
    return [*driver, *banner(rank)]


def banner(rank: Rank) -> list[Said]:
    """Return the version lines: of rank 0 until 2.21, later of every process."""
    d = rank.dialect
    if not rank.job.debug:
        return []
    if rank.number and d.version < ((2, 26) if d.rccl else (2, 22)):
        return []
    level = "INFO" if d.version >= ((2, 26) if d.rccl else (2, 22)) else ""
    if rank.job.debug != "INFO":
        level = ""
    if not d.rccl:
        lines = [f"NCCL version {d.shown}"]
        if d.version >= (2, 29):
            lines.append("NCCL git version stable 5a1c9e27f")
        return [Said(line, "", level) for line in lines]
    if not d.rocm:
        return [Said(f"RCCL version {d.shown}", "", level)]
    continued = [
        f"RCCL version : {d.shown}",
        f"HIP version  : {d.hip}",
        f"ROCm version : {d.rocm}",
        f"Hostname     : {rank.host}",
        "Librccl path : /opt/rocm/lib/librccl.so.1",
    ]
    return [Said("\n".join(continued), "", level)]


def network(rank: Rank) -> list[Said]:
    """Return the way to the network, from the search for a plugin where it is late."""
    d = rank.dialect
    late = d.version < (2, 13) or d.version >= (2, 22)
    said = plugin_search(rank) if late else []
    if rank.has_plugin:
        return [*said, *plugin_start(rank), *provider(rank), *chosen(rank)]
    if rank.job.network == "ofi" and rank.node in rank.job.failed:
        said += [*plugin_start(rank), *plugin_failure(rank)]
    if rank.job.pinned:
        return [*said, *network_not_found(rank)]
    hands = d.version >= (2, 28) or (d.rccl and d.version >= (2, 27))
    out_of_band = f"OOB {rank.interfaces[0]}"
    if rank.job.network == "ib":
        listed = " ".join(f"[{at}]mlx5_{at}:1/IB" for at in range(rank.job.nics))
        relaxed = "[RO]" if d.version >= (2, 12) else ""
        said.append(
            Said(f"NET/IB : Using {listed} {relaxed}; {out_of_band}", "INIT,NET")
        )
        return said + chosen(rank)
    said.append(Said("NET/IB : No device found.", "INIT,NET"))
    if hands:
        said.append(Said(f"NET/IB : Using [RO]; {out_of_band}", "INIT,NET"))
    if d.version >= (2, 28):
        said.append(Said("Failed to initialize NET plugin IB"))
    listed = " ".join(f"[{at}]{each}" for at, each in enumerate(rank.interfaces))
    said.append(Said(f"NET/Socket : Using {listed}", "INIT,NET"))
    return said + chosen(rank)


def chosen(rank: Rank) -> list[Said]:
    """Return the lines that name the network: the same again for each communicator."""
    at = rank.dialect.version
    said = []
    if at >= (2, 27):
        said.append(f"Initialized NET plugin {rank.network}")
        said.append(f"Assigned NET plugin {rank.network} to comm")
    elif (2, 19) <= at < (2, 22):
        said.append("Using non-device net plugin version 0")
    if at >= (2, 6, 4):
        said.append(f"Using network {rank.network}")
    return [Said(text) for text in said]


def network_not_found(rank: Rank) -> list[Said]:
    """Return how a rank ends whose ``NCCL_NET`` names what is not there."""
    if rank.dialect.version >= (2, 27):
        words, where = "Failed to initialize any NET plugin", "plugin/net.cc:381"
    else:
        words, where = (
            f"Error: network {rank.dialect.plugin.network} not found.",
            "net.cc:626",
        )
    return [
        Said(words, "", "WARN", where, function="ncclNetInit"),
        Said("init.cc:1383 -> 5", level="RETURN", function="commAlloc"),
        Said("group.cc:64 -> 5 [Async thread]", level="RETURN", function="asyncJob"),
    ]


def init_start(rank: Rank, comm: Comm) -> list[Said]:
    """Return the start of a communicator, 2.18.3 and later."""
    d = rank.dialect
    said = []
    if d.version >= (2, 18, 3):
        number = comm.ranks.index(rank.number)
        label = f"[Rank {number}] " if d.version >= (2, 29) else ""
        said.append(Said(f"{label}{_name(rank, comm)} - Init START"))
    if d.version >= (2, 23):
        wait = 0.02 + rank.number % 97 / 1000
        parts = f"create 0.000038, send 0.000212, recv {wait:.6f}, ring 0.000304"
        times = f"{wait + 0.000554:.6f} ({parts}, delay 0.000001)"
        said.append(Said(f"Bootstrap timings total {times}", "BOOTSTRAP,PROFILE"))
    return said


def init_complete(rank: Rank, comm: Comm) -> list[Said]:
    """Return the end of the initialisation of a communicator."""
    d = rank.dialect
    used = ""
    if d.rccl and d.version < (2, 23):
        core = f" on core {rank.local * 8 + 1}" if d.version >= (2, 20) else ""
        used = f" localSize 304 used {220_000_000 + rank.number * 4096} bytes{core}"
    said = [f"{_name(rank, comm)}{used} - Init COMPLETE"]
    if d.version >= (2, 22):
        number = comm.ranks.index(rank.number)
        parts = "kernels 0.21, alloc 0.31, bootstrap 0.12, allgathers 0.02, topo 0.03"
        said.append(
            f"Init timings - {d.init}: rank {number} nranks {len(comm.ranks)} total 0.72"
            f" ({parts}, graphs 0.01, connections 0.02, rest 0.00)"
        )
    return [Said(text) for text in said]


def destroyed(rank: Rank, comm: Comm) -> list[Said]:
    """Return the end of a communicator, 2.12 and later."""
    if rank.dialect.version < (2, 12):
        return []
    said = f"comm {rank.comm(comm)} rank {comm.ranks.index(rank.number)}"
    said += f" nranks {len(comm.ranks)} cudaDev {rank.device} busId {rank.bus}"
    return [Said(f"{said} - Destroy COMPLETE", main=True)]


def _name(rank: Rank, comm: Comm) -> str:
    d = rank.dialect
    function = f"{d.init} " if d.version >= (2, 21) else ""
    number = comm.ranks.index(rank.number)
    text = f"{function}comm {rank.comm(comm)} rank {number} nranks {len(comm.ranks)}"
    text += f" cudaDev {rank.device}"
    if d.version < (2, 5) or d.version >= (2, 18, 3):
        text += f" nvmlDev {rank.local}"
    if d.version >= (2, 5):
        text += f" busId {rank.bus}"
    if d.version >= (2, 16):
        text += f" commId {rank.comm_id(comm)}"
    return text
