"""The facts of a machine; frozen data, with texts that are untrusted."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.common.characters import Texts

IN_MEMORY = frozenset({"tmpfs", "ramfs"})  # file systems


class NodeGroup(NamedTuple):
    """Nodes with the same resources."""

    number: int  # their number in a partition
    gpus: int  # GPUs per node, of all kinds
    kinds: Texts  # the kinds of GPUs, by Slurm's names
    cores: int  # cores per node for jobs, in the scheduler's count: usually threads
    memory: int  # memory per node for jobs, in MiB
    sockets: int = 0  # sockets per node; 0: unknown
    features: Texts = ()  # features that all of them have
    partly: Texts = ()  # those that some of them have
    is_typed: bool = False  # whether a job can request the kinds as types of GRES

    @property
    def same(self) -> "NodeGroup":
        """The resources of a node: equal for nodes of one kind."""
        return self._replace(number=0, features=(), partly=())


class SeenPartition(NamedTuple):
    """A partition, queue or QOS of the scheduler."""

    name: str
    nodes: int | None = None  # the limit of a job, if any, as for *time* and *gpus*
    time: str | None = None
    is_exclusive: bool = False
    is_default: bool = False
    is_up: bool = True
    # By resource (`cpu`, `mem`, `gpu`), from TRESBillingWeights.
    weights: Mapping[str, str] = {}
    shapes: tuple[NodeGroup, ...] = ()
    gpus: int | None = None
    qos: str = ""  # the QOS with limits for every job of the partition


class Site(NamedTuple):
    """A machine, with all facts that could be read."""

    host: str
    cluster: str | None = None
    # Slurm, flux or pbs, by the commands on PATH; None: none.
    scheduler: str | None = None
    gpus: str | None = None  # the option for the number of GPUs, if known
    # Whether a job is billed for its largest share, not for their sum.
    takes_most: bool = False
    partitions: tuple[SeenPartition, ...] = ()
    interfaces: Texts = ()
    # The link of each adapter: `InfiniBand`, `Ethernet`, `EFA`.
    adapters: Mapping[str, str] = {}
    devices: Texts = ()  # existing paths that identify GPUs and networks
    runtimes: Texts = ()
    modules: Texts = ()  # modules that may matter, with the names to load
    accounts: Texts = ()  # the user's accounts, the default first
    # Whether its nodes were examined in a job; *host* then represents them.
    is_measured: bool = False
    # The file system of `$TMPDIR` on the nodes, and the speed of writing 256 MiB, in
    # MB/s; None: no file could be written.
    scratch: tuple[str, str] | None = None
    masks: Texts = ()  # CPUs next to each GPU, as masks, in the order of GPUs
    bandwidth: int | None = None  # bandwidth of a large all-reduce over NCCL, in GB/s


_NVIDIA = tuple("a100 h100 h200 gh200 b200 gb200 v100 a40 l40 a30".split())


def family_of(site: Site) -> tuple[str, str]:
    """Return the family for a machine's profile, and the evidence.

    Without a visible cluster network, it is a family whose variables are harmless on
    others. Its expectations on a job's log are then left out: see ``has_network``.
    """
    maker, by = _maker(site)
    hsn = [interface for interface in site.interfaces if interface.startswith("hsn")]
    if hsn or "/dev/cxi0" in site.devices:
        families = {"nvidia": "slingshot-cuda", "amd": "slingshot-rocm"}
        evidence = f"Slingshot: {hsn[0] if hsn else '/dev/cxi0'}"
        return families.get(maker or "", "slingshot"), f"{evidence}; {by}"
    links = {link: name for name, link in sorted(site.adapters.items(), reverse=True)}
    if "EFA" in links:
        return "efa", f"EFA: {links['EFA']}"
    ib = [interface for interface in site.interfaces if interface.startswith("ib")]
    if "InfiniBand" in links or ib:
        evidence = f"InfiniBand: {links.get('InfiniBand') or ib[0]}; {by}"
        return ("roce-rocm" if maker == "amd" else "infiniband-cuda"), evidence
    if "Ethernet" in links and maker:
        families = {"nvidia": "roce-cuda", "amd": "roce-rocm"}
        return families[maker], f"RDMA over Ethernet: {links['Ethernet']}; {by}"
    if site.scheduler is None:
        return "workstation", "no scheduler, and no network of a cluster"
    family = "roce-rocm" if maker == "amd" else "infiniband-cuda"
    return family, f"no network of a cluster is seen on {site.host}; {by}"


def has_network(site: Site) -> bool:
    """Return whether a network of a cluster is seen on the machine itself."""
    is_named = any(interface.startswith(("hsn", "ib")) for interface in site.interfaces)
    return is_named or bool(site.adapters) or "/dev/cxi0" in site.devices


def main_shape(site: Site) -> NodeGroup | None:
    """Return the most likely nodes for a profile: those with GPUs.

    They are in the default partition, or else the most numerous ones.
    """
    shapes = [
        (partition.is_default, shape.number, shape)
        for partition in site.partitions
        for shape in partition.shapes
        if shape.gpus
    ]
    return max(shapes)[2] if shapes else None


def _maker(site: Site) -> tuple[str | None, str]:
    if "/dev/nvidiactl" in site.devices:
        return "nvidia", "/dev/nvidiactl"
    if "/dev/kfd" in site.devices:
        return "amd", "/dev/kfd"
    shape = main_shape(site)
    for kind in shape.kinds if shape else ():
        if maker := maker_of(kind):
            return maker, f"the scheduler's GPUs are {kind}"
    return None, "the maker of the GPUs is unknown"


def maker_of(kind: str) -> str | None:
    """Return the maker of GPUs with this name: ``nvidia``, ``amd`` or None."""
    plain = kind.lower().removeprefix("nvidia_").removeprefix("amd_")
    if re.match("(instinct_)?mi[0-9]", plain):
        return "amd"
    return "nvidia" if plain.startswith(_NVIDIA) else None
