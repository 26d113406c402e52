"""What this machine says of itself: its scheduler, /sys, /dev, PATH and MODULEPATH."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from shutil import which

from envcfg.core.here import cluster_here
from envcfg.core.selection import ask, interfaces
from envcfg.profile.site.model import Site
from envcfg.profile.site.slurm import (
    read_accounts,
    read_config,
    read_partitions,
    read_shapes,
)

_SECONDS = 30
_MOST = 32 << 20  # characters of an answer
_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/cxi0")
_ADAPTERS = "/sys/class/infiniband"
# Modules that a container's job may want: how their names begin.
_WANTED = (
    *("apptainer", "singularity", "charliecloud", "podman"),
    *("aws-ofi-", "nccl", "rccl", "libfabric", "cuda", "rocm"),
)
_MOST_MODULES = 2000


def this_site() -> Site:
    """Return what can be told here; what does not answer is left out."""
    from envcfg.runtimes import NAMES, runtime

    config = read_config(ask(["scontrol", "show", "config"], _SECONDS)[:_MOST])
    cluster = config.get("ClusterName")
    shapes, partitions, accounts = "", "", ""
    if config:
        show = ["scontrol", "--all", "--oneliner", "show"]
        shapes = ask([*show, "node"], _SECONDS)[:_MOST]
        partitions = ask([*show, "partition"], _SECONDS)[:_MOST]
    if config and (user := os.environ.get("LOGNAME") or os.environ.get("USER")):
        what = [
            "show",
            "user",
            user,
            "withassoc",
            "format=DefaultAccount,Account,Cluster",
        ]
        who = ["sacctmgr", "--noheader", "--parsable2", *what]
        accounts = ask(who, _SECONDS)[:_MOST]
    scheduler, way = None, config.get("SelectType")
    if config:
        scheduler = "slurm"
    elif which("flux"):
        scheduler = "flux"
    elif which("qsub") and which("qstat"):
        scheduler = "pbs"
    programs = {name: runtime(name).program for name in NAMES}
    return Site(
        host=os.uname().nodename,
        cluster=cluster or cluster_here(),
        scheduler=scheduler,
        # Only one of Slurm's ways to select takes the newer option for GPUs.
        gpus=way and ("--gpus-per-node" if "cons_tres" in way else "--gres"),
        takes_most="MAX_TRES" in config.get("PriorityFlags", ""),
        partitions=tuple(read_partitions(partitions, read_shapes(shapes))),
        interfaces=tuple(interfaces()),
        adapters=dict(_adapters()),
        devices=tuple(each for each in _DEVICES if os.path.exists(each)),
        runtimes=tuple(
            name for name, program in programs.items() if program and which(program)
        ),
        modules=tuple(_modules(os.environ)),
        accounts=read_accounts(accounts, cluster or ""),
    )


def _adapters() -> Iterator[tuple[str, str]]:
    """Yield the adapters with RDMA, and what their first port is linked by."""
    for name in _names(_ADAPTERS):
        if name.startswith("efa"):
            yield name, "EFA"
            continue
        try:
            with open(
                f"{_ADAPTERS}/{name}/ports/1/link_layer", encoding="ascii"
            ) as file:
                yield name, file.read(100).strip()
        except (OSError, ValueError):
            continue


def _modules(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the modules that may be wanted, by the folders of MODULEPATH; none is run."""
    looked = 0
    for folder in dict.fromkeys(filter(None, environ.get("MODULEPATH", "").split(":"))):
        for name in _names(folder):
            looked += 1
            if looked > _MOST_MODULES or not name.lower().startswith(_WANTED):
                continue
            path = os.path.join(folder, name)
            versions = _names(path) if os.path.isdir(path) else []
            last = [each for each in versions if each[0] != "."][-1:]
            yield "/".join([name, *last]).removesuffix(".lua")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
