"""What a machine says of itself; frozen data. Any text of it is the machine's, not ours."""

import re
from collections.abc import Mapping
from typing import NamedTuple

IN_MEMORY = frozenset({"tmpfs", "ramfs"})  # file systems


class Shape(NamedTuple):
    """Nodes that are alike.

    Attributes:
        number: how many there are in a partition.
        gpus: of each, all kinds together.
        kinds: of its GPUs, as Slurm calls them.
        cores: of each that a job can have, as the scheduler counts them: mostly threads.
        memory: of each that a job can have, in MiB.
        sockets: of each; 0: not known.
    """

    number: int
    gpus: int
    kinds: tuple[str, ...]
    cores: int
    memory: int
    sockets: int = 0


class SeenPartition(NamedTuple):
    """A partition, queue or QOS as its scheduler shows it.

    Attributes:
        nodes: the most of a job, if there is a limit, as *time* and *gpus*.
        qos: whose limits hold for every job of the partition, too.
        weights: by resource (``cpu``, ``mem``, ``gpu``), as TRESBillingWeights has them.
    """

    name: str
    nodes: int | None = None
    time: str | None = None
    is_exclusive: bool = False
    is_default: bool = False
    is_up: bool = True
    weights: Mapping[str, str] = {}
    shapes: tuple[Shape, ...] = ()
    gpus: int | None = None
    qos: str = ""


class Site(NamedTuple):
    """A machine, as far as it can be asked.

    Attributes:
        cluster: its name, by Slurm's configuration.
        scheduler: slurm, flux or pbs, by what is on PATH; None: none.
        gpus: the option that takes the number of GPUs, where that is known.
        takes_most: a job is billed for the largest of its shares, not for their sum.
        interfaces: of the network, by name.
        adapters: by name, the link of each: ``InfiniBand``, ``Ethernet``, ``EFA``.
        devices: paths that are there, of those that tell GPUs and networks.
        runtimes: names of those that can be run here.
        modules: that may matter, as they would be loaded.
        accounts: that the user may name, the default first.
        is_measured: its nodes were asked, in a job; *host* then stands for them.
        scratch: the kind of file system of ``$TMPDIR`` on the nodes, and how fast 256 MiB
            were written, MB/s; None: no file could be written.
        masks: CPUs next to each GPU, as masks, in their order.
        bandwidth: of a large all-reduce over NCCL, GB/s.
    """

    host: str
    cluster: str | None = None
    scheduler: str | None = None
    gpus: str | None = None
    takes_most: bool = False
    partitions: tuple[SeenPartition, ...] = ()
    interfaces: tuple[str, ...] = ()
    adapters: Mapping[str, str] = {}
    devices: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    is_measured: bool = False
    scratch: tuple[str, str] | None = None
    masks: tuple[str, ...] = ()
    bandwidth: int | None = None


_NVIDIA = tuple("a100 h100 h200 gh200 b200 gb200 v100 a40 l40 a30".split())


def family_of(site: Site) -> tuple[str, str]:
    """Return the profile that a machine's is to build on, and by what that is known.

    Where no network of a cluster is seen, it is one whose variables do no harm on another;
    what it expects of a job's log is then left out: ``has_network``.
    """
    maker, by = _maker(site)
    hsn = [each for each in site.interfaces if each.startswith("hsn")]
    if hsn or "/dev/cxi0" in site.devices:
        found = {"nvidia": "slingshot-cuda", "amd": "slingshot-rocm"}
        what = f"Slingshot: {hsn[0] if hsn else '/dev/cxi0'}"
        return found.get(maker or "", "slingshot"), f"{what}; {by}"
    links = {link: name for name, link in sorted(site.adapters.items(), reverse=True)}
    if "EFA" in links:
        return "efa", f"EFA: {links['EFA']}"
    ib = [each for each in site.interfaces if each.startswith("ib")]
    if "InfiniBand" in links or ib:
        what = f"InfiniBand: {links.get('InfiniBand') or ib[0]}; {by}"
        return ("roce-rocm" if maker == "amd" else "infiniband-cuda"), what
    if "Ethernet" in links and maker:
        found = {"nvidia": "roce-cuda", "amd": "roce-rocm"}
        return found[maker], f"RDMA over Ethernet: {links['Ethernet']}; {by}"
    if site.scheduler is None:
        return "workstation", "no scheduler, and no network of a cluster"
    family = "roce-rocm" if maker == "amd" else "infiniband-cuda"
    return family, f"no network of a cluster is seen on {site.host}; {by}"


def has_network(site: Site) -> bool:
    """Tell whether a network of a cluster is seen on the machine itself."""
    named = any(each.startswith(("hsn", "ib")) for each in site.interfaces)
    return named or bool(site.adapters) or "/dev/cxi0" in site.devices


def main_shape(site: Site) -> Shape | None:
    """Return the nodes that a profile is most likely for: those with GPUs.

    Those of the partition that is taken where none is named, else the most.
    """
    found = [
        (each.is_default, shape.number, shape)
        for each in site.partitions
        for shape in each.shapes
        if shape.gpus
    ]
    return max(found)[2] if found else None


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
    """Return whose GPUs are called so: ``nvidia``, ``amd`` or None."""
    plain = kind.lower().removeprefix("nvidia_").removeprefix("amd_")
    if re.match("(instinct_)?mi[0-9]", plain):
        return "amd"
    return "nvidia" if plain.startswith(_NVIDIA) else None
