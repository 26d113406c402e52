"""Each way to stop a job on the cluster: the first line of check-log, and the next step.

All jobs run at once. The table has the way, the end of the first line, and the next step.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster import HERE, Cluster
from job import Job
from support import envcfg, wrap_text

pytestmark = pytest.mark.nightly
WRAP = ("--profile", "lumi-g", "--fact", "rocm=6.2.4", "--container", "none")
SHAPE = ("--partition=small-g", "--nodes=1", "--ntasks=2", "--cpus-per-task=1")
LOOP = 'i=0; while :; do i=$((i+1)); echo "step $i loss 1.$i"; sleep 1; done'
Stop = Callable[[Cluster, Job], object]


def _scancel(*options: str, step: str = "") -> Stop:
    def stop(cluster: Cluster, job: Job) -> object:
        return cluster.run(["scancel", *options, f"{job.id}{step}"], check=True)

    return stop


def _interrupt_twice(cluster: Cluster, job: Job) -> None:
    """Send INT to the batch shell, which passes it on; srun wants two within a second."""
    once = f"scancel --batch --signal=INT {job.id}"
    cluster.run(["sh", "-c", f"{once}; {once}"], check=True)


def _requeue(cluster: Cluster, job: Job) -> None:
    cluster.run(["scontrol", "requeue", str(job.id)], check=True)
    job.wait_until(lambda job: job.state == "PENDING", timeout=60)
    job.cancel()


def _limit(_cluster: Cluster, job: Job) -> None:
    job.update("TimeLimit=1")


def _lose_node(cluster: Cluster, job: Job) -> None:
    node = f"nodename={job.nodes}"
    cluster.node("login", ["scontrol", "update", node, "state=down", "reason=test"])
    try:  # Slurm puts the job back into the queue
        job.wait_until(lambda job: job.state != "RUNNING", timeout=60)
        job.cancel()
    finally:
        cluster.node("login", ["scontrol", "update", node, "state=resume"])


WAYS: dict[str, tuple[Stop, str, str]] = {
    "scancel": (_scancel(), "the job was cancelled", "fix first"),
    "scancel-step": (_scancel(step=".0"), r"step \S+ was cancelled", "fix first"),
    "term-step": (
        _scancel("--signal=TERM", step=".0"), r"step \S+ was cancelled", "fix first",
    ),
    "int-step": (
        _scancel("--signal=INT", step=".0"),
        r"ranks 0-1 \(\w+\) ended by a signal: Interrupt", "fix first",
    ),
    "term-batch": (
        _scancel("--batch", "--signal=TERM"), "the job was cancelled", "fix first",
    ),
    "int-batch": (_interrupt_twice, r"step \S+ was cancelled", "fix first"),
    "requeue": (_requeue, "the job was put back into the queue by the scheduler", "wait"),
    "time-limit": (_limit, "the job reached its time limit", "restart"),
    "node-down": (_lose_node, r"a process on \w+ ended: the node went down", "restart without"),
}  # fmt: skip


def _script(tool: Path) -> str:
    made = wrap_text(*WRAP, "--inline", "--", "sh", "-c", LOOP)
    assert made.code == 0, made.err
    return f"#!/bin/bash\nPATH={tool}:$PATH\n{made.out.decode()}"


@pytest.fixture(scope="module")
def logs(cluster: Cluster, tool: Path) -> dict[str, Path]:
    """Stop a job in each way; return the logs."""
    folder = cluster.new_folder("ways")
    order = sorted(WAYS, key=lambda way: way == "node-down")  # it ends its neighbours
    jobs = {
        way: cluster.submit(
            _script(tool),
            *SHAPE,
            "--mem=100M",
            "--open-mode=append",
            cwd=folder,
        )
        for way in order
        if way != "node-down"
    }
    for way, job in jobs.items():
        job.wait_output("step 1", timeout=120)
        WAYS[way][0](cluster, job)
    for job in jobs.values():
        job.wait(timeout=120)
    job = cluster.submit(_script(tool), *SHAPE, "--open-mode=append", cwd=folder)
    job.wait_output("step 3", timeout=60)
    WAYS["node-down"][0](cluster, job)
    jobs["node-down"] = job
    return {way: job.output for way, job in jobs.items()}


@pytest.mark.parametrize("way", WAYS)
def test_a_way_to_stop_a_job_is_named(way: str, logs: dict[str, Path]) -> None:
    _, first, action = WAYS[way]
    _check(logs[way], first, action)


def _check(log: Path, first: str, action: str) -> None:
    told = json.loads(envcfg("check-log", "--json", str(log)).text)
    found = (told["summary"], told["next"]["action"])
    assert re.match(f"broken: {first}(;|$)", found[0]), (found, log.read_text()[-3000:])
    assert found[1] == action, (found, log.read_text()[-3000:])


@pytest.mark.usefixtures("cluster")
def test_ctrl_c_twice_in_front_of_srun_cancels_the_step(
    workdir: Path, tool: Path
) -> None:
    (workdir / "step.sh").write_text(_script(tool))
    command = [HERE / "run", "salloc", *SHAPE, "--mem=100M", "bash", "step.sh"]
    ours, theirs = pty.openpty()
    # Each Ctrl-C reaches the processes whose terminal this is.
    shell = subprocess.Popen(
        ["setsid", "--ctty", *command],
        cwd=workdir, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    text, sent = b"", 0
    with contextlib.suppress(OSError):  # the other side is closed
        while piece := os.read(ours, 4096):
            text += piece
            if not sent and b"step 3" in text:
                sent = os.write(ours, b"\x03")
            elif sent == 1 and b"srun: interrupt" in text:
                sent += os.write(ours, b"\x03")
    shell.wait(timeout=60)
    os.close(ours)
    log = workdir / "terminal.out"
    log.write_bytes(text)
    _check(log, r"step \S+ was cancelled", "fix first")
