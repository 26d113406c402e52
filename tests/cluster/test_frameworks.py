"""The frameworks of the second Python image: there, importable, and able to train.

They are started as plain tasks of srun, by variables that the job sets by hand: what
`envcfg` makes of them is for other tests.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster import Cluster

VERSIONS = {
    "accelerate": "1.15.0",
    "deepspeed": "0.19.8",
    "jax": "0.10.2",
    "lightning": "2.6.6",
    "torch": "2.13.0+cpu",
    "transformers": "5.23.0",
}
# A module of each that needs most of what is below it.
DEEP_MODULES = (
    "accelerate.commands.launch transformers.trainer deepspeed.launcher.launch"
)
IMPORT = """
import importlib, json, sys
names = sys.argv[1].split()
for deep in sys.argv[2].split():
    importlib.import_module(deep)
print(json.dumps({name: importlib.import_module(name).__version__ for name in names}))
"""
# Each task's own variables are set by the task.
JOB = """#!/usr/bin/env bash
#SBATCH --nodes=2 --ntasks-per-node=1 --partition=standard-g --job-name=train
read -r MASTER_ADDR < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
export MASTER_ADDR MASTER_PORT=29500 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1
export GLOO_SOCKET_IFNAME=hsn0 OMP_NUM_THREADS=1
srun bash -c 'RANK=$SLURM_PROCID exec apptainer exec {image} python3 {program}'
"""


def test_every_framework_is_there(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    python = ["apptainer", "exec", cluster.frameworks_image, "python3", "-c", IMPORT]
    done = cluster.run([*python, " ".join(VERSIONS), DEEP_MODULES], timeout=120)
    assert done.returncode == 0, done.stderr
    versions = json.loads(done.stdout.splitlines()[-1])
    with capsys.disabled():
        print(f"\nframeworks.sif: {versions}")
    assert versions == VERSIONS


@pytest.mark.parametrize(
    ("image", "launchers"),
    [("pytorch", "torchrun"), ("frameworks", "torchrun accelerate deepspeed")],
)
def test_launchers_are_called_by_name(
    cluster: Cluster, image: str, launchers: str
) -> None:
    path = getattr(cluster, f"{image}_image")
    find = f"for launcher in {launchers}; do command -v $launcher; done"
    done = cluster.run(["apptainer", "exec", path, "sh", "-c", find])
    assert done.stdout.split() == [
        f"/usr/local/bin/{name}" for name in launchers.split()
    ]


@pytest.mark.parametrize(
    "framework", ["accelerate", "deepspeed", "jax", "lightning", "transformers"]
)
def test_a_framework_adds_up_over_two_nodes(
    cluster: Cluster, programs: Path, framework: str
) -> None:
    job = cluster.sbatch(
        JOB.format(
            image=cluster.frameworks_image, program=programs / f"with_{framework}.py"
        )
    )
    assert job.state == "COMPLETED", job.stdout
    said = [json.loads(line) for line in job.stdout.splitlines() if line[:2] == '{"']
    assert sorted(said, key=lambda line: line["rank"]) == [
        {"framework": framework, "rank": rank, "size": 2, "sum": 3, "host": host}
        for rank, host in enumerate(cluster.nodes)
    ]
