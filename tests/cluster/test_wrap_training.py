"""PyTorch over two nodes in a container, the way users start it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster

IDENTITY = {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}
NODES = ("-N2", "--gpus-per-node=4", "--partition=standard-g")


def train(
    cluster: Cluster, tool: Path, *options: str, sbatch: tuple[str, ...] = NODES
) -> list[dict[str, Any]]:
    """Train by DistributedDataParallel; return what the ranks printed, by rank."""
    words = " ".join(options)
    job = cluster.sbatch(
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\n"
        f"source <(envcfg wrap --container {cluster.pytorch_image} --runtime apptainer "
        f"--fact rocm=6.2.4 {words} -- python3 {tool.parent}/programs/ddp.py)\n",
        *sbatch,
        timeout=240,
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    lines = [line for line in job.stdout.splitlines() if line.startswith("{")]
    ranks = sorted((json.loads(line) for line in lines), key=lambda r: int(r["RANK"]))
    assert cluster.left_running() == []
    return ranks


@pytest.mark.parametrize(
    ("options", "sbatch"),
    [
        pytest.param((), (*NODES, "--ntasks-per-node=4"), marks=pytest.mark.nightly),
        ((), NODES),  # nobody says how many tasks: one per GPU
        (("--launcher", "torchrun"), NODES),
    ],
    ids=["srun", "srun, one task per GPU", "torchrun"],
)
def test_training_over_two_nodes_is_right_and_uses_the_fast_network(
    cluster: Cluster, tool: Path, options: tuple[str, ...], sbatch: tuple[str, ...]
) -> None:
    before = cluster.counters()
    ranks = train(cluster, tool, *options, sbatch=sbatch)
    after = cluster.counters()

    assert [rank["RANK"] for rank in ranks] == [str(rank) for rank in range(8)]
    assert len({rank["loss"] for rank in ranks}) == 1
    assert len({rank["weights"] for rank in ranks}) == 1
    assert len({(rank["MASTER_ADDR"], rank["MASTER_PORT"]) for rank in ranks}) == 1
    assert ranks[0]["MASTER_ADDR"] == cluster.nodes[0]
    for number, rank in enumerate(ranks):
        assert rank.items() >= IDENTITY.items()
        assert rank["LOCAL_RANK"] == str(number % 4)
        assert rank["NODE_RANK"] == str(number // 4)
        assert rank["SLURMD_NODENAME"] == cluster.nodes[number // 4]
    if not options:
        assert all(10000 <= int(rank["MASTER_PORT"]) < 30000 for rank in ranks)

    for node in cluster.nodes:
        moved = {name: after[node][name] - before[node][name] for name in after[node]}
        fast = sum(count for name, count in moved.items() if name.startswith("hsn"))
        # what is left on nmn0 is Slurm's own talk and the output of the ranks
        assert fast > 5_000_000
        assert fast > 10 * moved["nmn0"]


@pytest.mark.parametrize(
    "launcher", [pytest.param("srun", marks=pytest.mark.nightly), "torchrun"]
)
@pytest.mark.parametrize(
    ("rendezvous", "address"),
    [
        pytest.param("suffix: -hsn0", "nid001000-hsn0", marks=pytest.mark.nightly),
        ("interface: hsn1", "10.253.1."),
    ],
)
def test_ranks_meet_by_the_name_or_address_that_the_profile_says(
    cluster: Cluster,
    tool: Path,
    launcher: str,
    rendezvous: str,
    address: str,
    workdir: Path,
) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    profile = workdir / "other.yaml"
    profile.write_text(
        f"name: other\nextends: lumi-g\nrendezvous: {{{rendezvous}, {reason}}}\n"
    )
    options = (f"--profile={profile}", f"--launcher={launcher}")
    ranks = train(cluster, tool, *options)
    assert len(ranks) == 8
    assert all(rank["MASTER_ADDR"].startswith(address) for rank in ranks)
