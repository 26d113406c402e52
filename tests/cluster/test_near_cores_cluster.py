"""Ranks that an agent starts run on their own cores, in a real job with GPUs in its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster

pytestmark = pytest.mark.nightly
DEVICES = [Path(f"/dev/nvidia{number}") for number in (800, 801)]
# What a node with two GPUs shows, in a mount namespace of the job's own shell.
SHOW = r"""
mount -t tmpfs tmpfs /proc/driver
mount -t tmpfs tmpfs /sys/bus/pci/devices
for n in 0 1; do
  mkdir -p /proc/driver/nvidia/gpus/0000:0$n:00.0 /sys/bus/pci/devices/0000:0$n:00.0
  printf 'Model: \t NVIDIA H100\nDevice Minor: \t 80%d\n' $n >/proc/driver/nvidia/gpus/0000:0$n:00.0/information
  echo $n >/sys/bus/pci/devices/0000:0$n:00.0/local_cpulist
done
"""
# Slurm of the cluster binds nothing, but tells each task the masks that srun was given.
ASK = """import os, sys
cores = os.environ.get("SLURM_CPU_BIND_LIST") or sorted(os.sched_getaffinity(0))
threads, local = os.environ["OMP_NUM_THREADS"], os.environ["LOCAL_RANK"]
print("rank", os.environ["RANK"], local, threads, cores, flush=True)
sys.exit(3)
"""


@pytest.fixture
def devices() -> Iterator[None]:
    made = [path for path in DEVICES if not path.exists()]
    for path in made:
        path.touch()
        path.chmod(0o666)
    yield
    for path in made:
        path.unlink()


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(
    ("launcher", "nodes"),
    [
        ("torchrun", 1),
        ("torchrun", 2),
        ("accelerate", 2),
        ("srun", 2),
        ("deepspeed", 2),
    ],
)
def test_no_two_ranks_of_a_node_share_a_core(
    cluster: Cluster, tool: Path, workdir: Path, launcher: str, nodes: int
) -> None:
    (workdir / "ask.py").write_text(ASK)
    image = cluster.pytorch_image
    if launcher == "accelerate":
        image = cluster.frameworks_image
    job = cluster.sbatch(
        f"#!/bin/bash\nset -euo pipefail\nPATH={tool}:$PATH\n"
        "export ACCELERATE_USE_CPU=1\n"
        "envcfg wrap --profile infiniband-cuda --runtime apptainer --ranks 2 --set GLOO_SOCKET_IFNAME=hsn0 "
        f"--container {image} --launcher {launcher} -o step.sh -- "
        f"python3 {workdir}/ask.py\n"
        f"cat >show.sh <<'EOF'\n{SHOW}exec unshare --map-user=$1 --map-group=$2 ./step.sh\nEOF\n"
        "unshare -rm bash show.sh $(id -u) $(id -g)\n",
        *(f"-N{nodes}", "--gpus-per-node=2", "--partition=standard-g"),
    )
    is_agent = launcher in ("torchrun", "accelerate")
    cores = ["[0]", "[1]"] if is_agent else ["1,2"] * 2
    lines = [line for line in job.stdout.splitlines() if line.startswith("rank ")]
    expected = [
        f"rank {rank} {rank % 2} 1 {cores[rank % 2]}" for rank in range(2 * nodes)
    ]
    # A rank that fails may end the others before they print.
    assert lines
    assert set(lines) <= set(expected), job.stdout
    # The program's own end is not hidden: torchrun ends with 1.
    assert job.exit_code == (1 if is_agent else 3)
    assert cluster.left_running() == []


# How a program ends: by a code of its own, and by a signal to all of its ranks.
ENDS = {
    "exit": "import sys; sys.exit(3)",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
}


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_a_bound_step_ends_as_an_unbound_one(
    cluster: Cluster, tool: Path, workdir: Path, launcher: str, end: str
) -> None:
    (workdir / "end.py").write_text(ENDS[end])
    make = (
        "envcfg wrap --profile infiniband-cuda --runtime apptainer --ranks 2 --set GLOO_SOCKET_IFNAME=hsn0 "
        f"--container {cluster.pytorch_image} --launcher {launcher}"
    )
    job = cluster.sbatch(
        f"#!/bin/bash\nPATH={tool}:$PATH\n"
        f"{make} -o bound.sh -- python3 {workdir}/end.py\n"
        f"{make} --srun-arg=--cpu-bind=none -o unbound.sh -- python3 {workdir}/end.py\n"
        f"cat >show.sh <<'EOF'\n{SHOW}exec unshare --map-user=$1 --map-group=$2 ./$3\nEOF\n"
        "for step in bound unbound; do\n"
        "  unshare -rm bash show.sh $(id -u) $(id -g) $step.sh; echo $step $?\n"
        "done\n",
        *("-N1", "--gpus-per-node=2", "--partition=standard-g"),
    )
    codes = [line.split() for line in job.stdout.splitlines() if "bound " in line]
    assert [name for name, _ in codes] == ["bound", "unbound"], job.stdout
    assert codes[0][1] == codes[1][1] != "0"
    assert cluster.left_running() == []
