"""What this machine says of itself: its scheduler, /sys, /dev, PATH and MODULEPATH."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.schedulers import SCHEDULERS

if TYPE_CHECKING:
    from envcfg.profile.detect import Machine
    from envcfg.profile.site.model import Site
    from envcfg.schedulers.model import Scheduler

_SECONDS = 30
_MOST = 32 << 20  # characters of an answer
DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/cxi0")
_ADAPTERS = "/sys/class/infiniband"
# Modules that a container's job may want: how their names begin.
_WANTED = (
    *("apptainer", "singularity", "charliecloud", "podman"),
    *("aws-ofi-", "nccl", "rccl", "libfabric", "cuda", "rocm"),
)
_MOST_MODULES = 2000


def this_machine() -> Machine:
    """Return what can be told of this machine without running anything."""
    from envcfg.profile.detect import Machine

    return Machine(
        cluster=cluster_name(),
        host=os.uname().nodename,
        interfaces=interfaces(),
        exists=os.path.exists,
        mark=_mark,
    )


def _mark(name: str) -> str | None:
    """Return the first line of a file, or what a variable says; None: it is not there."""
    if not name.startswith("/"):
        return os.environ.get(name)
    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            return file.readline(200).strip()
    except IsADirectoryError:
        return ""
    except OSError:
        return None


def interfaces() -> list[str]:
    """Return the names of the network interfaces, sorted; none where there is no /sys."""
    try:
        return sorted(os.listdir("/sys/class/net"))
    except OSError:
        return []


def on_path(program: str) -> str | None:
    """Return where PATH has a program; None where it has not."""
    from shutil import which  # 2 ms, and most that is planned asks for no program

    return which(program)


def ask(argv: Sequence[str], seconds: float) -> str:
    """Return what a command says; nothing, where it is not there or fails."""
    import subprocess

    if not (program := on_path(argv[0])):
        return ""
    try:
        done = subprocess.run(
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def job_kind() -> str | None:
    """Return the scheduler in whose job this runs, if it is one."""
    known = SCHEDULERS.values()
    return next(
        (each.title for each in known if os.environ.get(each.job_variable)), None
    )


def cluster_name() -> str | None:
    """Return the name of this cluster, where a scheduler says it."""
    names = (each.cluster_variable or "" for each in SCHEDULERS.values())
    return next((os.environ[name] for name in names if name in os.environ), None)


def scheduler_here(known: Iterable[Scheduler] | None = None) -> Scheduler | None:
    """Return that of *known*, or of all, whose command for jobs is on PATH, if one is."""
    known = SCHEDULERS.values() if known is None else known
    return next((each for each in known if on_path(each.submit.split()[0])), None)


def cluster_here() -> str | None:
    """Return the name of this cluster as its scheduler has it; a job asks nobody."""
    if named := cluster_name():
        return named
    import re

    if job_kind():
        for each in SCHEDULERS.values():
            job = os.environ.get(each.job_variable, "")
            if each.cluster_of_job and (found := re.match(each.cluster_of_job, job)):
                return found[1]
        return None
    if here := scheduler_here():
        said = ask(here.cluster_command, _SECONDS)
        found = re.search(here.cluster_pattern, said, re.M)
        return found and found[1]
    return None


def this_site() -> Site:
    """Return what can be told here; what does not answer is left out."""
    from envcfg.profile.site.model import SeenPartition, Site
    from envcfg.profile.site.queues import read_site
    from envcfg.profile.site.slurm import read_config
    from envcfg.runtimes import NAMES, runtime

    config = read_config(ask(["scontrol", "show", "config"], _SECONDS)[:_MOST])
    cluster = config.get("ClusterName") or cluster_here()
    partitions: tuple[SeenPartition, ...] = ()
    if known := SCHEDULERS["slurm"] if config else scheduler_here():
        asked = (known.cluster_command, known.queues, known.nodes)
        partitions = read_site(known, *(ask(each, _SECONDS)[:_MOST] for each in asked))
    gpus = known and known.gpus_by
    if way := config.get("SelectType"):
        # Only one of Slurm's ways to select takes the newer option for GPUs.
        gpus = "--gpus-per-node" if "cons_tres" in way else "--gres"
    programs = {name: runtime(name).program for name in NAMES}
    return Site(
        host=os.uname().nodename,
        cluster=cluster,
        scheduler=known and known.name,
        gpus=gpus,
        takes_most="MAX_TRES" in config.get("PriorityFlags", ""),
        partitions=partitions,
        interfaces=tuple(interfaces()),
        adapters=dict(_adapters()),
        devices=tuple(each for each in DEVICES if os.path.exists(each)),
        runtimes=tuple(
            name for name, program in programs.items() if program and on_path(program)
        ),
        modules=tuple(_modules(os.environ)),
        accounts=_accounts(cluster) if cluster and config else (),
    )


def _accounts(cluster: str) -> tuple[str, ...]:
    from envcfg.profile.site.slurm import read_accounts

    user = os.environ.get("LOGNAME") or os.environ.get("USER") or ""
    sacctmgr = ["sacctmgr", "--noheader", "--parsable2", "show", "user", user]
    what = ["withassoc", "format=DefaultAccount,Account,Cluster"]
    said = ask([*sacctmgr, *what], _SECONDS)[:_MOST] if user else ""
    return read_accounts(said, cluster)


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


def job_site(
    site: Site, hosts: Sequence[str]
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return what the scheduler says of this job's nodes, as rows of words by kind."""
    from envcfg.profile.site.queues import read_nodes

    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    if site.cluster:
        found["cluster"] = ((site.cluster,),)
    if site.scheduler and (known := SCHEDULERS.get(site.scheduler)):
        program = known.submit.split()[0]
        version = ask([program, "--version"], _SECONDS).strip().partition("\n")[0]
        found["scheduler"] = ((site.scheduler, version),)
    show = [*SCHEDULERS["slurm"].nodes, ",".join(hosts)]
    nodes = read_nodes("slurm", ask(show, _SECONDS)[:_MOST])
    shapes = dict.fromkeys(shape for each in nodes.values() for shape in each)
    found["shape"] = tuple(
        tuple(map(str, (e.number, e.gpus, e.cores, e.memory, "+".join(e.kinds) or "-")))
        for e in shapes
    )
    found["partition"] = tuple(
        (each.name, str(each.nodes or "-"), each.time or "-",
         "exclusive" if each.is_exclusive else "shared")
        for each in site.partitions if each.name
    )  # fmt: skip
    return {kind: rows for kind, rows in found.items() if rows}
