"""Which profile a node is taken for, on nodes that have a name, or only interfaces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster

SHOW = 'echo "$RANK/$WORLD_SIZE $MASTER_ADDR $NCCL_SOCKET_IFNAME"'
# The cluster's own name decides; without it the node's, and else what is there.
NAMELESS = "unset SLURM_CLUSTER_NAME"
INFINIBAND = """\
name: my-infiniband
extends: infiniband-cuda
summary: a cluster with InfiniBand
detect:
  interfaces: ["ib*"]
env:
  NCCL_SOCKET_IFNAME: {value: hsn, why: what carries the test, source: here, date: 2026-11-21}
"""


@pytest.fixture
def infiniband(cluster: Cluster) -> Iterator[None]:
    """Give every node an interface with the name that InfiniBand has."""
    for node in cluster.nodes:
        made = cluster.node(
            node, "ip link add ib0 type veth peer name ib0-peer".split()
        )
        assert made.returncode == 0, made.stderr
    yield
    for node in cluster.nodes:
        cluster.node(node, ["ip", "link", "delete", "ib0"])


def run(
    cluster: Cluster, tool: Path, before: str = ":"
) -> tuple[str, dict[str, object]]:
    """Run a job of four ranks without --profile; return its output and what was detected."""
    job = cluster.sbatch(
        f"#!/bin/bash\nset -euo pipefail\nPATH={tool}:$PATH\n{before}\n"
        "envcfg profiles detect --json >detected.json\n"
        f"source <(envcfg wrap --container none -- sh -c '{SHOW}')\n",
        *("-N2", "--ntasks-per-node=2", "--partition=small-g"),
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    return job.stdout, json.loads((cluster.workdir / "detected.json").read_text())


def test_lumi_is_known_by_the_name_of_its_cluster(cluster: Cluster, tool: Path) -> None:
    said, detected = run(cluster, tool)
    assert detected["profile"] == "lumi-g"
    for rank in range(4):
        assert f"{rank}/4 nid001000 hsn0,hsn1,hsn2,hsn3\n" in said


@pytest.mark.usefixtures("infiniband")
def test_infiniband_is_known_by_its_interfaces(cluster: Cluster, tool: Path) -> None:
    folder = cluster.workdir / ".envcfg/profiles"
    cluster.run(["mkdir", "-p", folder], check=True)
    (folder / "my-infiniband.yaml").write_text(INFINIBAND)
    said, detected = run(cluster, tool, NAMELESS)
    assert detected["profile"] == "my-infiniband"
    for rank in range(4):
        assert f"{rank}/4 nid001000 hsn\n" in said
