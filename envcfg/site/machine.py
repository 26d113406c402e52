"""The facts of this machine: its scheduler, /sys, /dev, PATH and MODULEPATH."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.backends.scheduler_client import query, query_all
from envcfg.backends.schedulers import SCHEDULERS

if TYPE_CHECKING:
    from envcfg.backends.schedulers.scheduler import Scheduler
    from envcfg.profile.detect import Machine
    from envcfg.site.machine_facts import Site

DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/cxi0")
_ADAPTERS = "/sys/class/infiniband"
# Prefixes of modules that jobs with containers may need.
_WANTED = (
    *("apptainer", "singularity", "charliecloud", "podman"),
    *("aws-ofi-", "nccl", "rccl", "libfabric", "cuda", "rocm"),
)
# MODULEPATH may lead to trees with tens of thousands of modules.
_MOST_MODULES = 2000


def this_machine() -> Machine:
    """Return the facts of this machine that need no command."""
    from envcfg.profile.detect import Machine

    return Machine(
        cluster=cluster_name(),
        host=os.uname().nodename,
        interfaces=interfaces(),
        exists=os.path.exists,
        mark=_mark,
    )


def _mark(name: str) -> str | None:
    """Return the first line of a file, or the value of a variable; None: it does not
    exist."""
    # A sign without a slash is a variable.
    if not name.startswith("/"):
        return os.environ.get(name)
    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            # Only the beginning is read: a path may be a large file or a device.
            return file.readline(200).strip()
    except IsADirectoryError:  # exists, but has no line
        return ""
    except OSError:
        return None


def interfaces() -> list[str]:
    """Return the names of the network interfaces, sorted; none if there is no /sys."""
    try:
        return sorted(os.listdir("/sys/class/net"))
    except OSError:
        return []


def on_path(program: str) -> str | None:
    """Return the path of a program on PATH; None if it is missing."""
    from shutil import which  # the import takes 2 ms, and most commands need no program

    return which(program)


def job_kind() -> str | None:
    """Return the scheduler of the current job, if this is a job."""
    schedulers = SCHEDULERS.values()
    return next(
        (
            scheduler.title
            for scheduler in schedulers
            if os.environ.get(scheduler.job_variable)
        ),
        None,
    )


def cluster_name() -> str | None:
    """Return the name of this cluster, if a scheduler's variable has it."""
    names = (scheduler.cluster_variable or "" for scheduler in SCHEDULERS.values())
    return next((os.environ[name] for name in names if name in os.environ), None)


def scheduler_here(schedulers: Iterable[Scheduler] | None = None) -> Scheduler | None:
    """Return the first scheduler with its submission command on PATH, if there is one."""
    schedulers = SCHEDULERS.values() if schedulers is None else schedulers
    return next(
        (scheduler for scheduler in schedulers if on_path(scheduler.submit.split()[0])),
        None,
    )


def cluster_here() -> str | None:
    """Return the name of this cluster from its scheduler; a job asks no scheduler."""
    if name := cluster_name():
        return name
    import re

    # A job of many nodes must not ask the controller from every rank.
    if job_kind():
        for scheduler in SCHEDULERS.values():
            job = os.environ.get(scheduler.job_variable, "")
            if scheduler.cluster_of_job and (
                match := re.match(scheduler.cluster_of_job, job)
            ):
                return match[1]
        return None
    if scheduler_found := scheduler_here():
        text = query(scheduler_found.cluster_command).text
        match = re.search(scheduler_found.cluster_pattern, text, re.M)
        return match and match[1]
    return None


