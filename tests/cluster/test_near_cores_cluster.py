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
ASK = "import os; print('rank', os.environ['LOCAL_RANK'], *os.sched_getaffinity(0))"


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
def test_each_rank_of_an_agent_has_its_own_core(
    cluster: Cluster, tool: Path, workdir: Path
) -> None:
    (workdir / "ask.py").write_text(f"{ASK}\nraise SystemExit(3)\n")
    job = cluster.sbatch(
        f"#!/bin/bash\nset -euo pipefail\nPATH={tool}:$PATH\n"
        "envcfg wrap --profile infiniband-cuda --runtime apptainer --ranks 2 "
        f"--container {cluster.pytorch_image} --launcher torchrun -o step.sh -- "
        f"python3 {workdir}/ask.py\n"
        f"cat >show.sh <<'EOF'\n{SHOW}exec unshare --map-user=$1 --map-group=$2 ./step.sh\nEOF\n"
        "unshare -rm bash show.sh $(id -u) $(id -g)\n",
        *("-N1", "--gpus-per-node=2", "--partition=standard-g"),
    )
    lines = [line for line in job.stdout.splitlines() if line.startswith("rank ")]
    assert sorted(lines) == ["rank 0 0", "rank 1 1"], job.stdout
    assert job.exit_code != 0  # the program's own end is not hidden
    assert cluster.left_running() == []
