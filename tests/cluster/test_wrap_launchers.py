"""Each launcher over two nodes: the ranks, the world, a sum by the framework, the network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster

NODES = ("-N2", "--gpus-per-node=2", "--partition=standard-g")
TASKS = (*NODES, "--ntasks-per-node=2")

# options, the command before the program's name, options of sbatch
LAUNCHED = {
    "torchrun in the command": ("", "torchrun --nproc-per-node 2 --nnodes 7", NODES, "accelerate"),
    "accelerate": ("--launcher accelerate", "python3", NODES, "accelerate"),
    "accelerate in the command": ("", "accelerate launch --num_processes 99 --mixed_precision no", NODES, "accelerate"),
    "deepspeed": ("", "deepspeed --num_gpus 2 --hostfile none", TASKS, "deepspeed"),
    "lightning": ("--launcher lightning", "python3", (*NODES, "--ntasks=4"), "lightning"),
    "transformers": ("--launcher transformers", "python3", TASKS, "transformers"),
    "jax": ("--launcher jax --profile $PWD/fast.yaml", "python3", TASKS, "jax"),
    "horovod": ("--launcher horovod --profile $PWD/fast.yaml", "python3", TASKS, "horovod"),
}  # fmt: skip
# Those two know no interface: they meet at the address that they are given. (What JAX sends
# between CPUs goes by the host's own name, whatever it is told.)
FAST = """\
name: fast
extends: lumi-g
rendezvous: {interface: hsn0, why: w, source: s, date: 2026-01-01}
"""


def job(image: Path, tool: Path, options: str, command: str) -> str:
    return (
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\n"
        f"source <(envcfg wrap --container {image} --runtime apptainer "
        "--fact rocm=6.2.4 --set OMP_NUM_THREADS=1 --set GLOO_SOCKET_IFNAME=hsn0 "
        f"{options} -- {command})\n"
    )


@pytest.mark.nightly
@pytest.mark.parametrize("name", LAUNCHED)
def test_the_ranks_of_two_nodes_add_up_over_the_fast_network(
    cluster: Cluster, tool: Path, workdir: Path, name: str
) -> None:
    (workdir / "fast.yaml").write_text(FAST)
    options, command, sbatch, framework = LAUNCHED[name]
    program = f"{tool.parent}/programs/with_{framework}.py"
    before = cluster.counters()
    done = cluster.sbatch(
        job(cluster.frameworks_image, tool, options, f"{command} {program}"),
        *sbatch,
        timeout=300,
    )
    after = cluster.counters()
    assert (done.state, done.exit_code) == ("COMPLETED", 0), done.stdout
    said: list[dict[str, Any]] = [
        json.loads(line) for line in done.stdout.splitlines() if line[:2] == '{"'
    ]
    assert sorted(said, key=lambda line: line["rank"]) == [
        {
            "framework": framework,
            "rank": rank,
            "size": 4,
            "sum": 10,
            "host": cluster.nodes[rank // 2],
        }
        for rank in range(4)
    ]
    assert cluster.left_running() == []
    for node in cluster.nodes[:2]:
        moved = {key: after[node][key] - before[node][key] for key in after[node]}
        assert sum(moved[key] for key in moved if key.startswith("hsn")) > 0


@pytest.mark.nightly
def test_mpi_goes_by_the_pmi_that_srun_is_given(cluster: Cluster, tool: Path) -> None:
    show = "sh -c 'echo \"$RANK $PMI_RANK $PMI_SIZE\"'"
    options = "--launcher mpi --srun-arg=--mpi=pmi2"
    done = cluster.sbatch(job(cluster.frameworks_image, tool, options, show), *TASKS)
    assert done.state == "COMPLETED", done.stdout
    lines = [line for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert sorted(lines) == [f"{rank} {rank} 4" for rank in range(4)]


def test_more_tasks_than_gpus_are_refused_before_they_start(
    cluster: Cluster, tool: Path
) -> None:
    text = job(cluster.pytorch_image, tool, "", "echo it has begun")
    done = cluster.sbatch(text, *NODES, "--ntasks-per-node=3")
    assert (done.state, done.exit_code) == ("FAILED", 2), done.stdout
    assert "3 tasks per node, but 2 GPUs" in done.stdout
    assert "it has begun" not in done.stdout


def test_a_step_can_be_smaller_than_its_job(cluster: Cluster, tool: Path) -> None:
    show = "sh -c 'echo \"step $RANK/$WORLD_SIZE $LOCAL_RANK $NODE_RANK $MASTER_ADDR\"'"
    wrap = f"envcfg wrap --container {cluster.pytorch_image} --runtime apptainer --fact rocm=6.2.4"  # fmt: skip
    done = cluster.sbatch(
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\n"
        f"source <({wrap})\n"
        f"envcfg_run --nodes=1 --ranks=1 -- {show}\n"
        f"envcfg_run --nodes=1 {show}\n"
        f"envcfg_run {show}\n",
        *TASKS,
    )
    assert done.state == "COMPLETED", done.stdout
    lines = [line[5:] for line in done.stdout.splitlines() if line[:5] == "step "]
    first = cluster.nodes[0]
    assert lines[0] == f"0/1 0 0 {first}"
    assert sorted(lines[1:3]) == [f"{rank}/2 {rank} 0 {first}" for rank in range(2)]
    assert sorted(lines[3:]) == [
        f"{rank}/4 {rank % 2} {rank // 2} {first}" for rank in range(4)
    ]


@pytest.mark.nightly
def test_accelerate_starts_a_lone_rank_too(cluster: Cluster, tool: Path) -> None:
    program = f"python3 {tool.parent}/programs/with_accelerate.py"
    text = job(
        cluster.frameworks_image, tool, "--launcher accelerate --ranks 1", program
    )
    done = cluster.sbatch(text, "-N1", "--gpus-per-node=2", "--partition=standard-g")
    assert done.state == "COMPLETED", done.stdout
    (line,) = (each for each in done.stdout.splitlines() if each[:2] == '{"')
    said = json.loads(line)
    assert (said["rank"], said["size"], said["sum"]) == (0, 1, 1)
