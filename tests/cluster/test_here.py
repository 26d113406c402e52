"""A cluster that no profile knows: Slurm's own answers, under another name and with other nodes.

It is the one of these tests, as far as it has Mahti's nodes: ``scontrol`` says another name, and
so do the jobs. From nothing to a finished job of two nodes in three commands.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cluster import Cluster
from job import Job

SCONTROL = """\
#!/bin/sh
/usr/bin/scontrol "$@" | sed -n '
  s/^\\(ClusterName *= *\\).*/\\1nowhere/
  /^NodeName=/ { /^NodeName=g110[12] /!d; s/gpu:a100:/gpu:h100:/ }
  /^PartitionName=/ { /^PartitionName=gpu\\(small\\|medium\\|test\\) /!d }
  p'
"""
SHOW = 'echo "rank $RANK/$WORLD_SIZE of $MASTER_ADDR with $SLURM_CPUS_PER_TASK cores"'


@pytest.fixture
def path(workdir: Path, tool: Path) -> str:
    """PATH of the user there: envcfg, and a scontrol that names another cluster."""
    programs = workdir / "bin"
    programs.mkdir(mode=0o755)
    (programs / "scontrol").write_text(SCONTROL)
    (programs / "scontrol").chmod(0o755)
    (workdir / "named.sh").write_text("export SLURM_CLUSTER_NAME=nowhere\n")
    return f"{programs}:{tool}:/usr/bin:/bin"


def test_from_nothing_to_a_job_of_two_nodes(
    cluster: Cluster, workdir: Path, path: str
) -> None:
    # bash of the job reads the file: its name for the cluster is Slurm's own else.
    env = {
        "PATH": path,
        "XDG_CONFIG_HOME": str(workdir / "config"),
        "BASH_ENV": str(workdir / "named.sh"),
    }
    asked = "--container none --partition gputest --nodes 2 --gpus-per-node 2 --time 5"
    asked += " --request-arg=--nodelist=g[1101-1102]"  # others exist in name only
    made = cluster.run(
        ["envcfg", "job", *asked.split(), "-o", "job.sh", "--", "sh", "-c", SHOW],
        env=env,
    )
    assert made.returncode == 0, made.stderr
    saved = workdir / "config/envcfg/profiles/here-nowhere.yaml"
    assert f"read from Slurm, saved in {saved}" in made.stderr
    text = saved.read_text()
    for said in ("clusters: [nowhere]", "gpus: 4", "cores_per_gpu: 32", "h100"):
        assert said in text, said
    sent = cluster.run(["sbatch", "--parsable", "job.sh"], env=env, check=True)
    job = Job(cluster, int(sent.stdout.split(";")[0])).wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    ranks = sorted(re.findall(r"^rank .*$", job.stdout, re.M))
    assert ranks == [f"rank {n}/4 of g1101 with 32 cores" for n in range(4)]
    shown = cluster.run(["envcfg", "profiles", "show", "here"], env=env)
    assert "scontrol show node, on" in shown.stdout


def test_in_a_job_without_it_nothing_is_asked(
    cluster: Cluster, workdir: Path, path: str
) -> None:
    job = cluster.sbatch(
        f"#!/bin/bash\nPATH={path}\nexport SLURM_CLUSTER_NAME=nowhere\n"
        f"export XDG_CONFIG_HOME={workdir}/config\n"
        "envcfg wrap --container none -- true\n",
        *("--partition=gputest", "--nodelist=g1101"),
    )
    assert job.exit_code == 2
    assert "runs on a system that no profile knows: cluster nowhere" in job.stdout
