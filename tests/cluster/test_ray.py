"""A Ray cluster and a server over two nodes of a job; Ray is its own wheel."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster
from job import Job

pytestmark = pytest.mark.nightly

NODES = ("-N2", "--ntasks-per-node=1", "--gpus-per-node=2", "--partition=standard-g", "--time=5")  # fmt: skip


# A job of one node whose profile has no starter of the scheduler.
LOCAL = ("-N1", "-n1", "--gpus-per-node=2", "--partition=small-g", "--time=5")


def script(
    cluster: Cluster, tool: Path, ray_library: Path, words: str, options: str = ""
) -> str:
    return (
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\n"
        f"source <(envcfg wrap --container {cluster.pytorch_image} --runtime apptainer "
        f"--fact rocm=6.2.4 --bind {ray_library} --set PYTHONPATH={ray_library} --launcher ray {options} "
        f"-- python3 {tool.parent}/programs/with_ray.py {words} || echo exit $?)\n"
    )


def shown(job: Job) -> list[dict[str, Any]]:
    """Return the objects that the program has printed: one per node, then the whole."""
    lines = job.stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def left_over(cluster: Cluster) -> list[str]:
    """Return what Ray has left on the nodes."""
    left = [" ".join(words) for words in cluster.left_running()]
    for node in cluster.nodes:
        names = cluster.node(node, ["ls", "/tmp"]).stdout.split()
        left += [f"{node}: {name}" for name in names if name.startswith("ray")]
    return left


def test_a_program_runs_once_and_sees_all_nodes(
    cluster: Cluster, tool: Path, ray_library: Path
) -> None:
    job = cluster.sbatch(script(cluster, tool, ray_library, "7"), *NODES, timeout=120)
    assert (job.state, job.exit_code) == ("FAILED", 7), job.stdout
    *nodes, whole = shown(job)
    assert sorted(node["node"] for node in nodes) == list(cluster.nodes)
    for node in nodes:
        assert node["gpus"] == ["0", "1"]
        assert (node["ROCR_VISIBLE_DEVICES"], node["RANK"], node["MASTER_ADDR"]) == (
            None,
        ) * 3
        assert node["address"] == node["VLLM_HOST_IP"]
    assert whole["resources"]["GPU"] == 4
    assert whole["head"] == cluster.nodes[0]
    assert "Ray runs on 2 nodes" in job.stdout
    assert left_over(cluster) == []


def test_a_signal_reaches_the_program_once_and_ray_serves_it_to_the_end(
    cluster: Cluster, tool: Path, ray_library: Path
) -> None:
    for name in ("USR1", "TERM"):
        job = cluster.submit(script(cluster, tool, ray_library, "5 wait"), *NODES)
        job.wait_output("ready\n", timeout=90)
        job.cancel(f"--signal={name}")
        job.wait(timeout=60)
        assert job.exit_code == 5, job.stdout
        assert f"2 answer after ['SIG{name}']" in job.stdout
        assert left_over(cluster) == []


def test_two_jobs_share_their_nodes(
    cluster: Cluster, tool: Path, ray_library: Path
) -> None:
    options = ("-N2", "--ntasks-per-node=1", "--gpus-per-node=1", "--partition=small-g", "--mem=1G", "--cpus-per-task=1", "--time=5")  # fmt: skip
    text = script(cluster, tool, ray_library, "0 wait")
    jobs = [cluster.submit(text, *options) for _ in range(2)]
    for job in jobs:
        job.wait_output("ready\n", timeout=120)
    for job in jobs:
        job.cancel("--signal=USR1")
        job.wait(timeout=60)
        assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
        assert shown(job)[-1]["resources"]["GPU"] == 2
    assert left_over(cluster) == []


def test_the_end_of_ray_on_one_node_ends_the_job(
    cluster: Cluster, tool: Path, ray_library: Path
) -> None:
    job = cluster.submit(script(cluster, tool, ray_library, "0 idle"), *NODES)
    job.wait_output("ready\n", timeout=90)
    (pid,) = (
        process.pid
        for process in cluster.processes(cluster.nodes[1])
        if process.argv and process.argv[0].endswith("raylet/raylet")
    )
    cluster.node(cluster.nodes[1], ["kill", "-KILL", str(pid)])
    job.wait(timeout=60)
    assert job.state == "FAILED", job.stdout
    assert f"Ray has ended on {cluster.nodes[1]}" in job.stdout
    assert left_over(cluster) == []


def test_a_node_that_is_cut_off_ends_the_program_and_is_named(
    cluster: Cluster, tool: Path, ray_library: Path
) -> None:
    job = cluster.submit(script(cluster, tool, ray_library, "0 idle"), *NODES)
    job.wait_output("ready\n", timeout=90)
    first, second = cluster.nodes[:2]
    with cluster.cut_off(second):
        words = f"{first} does not reach Ray on {second} any more"
        job.wait_output(words, timeout=90)
    # srun waits for a lost node until Slurm declares it down, which a user may shorten.
    job.cancel()
    job.wait(timeout=90)
    assert left_over(cluster) == []


def test_a_server_over_two_nodes_says_when_it_is_ready(
    cluster: Cluster, tool: Path, workdir: Path
) -> None:
    program = workdir / "vllm"
    text = (tool.parent / "programs/server.py").read_text()
    program.write_text(f"#!/usr/bin/env python3\n{text}")
    program.chmod(0o755)
    job = cluster.sbatch(
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\n"
        f"source <(envcfg wrap --container {cluster.pytorch_image} --runtime apptainer "
        f"--fact rocm=6.2.4 --set STARTED={workdir}/started. -- {program} serve m --port 8123)\n",
        *NODES,
    )
    assert job.exit_code == 6, job.stdout
    first = cluster.nodes[0]
    words = [(workdir / f"started.{rank}").read_text() for rank in range(2)]
    assert words[0].startswith(
        f"serve m --port 8123 --nnodes=2 --node-rank=0 --master-addr={first} "
    )
    assert words[1].startswith(
        f"serve m --port 8123 --nnodes=2 --node-rank=1 --master-addr={first} "
    )
    assert words[1].endswith(" --headless")
    assert re.search(rf"vllm is ready after \d+ s: http://{first}:8123\n", job.stdout)
    assert cluster.left_running() == []


def test_ray_runs_on_one_machine_and_hears_signals_once(
    cluster: Cluster, tool: Path, workdir: Path, ray_library: Path
) -> None:
    (workdir / "one.yaml").write_text("name: one\nlaunch: {launchers: [local]}\n")
    options = "--profile ./one.yaml --unset HIP_VISIBLE_DEVICES"  # 7 in the image
    for name in ("USR1", "TERM"):
        text = script(cluster, tool, ray_library, "5 wait", options)
        text = text.replace("source <(", "exec bash <(").replace(" || echo exit $?", "")
        job = cluster.submit(text, *LOCAL)
        job.wait_output("ready\n", timeout=90)
        assert "Ray runs on 1 node with" in job.stdout
        job.cancel(f"--signal={name}", "--batch")
        job.wait(timeout=60)
        # By TERM, Slurm's own word for the job is the signal.
        assert (job.exit_code, job.signal) in {(5, 0), (0, 15)}, job.stdout
        assert f"1 answer after ['SIG{name}']" in job.stdout
        assert left_over(cluster) == []