def this_site() -> Site:
    """Return the facts of this site; unanswered questions are left out."""
    from envcfg.backends.runtimes import NAMES, runtime
    from envcfg.site.machine_facts import SeenPartition, Site
    from envcfg.site.queue_reader import read_site
    from envcfg.site.slurm_answers import read_accounts, read_config

    # Slurm is asked first, because its configuration answers several questions at
    # once.
    server = query(SCHEDULERS["slurm"].cluster_command).text
    config = read_config(server)
    cluster = config.get("ClusterName") or cluster_here()
    partitions: tuple[SeenPartition, ...] = ()
    accounts = ""
    if scheduler := SCHEDULERS["slurm"] if config else scheduler_here():
        own = ((), _accounts_question()) if config else (scheduler.cluster_command, ())
        # The questions run at the same time: each may take a second on a busy
        # system.
        answers = query_all([scheduler.queues, scheduler.nodes, *own])
        queues, nodes, alternative, accounts = (answer.text for answer in answers)
        partitions = read_site(scheduler, alternative or server, queues, nodes)
    gpus = scheduler and scheduler.gpus_by
    if way := config.get("SelectType"):
        # Only one of Slurm's selection plug-ins supports the newer option for GPUs.
        gpus = "--gpus-per-node" if "cons_tres" in way else "--gres"
    programs = {name: runtime(name).program for name in NAMES}
    return Site(
        host=os.uname().nodename,
        cluster=cluster,
        scheduler=scheduler and scheduler.name,
        gpus=gpus,
        takes_most="MAX_TRES" in config.get("PriorityFlags", ""),
        partitions=partitions,
        interfaces=tuple(interfaces()),
        adapters=dict(_adapters()),
        devices=tuple(device for device in DEVICES if os.path.exists(device)),
        runtimes=tuple(
            name for name, program in programs.items() if program and on_path(program)
        ),
        modules=tuple(_modules(os.environ)),
        accounts=read_accounts(accounts, cluster) if cluster else (),
    )


def _accounts_question() -> Sequence[str]:
    """Return the command that prints the user's accounts; empty without a user's name."""
    # The variables are used because a password database lookup can hang.
    user = os.environ.get("LOGNAME") or os.environ.get("USER") or ""
    show = ("sacctmgr", "--noheader", "--parsable2", "show", "user", user)
    fields = ("withassoc", "format=DefaultAccount,Account,Cluster")
    return (*show, *fields) if user else ()


def _adapters() -> Iterator[tuple[str, str]]:
    """Yield the RDMA adapters, with the link type of their first port."""
    for name in _names(_ADAPTERS):
        # EFA devices report an unspecified link layer, so the name decides.
        if name.startswith("efa"):
            yield name, "EFA"
            continue
        # A port may vanish, or have no link layer on older kernels.
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
            # Reading stops early, but the loop continues: its rest costs nothing.
            if looked > _MOST_MODULES or not name.lower().startswith(_WANTED):
                continue
            path = os.path.join(folder, name)
            versions = _names(path) if os.path.isdir(path) else []
            # Files that begin with a dot configure the module system.
            last = [version for version in versions if version[0] != "."][-1:]
            yield "/".join([name, *last]).removesuffix(".lua")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def job_site(
    site: Site, hosts: Sequence[str]
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the scheduler's facts about this job's nodes, as rows of words by kind."""
    from envcfg.site.queue_reader import read_nodes

    result: dict[str, tuple[tuple[str, ...], ...]] = {}
    if site.cluster:
        result["cluster"] = ((site.cluster,),)
    if site.scheduler and (scheduler := SCHEDULERS.get(site.scheduler)):
        program = scheduler.submit.split()[0]
        # The version is recorded because options differ between versions.
        version = query([program, "--version"]).text.strip().partition("\n")[0]
        result["scheduler"] = ((site.scheduler, version),)
    show = [*SCHEDULERS["slurm"].nodes, ",".join(hosts)]
    nodes = read_nodes("slurm", query(show).text)
    shapes = dict.fromkeys(shape for node in nodes.values() for shape in node)
    result["shape"] = tuple(
        tuple(map(str, (e.number, e.gpus, e.cores, e.memory, "+".join(e.kinds) or "-")))
        for e in shapes
    )
    # "-" marks an unknown value in rows of words.
    result["partition"] = tuple(
        (partition.name, str(partition.nodes or "-"), partition.time or "-",
         "exclusive" if partition.is_exclusive else "shared")
        for partition in site.partitions if partition.name
    )  # fmt: skip
    return {kind: rows for kind, rows in result.items() if rows}
