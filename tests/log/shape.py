"""What a job of the log generator looks like: nodes, ranks, communicators.

Plain data, all derived from the fields of a :class:`Job`: two equal jobs are said alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from dialects import DIALECTS, Dialect

AMD_BUSES = "c1000 c6000 c9000 ce000 d1000 d6000 d9000 de000".split()
NVIDIA_BUSES = "7000 f000 47000 4e000 87000 90000 b7000 bd000".split()
NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job whose log is wanted.

    Attributes:
        nodes: how many nodes.
        ranks_per_node: how many ranks, one GPU each, on every node.
        dialect: who writes, a key of ``DIALECTS``.
        network: what is to carry the payload: ``ofi``, ``ib`` or ``socket``.
        hosts: names of the nodes; ``nid001001`` and so on where not given.
        fallen: nodes (by index) where the plugin was not found.
        failed: nodes where the plugin was found and could not start.
        pinned: ``NCCL_NET`` names the network: a rank without it dies.
        provider: libfabric provider; with ``tcp`` or ``sockets`` no rank has GDR.
        nics: NICs of each node.
        gdr: GPUDirect RDMA: on all ranks, on none, or the set of ranks without.
        gdr_mode: as of 2.26, what stands in brackets behind GDRDMA, such as ``PCI``.
        proxies: channels between nodes go through another rank of the node (PXN).
        interface: of the bootstrap; without a digit at its end there are as many as NICs.
        missing: ranks that never say anything.
        stopped: ranks that begin to initialise and never complete.
        processes: ``rank`` (one each) or ``node`` (one that drives all its GPUs).
        masked: every process sees its own GPU only, as device 0.
        timestamps: INFO lines have one too, as of 2.26; WARN lines have it anyway.
        debug: ``NCCL_DEBUG``: ``INFO``, ``WARN``, ``VERSION``; empty: NCCL is silent.
        subsystems: ``NCCL_DEBUG_SUBSYS`` (``INIT,COLL``, ``^INIT``, ``ALL``); None: default.
        errors: what goes wrong: rank to names of ``ERRORS`` or ``BENIGN``.
        channels: how many channels rings and trees have; 0: nothing was sent yet.
        alltoall: how many channels each rank opens to every other rank.
        groups: communicators after that of all ranks: ``node`` (one in each node),
            ``across`` (ranks of one local number), ``alone`` (one rank).
        ended: communicators are destroyed at the end.
        seed: order of the lines of different ranks, and numbers such as process ids.
    """

    nodes: int = 2
    ranks_per_node: int = 8
    dialect: str = "rccl-2.21"
    network: str = "ofi"
    hosts: tuple[str, ...] = ()
    fallen: frozenset[int] = NONE
    failed: frozenset[int] = NONE
    pinned: bool = False
    provider: str = "cxi"
    nics: int = 4
    gdr: bool | frozenset[int] = True
    gdr_mode: str = ""
    proxies: bool = False
    interface: str = "hsn"
    missing: frozenset[int] = NONE
    stopped: frozenset[int] = NONE
    processes: str = "rank"
    masked: bool = False
    timestamps: bool = False
    debug: str = "INFO"
    subsystems: str | None = None
    errors: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    channels: int = 2
    alltoall: int = 0
    groups: tuple[str, ...] = ()
    ended: bool = False
    seed: int = 0

    @property
    def world(self) -> int:
        return self.nodes * self.ranks_per_node

    @property
    def is_all_gdr(self) -> bool:
        """Say whether every rank has GPUDirect RDMA: all vote on that, as of 2.24."""
        without = not self.gdr if isinstance(self.gdr, bool) else bool(self.gdr)
        without = without or self.has_slow_provider or self.network == "socket"
        return not (without or self.fallen or self.failed)

    @property
    def has_slow_provider(self) -> bool:
        """Say whether libfabric has only what cannot reach the GPU's memory."""
        return self.network == "ofi" and self.provider in {"tcp", "sockets"}

    def host(self, node: int) -> str:
        return self.hosts[node] if self.hosts else f"nid{node + 1001:06}"


class Said(NamedTuple):
    """A message.

    Attributes:
        text: what follows ``NCCL INFO`` or ``NCCL WARN``.
        of: subsystems; one that is shown is enough. Empty: always.
        level: ``INFO``, ``WARN``, ``RETURN`` (INFO: a source line and its error on the way
            back up), or empty for lines without any prefix.
        where: source of a warning: ``net.cc:626``, or a function and its line.
        by_plugin: the plugin says it, not the library.
        function: the function that 2.30 names behind the source.
        main: said by the main thread of the process.
    """

    text: str
    of: str = "INIT"
    level: str = "INFO"
    where: str = ""
    by_plugin: bool = False
    function: str = ""
    main: bool = False


