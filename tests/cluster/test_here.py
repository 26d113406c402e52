"""A cluster that no profile knows: Slurm's own answers, under another name and with other nodes.

It is the one of these tests, as far as it has Mahti's nodes: ``scontrol`` says another name, and
so do the jobs. From nothing to a finished job of two nodes in two commands.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cluster import Cluster
from job import Job

pytestmark = pytest.mark.nightly

SHOW = 'echo "rank $RANK/$WORLD_SIZE of $MASTER_ADDR with $SLURM_CPUS_PER_TASK cores"'


def test_from_nothing_to_a_job_of_two_nodes(
    cluster: Cluster, workdir: Path, nowhere: dict[str, str]
) -> None:
    """No partition is named: none is the default, and only some take two nodes."""
    asked = "--container none --nodes 2 --gpus-per-node 2 --time 5"
    asked += " --request-arg=--nodelist=g[1101-1102]"  # others exist in name only
    sent = cluster.run(
        ["envcfg", "submit", *asked.split(), "--", "sh", "-c", SHOW], env=nowhere
    )
    assert sent.returncode == 0, sent.stderr
    saved = workdir / "config/envcfg/profiles/here-nowhere.yaml"
    assert f"read from Slurm, saved in {saved}" in sent.stderr
    text = saved.read_text()
    for said in ("clusters: [nowhere]", "gpus: 4", "cores_per_gpu: 32", "h100"):
        assert said in text, said
    number = int(re.findall(r"^job: (\d+) ", sent.stdout, re.M)[0])
    job = Job(cluster, number).wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    ranks = sorted(re.findall(r"^rank .*$", job.stdout, re.M))
    assert ranks == [f"rank {n}/4 of g1101 with 32 cores" for n in range(4)]
    shown = cluster.run(["envcfg", "profiles", "show", "here"], env=nowhere)
    assert "scontrol show node, on" in shown.stdout


def test_in_a_job_without_it_nothing_is_asked(
    cluster: Cluster, workdir: Path, nowhere: dict[str, str]
) -> None:
    job = cluster.sbatch(
        f"#!/bin/bash\nPATH={nowhere['PATH']}\nexport SLURM_CLUSTER_NAME=nowhere\n"
        f"export XDG_CONFIG_HOME={workdir}/config\n"
        "envcfg wrap --container none -- true\n",
        *("--partition=gputest", "--nodelist=g1101"),
    )
    assert job.exit_code == 2
    assert "runs on a system that no profile knows: cluster nowhere" in job.stdout
