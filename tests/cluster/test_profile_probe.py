"""``envcfg profiles probe`` on the real Slurm: a cluster that no profile knows, and LUMI's double.

The nodes have four interfaces hsn0 to hsn3, GPUs in name only, and this machine's processors.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from cluster import Cluster
from job import Job

pytestmark = pytest.mark.nightly

LUMI = (
    *("--profile", "lumi-g", "--account", "project_465000001"),
    *("--partition", "standard-g", "--fact", "rocm=6.2.4"),
)


def run(cluster: Cluster, *words: str, **env: str) -> Job:
    sent = cluster.run(["envcfg", "profiles", "probe", *words], env=env)
    assert sent.returncode == 0, sent.stderr
    number = int(re.findall(r"^job: (\d+) ", sent.stdout, re.M)[0])
    return Job(cluster, number).wait(timeout=120)


def read(cluster: Cluster, name: str) -> dict[str, dict[str, str]]:
    """Return the values of a report by section and name, with ``job`` and ``node``."""
    path = cluster.workdir / name
    text, page = path.read_text(), path.with_suffix(".html").read_text()
    for secret in ("nid00", "g110", "project_465000001", str(cluster.home)):
        assert secret not in text + page, secret
    document = json.loads(text)
    assert len(document["nodes"]) == 2
    values = {f"{e['section']} {e['name']}".strip(): e for e in document["values"]}
    return {**values, "job": document["job"], "node": document["nodes"][1]}


def test_a_cluster_that_no_profile_knows_is_filled_in(
    cluster: Cluster, workdir: Path, nowhere: dict[str, str]
) -> None:
    asked = (
        "--partition gputest --gpus-per-node 4 --request-arg=--nodelist=g[1101-1102]"
    )
    job = run(cluster, *asked.split(), **nowhere)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    found = read(cluster, "probe-here-nowhere.json")
    assert found["job"]["shape"] == [["2", "4", "128", "501760", "h100"]]
    assert ["ib0", "up", "10.254.0.0/16", "10000"] in found["node"]["network"]
    assert found["node"]["cpus"] == [[f"0-{os.cpu_count() - 1}"]]  # type: ignore[operator]
    saved = workdir / "config/envcfg/profiles/here-nowhere.yaml"
    text = saved.read_text()
    for said in (
        "Built on infiniband-cuda: InfiniBand: ib0;",
        "gpus: 4\n  cores_per_gpu: 32\n",
        'root: "${TMPDIR:-/tmp}"\n  in_memory: ',
        "# On PATH of its nodes.",
        "runtimes: [apptainer, singularity, ",
        'source: "stat -f, measured here"',
    ):
        assert said in text, said
    assert saved.with_suffix(".before").exists()
    shown = cluster.run(["envcfg", "profiles", "validate", str(saved)], env=nowhere)
    assert shown.returncode == 0, shown.stdout


def test_the_profile_of_lumi_is_held_against_its_double(
    cluster: Cluster, tool: Path
) -> None:
    words = (*LUMI, "--container", str(cluster.pytorch_image), "--ranks", "2")
    env = {"PATH": f"{tool}:/usr/bin:/bin"}
    job = run(cluster, *words, **env)
    assert job.exit_code == 1, job.stdout
    found = read(cluster, "probe-lumi-g.json")
    for name, said in {
        "detect clusters": "lumi",
        "node gpus": "8 in a node",
        "node cores_per_gpu": "64 cores in a node, 8 for each GPU",
        "node nics": "up on every node",
        "partitions dev-g": "nodes 32, time 03:00:00, shared",
        "runtimes": "singularity",
        "env NCCL_SOCKET_IFNAME": "hsn3",
        "expect interfaces": "up on every node",
    }.items():
        assert found[name]["verdict"] == "confirmed", found[name]
        assert said in found[name]["seen"], found[name]
    wrong = {e for e in found if found[e].get("verdict") == "contradicted"}
    assert wrong == {"cpu_masks masks", "expect devices"}  # this machine's are others
    assert found["partitions standard-g"]["seen"].startswith("nodes -, ")
    assert [row[0] for row in found["job"]["collective"]] == ["gloo"]
    assert len(found["job"]["sum"]) >= 2
