"""The test cluster itself: what the tests of `envcfg` rely on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cluster import Cluster
from job import ClusterError

ALL_GPUS = "0,1,2,3,4,5,6,7"
HOSTS = ("login", "nid001000", "nid001001", "g1101", "g1102")

ALL_REDUCE = """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
data = torch.ones(4 * 2**20)
for _ in range(3):
    dist.all_reduce(data)
rank, size = dist.get_rank(), dist.get_world_size()
print(f"rank {rank} of {size}: {data[0].item():.0f}", flush=True)
dist.destroy_process_group()
"""

ALL_REDUCE_JOB = """#!/usr/bin/env bash
#SBATCH --nodes=2 --ntasks-per-node=2 --partition=standard-g
read -r MASTER_ADDR < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
export MASTER_ADDR MASTER_PORT=29500 WORLD_SIZE=$SLURM_NTASKS
srun bash -c 'RANK=$SLURM_PROCID exec apptainer exec {image} python3 all_reduce.py'
"""


def test_run_passes_arguments_byte_for_byte(cluster: Cluster) -> None:
    words = [b"a b", b"", b"two\nlines", b"$HOME `id` \\", b"'\"", b"\xff\xfe", b"-x"]
    done = cluster.run_bytes(["printf", r"%s\0", *words])
    assert done.stdout.split(b"\0")[:-1] == words


def test_run_passes_the_exit_code(cluster: Cluster) -> None:
    assert cluster.run(["bash", "-c", "exit 9"]).returncode == 9
    assert cluster.run(["bash", "-c", "kill -TERM $$"]).returncode == -15


def test_run_is_a_login_of_the_user(
    cluster: Cluster, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKED", "1")
    done = cluster.run(
        ["bash", "-c", 'echo "$USER $(id -un) $HOME $PWD ${LEAKED-clean} $ADDED"'],
        env={"ADDED": "a=b c"},
    )
    assert done.stdout == f"envcfg envcfg {cluster.home} {workdir} clean a=b c\n"


def test_run_goes_home_when_the_user_may_not_stay(
    cluster: Cluster, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    assert cluster.run(["pwd"], cwd=tmp_path).stdout.strip() == str(cluster.home)


@pytest.mark.nightly
def test_run_stops_at_its_timeout(cluster: Cluster) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        cluster.run(["sleep", "1234"], timeout=0.5)
    time.sleep(0.1)
    assert not cluster.processes("login")


def test_two_nodes_are_idle(cluster: Cluster) -> None:
    lumi = "--partition=standard-g,small-g"
    ask = ["sinfo", "--noheader", "--Node", lumi, "--format=%N %P %T"]
    deadline = time.monotonic() + 60
    # The scheduler plans nodes for a job until its next round, even if the job is gone.
    while "planned" in (shown := cluster.run(ask).stdout):
        assert time.monotonic() < deadline, shown
        time.sleep(0.5)
    assert sorted(shown.split("\n")[:-1]) == [
        f"{node} {partition} idle"
        for node in cluster.nodes
        for partition in ("small-g", "standard-g*")
    ]


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_knows_all_names(cluster: Cluster, host: str) -> None:
    names = "login nid001000 nid001001 nid001000-hsn0 nid001001-hsn3 g1102 g1102-ib0"
    done = cluster.node(host, ["getent", "ahostsv4", *names.split()])
    addresses = [
        line.split()[0] for line in done.stdout.splitlines() if "STREAM" in line
    ]
    assert addresses == [
        "10.120.0.1",
        "10.120.0.10",
        "10.120.0.11",
        "10.253.0.10",
        "10.253.3.11",
        "10.120.0.112",
        "10.254.0.112",
    ]
    assert cluster.node(host, ["hostname"]).stdout.strip() == host


@pytest.mark.nightly
def test_a_host_reaches_nothing_outside(cluster: Cluster) -> None:
    for host in HOSTS:
        routes = cluster.node(host, ["ip", "route", "show", "default"])
        assert routes.stdout == ""


def test_srun_starts_tasks_on_both_nodes(cluster: Cluster) -> None:
    job = cluster.sbatch("#!/bin/bash\nsrun hostname\n", "--nodes=2")
    assert job.state == "COMPLETED"
    assert sorted(job.stdout.split()) == list(cluster.nodes)


@pytest.mark.parametrize("export", ["ALL", "NONE"])
def test_a_task_sees_its_gpus(cluster: Cluster, export: str) -> None:
    job = cluster.sbatch(
        "#!/bin/bash\nunset SLURM_EXPORT_ENV\nsrun printenv ROCR_VISIBLE_DEVICES\n",
        "--nodes=2",
        "--gpus-per-node=8",
        f"--export={export}",
    )
    assert job.stdout.split() == [ALL_GPUS] * 2


@pytest.mark.parametrize("runtime", ["apptainer", "singularity"])
def test_an_image_brings_its_own_environment(cluster: Cluster, runtime: str) -> None:
    job = cluster.sbatch(
        f"#!/bin/bash\nsrun {runtime} exec {cluster.pytorch_image} env\n",
        env={"FROM_HOST": "seen"},
    )
    assert job.state == "COMPLETED", job.stdout
    assert set(job.stdout.splitlines()) >= {
        "NCCL_SOCKET_IFNAME=wrong0",
        "NCCL_NET=Wrong",
        "MIOPEN_USER_DB_PATH=/wrong",
        "HIP_VISIBLE_DEVICES=7",
        "IMAGE_OWN=kept",
        "FROM_HOST=seen",
        "SLURM_PROCID=0",
    }


def test_small_images_have_a_shell_and_nothing_else(cluster: Cluster) -> None:
    for image in (cluster.busybox_image, cluster.dash_image):
        done = cluster.run(
            ["apptainer", "exec", image, "/bin/sh", "-c", 'echo /bin/* "$IMAGE_OWN"']
        )
        assert done.stdout == "/bin/sh kept\n", done.stderr
        assert done.stderr == ""


def test_dash_image_runs_no_command(cluster: Cluster) -> None:
    done = cluster.run(
        ["apptainer", "exec", cluster.dash_image, "/bin/sh", "-c", "env"]
    )
    assert done.returncode == 127


@pytest.mark.nightly
@pytest.mark.parametrize("interface", ["hsn0", "hsn3"])
def test_gloo_moves_its_bytes_over(
    cluster: Cluster, workdir: Path, interface: str
) -> None:
    (workdir / "all_reduce.py").write_text(ALL_REDUCE)
    before = cluster.counters()
    job = cluster.sbatch(
        ALL_REDUCE_JOB.format(image=cluster.pytorch_image),
        env={"GLOO_SOCKET_IFNAME": interface},
    )
    after = cluster.counters()

    assert job.state == "COMPLETED", job.stdout
    assert {f"rank {rank} of 4: 64" for rank in range(4)} <= set(
        job.stdout.splitlines()
    )
    for node in cluster.nodes:
        moved = {name: after[node][name] - before[node][name] for name in after[node]}
        others = sum(moved[name] for name in moved if name not in (interface, "lo"))
        assert moved[interface] > 20 * 2**20
        assert moved[interface] > 10 * others


@pytest.mark.parametrize(
    ("command", "code", "signal"),
    [("exit 7", 7, 0), ("srun bash -c 'exit 5'", 5, 0), ("kill -TERM $$", 0, 15)],
    ids=["script", "task", "signal"],
)
def test_a_failing_job_tells_why(
    cluster: Cluster, command: str, code: int, signal: int
) -> None:
    job = cluster.sbatch(f"#!/bin/bash\n{command}\n")
    assert (job.state, job.exit_code, job.signal) == ("FAILED", code, signal)


def test_two_jobs_share_the_nodes_of_small_g(cluster: Cluster) -> None:
    script = "#!/bin/bash\nsrun sleep 60\n"
    options = ("--nodes=2", "--partition=small-g", "--gpus-per-node=2")
    jobs = [cluster.submit(script, *options) for _ in range(2)]
    states = [job.wait_running().state for job in jobs]
    assert states == ["RUNNING", "RUNNING"]
    assert jobs[0].nodes == jobs[1].nodes == "nid[001000-001001]"


@pytest.mark.nightly
def test_a_cancelled_job_leaves_no_process(cluster: Cluster) -> None:
    job = cluster.submit(
        "#!/bin/bash\n"
        f"srun apptainer exec {cluster.busybox_image} "
        "/bin/sh -c 'echo started; sleep 1234'\n",
        "--nodes=2",
    )
    job.wait_output("started\nstarted\n")
    assert all(cluster.pids(node) for node in cluster.nodes)
    job.cancel()
    assert job.wait().state == "CANCELLED"
    cluster.cancel_jobs()
    until = time.monotonic() + 15
    while left := cluster.left_running():
        assert time.monotonic() < until, left
        time.sleep(0.2)


# What looks like the process that Podman keeps for its namespaces, and whether it is left.
OWN = "unshare --user bash -c 'exec -a podman {}' <>never"
KEEPERS = {
    "all alike": (f"({OWN.format('./podman')} &)", False),
    "another program": (f"({OWN.format('cat')} &)", True),
    "no namespaces of its own": ("(exec -a podman ./podman <>never &)", True),
    "started by a step": (f"{OWN.format('./podman')} &", True),
    "more words": (f"({OWN.format('./podman -')} &)", True),
}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KEEPERS)
def test_what_podman_keeps_is_told_by_more_than_its_name(
    cluster: Cluster, kind: str
) -> None:
    start, is_left = KEEPERS[kind]
    node = cluster.nodes[0]
    job = cluster.submit(
        f"#!/bin/bash\ncp /bin/cat podman; mkfifo never\n{start}\nsleep 1234\n",
        f"--nodelist={node}",
    )
    until = time.monotonic() + 30
    while not (
        found := [p for p in cluster.processes(node) if p.argv[:1] == ("podman",)]
    ):
        assert time.monotonic() < until, job.stdout
        time.sleep(0.1)
    left = [words for words in cluster.left_running() if words[:1] == ("podman",)]
    for each in found:
        os.kill(each.pid, signal.SIGKILL)
    assert bool(left) == is_left


@pytest.mark.nightly
def test_waiting_too_long_shows_what_was_written(cluster: Cluster) -> None:
    job = cluster.submit("#!/bin/bash\necho so far; sleep 1234\n")
    job.wait_output("so far")
    with pytest.raises(ClusterError, match="so far"):
        job.wait(timeout=0.1)


def test_nodes_have_their_own_scratch(cluster: Cluster) -> None:
    job = cluster.sbatch(
        "#!/bin/bash\nsrun bash -c 'touch {/tmp,/dev/shm}/$(hostname);"
        " sleep 1; ls /tmp /dev/shm | grep ^nid | sort -u'\n",
        "--nodes=2",
    )
    assert sorted(job.stdout.split()) == list(cluster.nodes)
