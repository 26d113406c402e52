"""A profile that ``profiles new`` drafts on the cluster, and a job of two nodes by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import Cluster

pytestmark = pytest.mark.nightly

DRAFT = "envcfg profiles new drafted --output drafted.yaml"
SHOW = 'echo "rank $RANK/$WORLD_SIZE of $MASTER_ADDR by $NCCL_SOCKET_IFNAME"'


def test_what_a_node_says_runs_a_job_of_two_nodes(cluster: Cluster, tool: Path) -> None:
    made = cluster.sbatch(
        f"#!/bin/bash\nset -eu\nPATH={tool}:$PATH\n{DRAFT}\n"
        "envcfg profiles validate --strict ./drafted.yaml\n",
        "--partition=small-g",
    )
    assert (made.state, made.exit_code) == ("COMPLETED", 0), made.stdout
    text = (cluster.workdir / "drafted.yaml").read_text()
    for said in (
        "extends: slingshot-rocm\n",  # hsn0, and Slurm's GPUs are mi250x
        "# lumi-g takes this cluster already",
        # The systems that are there in name only have other kinds of nodes.
        "nodes:\n  mi250x",
        "    node:\n      gpus: 8\n      cores_per_gpu: 8\n      memory_per_gpu: 61440M\n",
        "      nics: [hsn0, hsn1, hsn2, hsn3]\n",
        ": [gpusmall, gpumedium, gputest]",
        "    standard-g:\n      time: \"2-00:00:00\"\n      exclusive: true\n",
        "    small-g:\n      time: \"3-00:00:00\"\n      why:",
        "  gpus: --gpus-per-node\n",
        "expect:\n  interfaces: [hsn0, hsn1, hsn2, hsn3]\n  nics: 4\n",
    ):  # fmt: skip
        assert said in text, said
    script = cluster.run(
        [
            tool / "envcfg", "sbatch", "--profile", "./drafted.yaml", "--container", "none",
            "--partition", "standard-g", "--nodes", "2", "--gpus-per-node", "2",
            "--time", "5", "-o", "-", "--", "sh", "-c", SHOW,
        ],
        check=True,
    ).stdout  # fmt: skip
    job = cluster.sbatch(script)
    log = job.stdout + "".join(
        each.read_text() for each in cluster.workdir.glob("*.out")
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), log
    for rank in range(4):
        assert f"rank {rank}/4 of nid001000 by hsn0,hsn1,hsn2,hsn3\n" in log
    # The other kind of node, with other numbers of GPUs, cores and memory.
    other = cluster.run(
        [
            tool / "envcfg", "job", "--profile", "./drafted.yaml", "--container", "none",
            "--partition", "gpumedium", "--nodes", "2", "--gpus-per-node", "4",
            "--account", "project_2001659", "--time", "5", "-o", "-", "--", "hostname",
        ],
        check=True,
    ).stdout  # fmt: skip
    for said in ("cpus", "mem"):
        assert f"#SBATCH --{said}" in other, other
    job = cluster.sbatch(other)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert job.nodes == "g[1101-1102]"