@dataclass(frozen=True)
class Comm:
    """A communicator as one of its ranks knows it; ranks are numbers in the world."""

    number: int
    ranks: range
    per_node: int

    @property
    def nodes(self) -> int:
        return len(self.ranks) // self.per_node


@dataclass(frozen=True)
class Rank:
    """One rank of a job, with all that its lines name."""

    job: Job
    number: int

    @cached_property
    def dialect(self) -> Dialect:
        return DIALECTS[self.job.dialect]

    @cached_property
    def node(self) -> int:
        return self.number // self.job.ranks_per_node

    @cached_property
    def local(self) -> int:
        return self.number % self.job.ranks_per_node

    @cached_property
    def host(self) -> str:
        return self.job.host(self.node)

    @cached_property
    def has_own_process(self) -> bool:
        return self.job.processes == "rank"

    @cached_property
    def is_first_of_process(self) -> bool:
        return self.has_own_process or self.local == 0

    @cached_property
    def pid(self) -> int:
        of_node = 40_000 + (self.node * 7919 + self.job.seed * 104_729) % 80_000
        return of_node + (self.local * 3 if self.has_own_process else 0)

    @cached_property
    def thread(self) -> int:
        """Thread of this rank's communicator, as of 2.13 or with several GPUs."""
        return self.pid + 200 + self.local * 2

    @cached_property
    def device(self) -> int:
        return 0 if self.job.masked and self.has_own_process else self.local

    @cached_property
    def bus(self) -> str:
        return bus(self.dialect, self.local)

    @cached_property
    def has_plugin(self) -> bool:
        without = self.job.fallen | self.job.failed
        return self.job.network == "ofi" and self.node not in without

    @cached_property
    def network(self) -> str:
        """What ``Using network`` says."""
        if self.has_plugin:
            return self.dialect.plugin.network
        return "IB" if self.job.network == "ib" else "Socket"

    @cached_property
    def has_gdr(self) -> bool:
        gdr = self.job.gdr
        allowed = gdr if isinstance(gdr, bool) else self.number not in gdr
        slow = self.job.has_slow_provider or self.network == "Socket"
        return allowed and not slow

    @cached_property
    def interfaces(self) -> list[str]:
        """``hsn0:10.150.1.1<0>`` for each interface, the bootstrap's first."""
        name = self.job.interface
        names = [name]
        if not name[-1].isdigit() and name != "lo":
            names = [f"{name}{index}" for index in range(self.job.nics)]
        return [f"{each}:{self.address(at)}<0>" for at, each in enumerate(names)]

    def address(self, interface: int = 0) -> str:
        if self.job.interface == "lo":
            return "127.0.0.1"
        return f"10.{150 + interface}.{self.node // 250}.{self.node % 250 + 1}"

    def comm(self, comm: Comm) -> str:
        """Address of the communicator in this process."""
        mixed = (self.number * 2_654_435_761 + comm.number * 40_503) % 0x0FFF_FFFF
        return f"0x{0x1000_0000 + mixed * 16:x}"

    def comm_id(self, comm: Comm) -> str:
        """The same on all ranks of the communicator."""
        mixed = (self.job.seed + 1) * 0x9E37_79B9_7F4A_7C15
        mixed += (comm.number + 1) * 0xC2B2_AE3D + comm.ranks[0] * 0x1656_67B1
        return f"0x{mixed % (1 << 64):x}"


def bus(dialect: Dialect, local: int) -> str:
    """Return the PCI bus id of a GPU as the library writes it."""
    buses = AMD_BUSES if dialect.rccl else NVIDIA_BUSES
    return buses[local] if local < len(buses) else f"{0x101 + local * 0x10:x}000"


def world(job: Job) -> Comm:
    """Return the communicator of all ranks."""
    return Comm(0, range(job.world), job.ranks_per_node)


def comms_of(rank: Rank) -> list[Comm]:
    """Return the smaller communicators of *rank*, in the order of the job's groups."""
    job = rank.job
    made = []
    for number, group in enumerate(job.groups, 1):
        first = rank.node * job.ranks_per_node
        if group == "node":
            ranks = range(first, first + job.ranks_per_node)
            made.append(Comm(number, ranks, job.ranks_per_node))
        elif group == "across":
            ranks = range(rank.local, job.world, job.ranks_per_node)
            made.append(Comm(number, ranks, 1))
        else:
            made.append(Comm(number, range(rank.number, rank.number + 1), 1))
    return made
