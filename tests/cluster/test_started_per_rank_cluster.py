"""A program that starts its own processes, started once per rank: the job itself notices it.

The processes are real, in groups of gloo. The lines of NCCL are written by each of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import Cluster

pytestmark = pytest.mark.nightly

NODES = ("-N2", "--gpus-per-node=2", "--partition=standard-g")
RANKS = ("--ntasks-per-node=2",)
# The tasks of a node start their processes in turn, so that the pids of the copies alternate. The target of a process
# is no name, so that no reader finds it.
PROGRAM = """\
import os
import sys
import time
from pathlib import Path

import torch.distributed as dist
import torch.multiprocessing as mp

HOST = os.uname().nodename
FOLDER = Path(os.environ["FOLDER"])


def report(rank, size, device, group):
    name = os.environ["NCCL_DEBUG_FILE"].replace("%h", HOST).replace("%p", str(os.getpid()))
    with open(name, "a") as file:
        print(
            f"{HOST}:{os.getpid()}:{os.getpid()} [{device}] NCCL INFO ncclCommInitRank comm 0x1 rank {rank} "
            f"nranks {size} cudaDev {device} nvmlDev {device} busId {device + 7}000 commId 0x{group} - Init COMPLETE",
            file=file,
        )


def wait_for(*names):
    while not all((FOLDER / name).exists() for name in names):
        time.sleep(0.1)


def work(device, task, kind):
    where = f"file://{FOLDER}/{HOST}.{task}.group"
    dist.init_process_group("gloo", init_method=where, rank=device, world_size=2)
    number = sum(map(ord, HOST)) * 64 + int(task)
    for group in range(3 if kind == "groups" else 1):
        report(device, 2, device, f"{number}{group}")
    dist.barrier()
    if kind == "copies":
        wait_for("never")


def rank():
    dist.init_process_group("gloo")
    local = int(os.environ["LOCAL_RANK"])
    report(dist.get_rank(), dist.get_world_size(), local, "abc")
    dist.barrier()


if __name__ == "__main__":
    kind, task = sys.argv[1], os.environ["RANK"]
    tasks = [str(number) for number in range(int(os.environ["WORLD_SIZE"]))]
    if kind == "world":
        rank()
    for repeat in range({"world": 0, "restarts": 2}.get(kind, 1)):
        children = []
        for device in range(2):
            child = mp.get_context("spawn").Process(target=globals()["work"], args=(device, f"{task}{repeat}", kind))
            child.start()
            children.append(child)
            (FOLDER / f"{task}.{repeat}.{device}").touch()
            wait_for(*(f"{other}.{repeat}.{device}" for other in tasks))
        for child in children:
            child.join()
            assert child.exitcode == 0
    print("done", task, flush=True)
"""
# options of envcfg and sbatch, the number of tasks
HEALTHY = {
    "world": ("--launcher srun --ranks 2", RANKS, 4),
    "once": ("--launcher whole-node", (), 2),
    "groups": ("--launcher whole-node", (), 2),
    "restarts": ("--launcher whole-node", (), 2),
}


def test_copies_of_a_program_end_their_step_and_healthy_ones_do_not(
    cluster: Cluster, tool: Path, workdir: Path
) -> None:
    (workdir / "spawn.py").write_text(PROGRAM)
    jobs = {}
    for kind, (options, shape, _) in {
        "copies": ("--launcher srun --ranks 2", RANKS, 4),
        **HEALTHY,
    }.items():
        folder = workdir / kind
        jobs[kind] = cluster.submit(
            "#!/bin/bash\nset -euo pipefail\n"
            f"PATH={tool}:$PATH\nmkdir {folder}\n"
            f"source <(envcfg wrap --profile lumi-g --no-modules --container {cluster.frameworks_image} "
            "--runtime apptainer --fact rocm=6.2.4 --set OMP_NUM_THREADS=1 --set GLOO_SOCKET_IFNAME=hsn0 "
            f"--set FOLDER={folder} {options} --verify=stop -- python3 spawn.py {kind})\n",
            *NODES,
            *shape,
        )
    for kind, job in jobs.items():
        done = job.wait(timeout=120)
        if kind == "copies":
            assert done.exit_code == 1, done.stdout
            assert "the step is stopped" in done.stdout, done.stdout
            copies = (
                "the program starts its own processes: 2 times 2 on 2 GPUs of each node"
            )
            assert copies in done.stdout, done.stdout
        else:
            assert done.exit_code == 0, (kind, done.stdout)
            assert done.stdout.count("done ") == HEALTHY[kind][2], done.stdout
            assert "its own processes" not in done.stdout, done.stdout
