"""Real jobs that watch themselves: what stands in their output, and how they end.

All run at once. What NCCL says comes from the generator of tests/log; each rank writes what
is its own into its file, as NCCL does.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import jobs
import pytest

from cluster import Cluster
from job import Job

FOUR = ("-N2", "--ntasks-per-node=2", "--partition=small-g", "--mem=40G")
MANY = ("-N2", "--ntasks-per-node=32", "--partition=small-g", "--mem=40G")
PROGRAM = """\
#!/bin/bash
name=${NCCL_DEBUG_FILE//%h/$HOSTNAME}
cp "$1.$RANK" "${name//%p/$$}"
sleep "$2"
echo "rank $RANK is done"
"""
# Rank 0 is on the node of what watches its job.
KILLER = """\
#!/bin/bash
for process in $(pgrep -f watch-step); do
  if [[ $RANK == 0 ]] && grep -qz "^SLURM_JOB_ID=$SLURM_JOB_ID$" "/proc/$process/environ"; then
    kill -KILL "$process"
  fi
done
sleep 2
"""
FULL = "/tmp/full"  # a folder of each node, on a disk that has no room


def write_ranks(cluster: Cluster, name: str, job: jobs.Job) -> None:
    said: dict[int, list[str]] = {rank: [] for rank in range(job.world)}
    for line in jobs.lines(replace(job, hosts=cluster.nodes)):
        said[line.rank].append(line.text)
    for rank, texts in said.items():
        (cluster.workdir / f"{name}.{rank}").write_text("\n".join(texts) + "\n")


@pytest.fixture
def ended(cluster: Cluster, tool: Path, programs: Path) -> dict[str, Job]:
    """Let all jobs run; return them by name when they have ended."""
    four = jobs.Job(nodes=2, ranks_per_node=2)
    write_ranks(cluster, "good", four)
    write_ranks(cluster, "socket", replace(four, network="socket"))
    write_ranks(cluster, "many", jobs.Job(nodes=2, ranks_per_node=32))
    for name, text in (("program", PROGRAM), ("killer", KILLER)):
        (cluster.workdir / name).write_text(text)
        (cluster.workdir / name).chmod(0o755)
    fill = f"mount -t tmpfs -o size=16k,mode=1777 tmpfs {FULL} && yes >{FULL}/rest"
    for node in cluster.nodes:
        cluster.node(node, ["bash", "-c", f"mkdir -p {FULL} && {fill}"])

    def submit(
        options: str, command: str, *, more: str = "", shape: tuple[str, ...] = FOUR
    ) -> Job:
        return cluster.submit(
            f"#!/bin/bash\nPATH={tool}:$PATH\n{more}"
            "source <(envcfg wrap --profile lumi-g --no-modules --fact rocm=6.2.4 "
            f"{options} -- {command} || echo exit $?)\n",
            *shape,
        )

    image = f"--container {cluster.pytorch_image}"
    hung = f"python3 {programs}/hung.py 3 sleep"
    trained = f"python3 {programs}/sockets.py {cluster.workdir}/socket"
    started = {
        "hung": submit(f"{image} --on-silence=16s=stop --flight-recorder", hung),
        "good": submit("--container none --verify", "./program good 6"),
        "socket": submit(f"{image} --verify=stop", f"{trained} 90"),
        "raise": submit("--container none --verify", "python3 -c 'raise KeyError(1)'"),
        "warn": submit(f"{image} --verify", f"{trained} 12"),
        "none": submit("--container none --verify", "true"),
        "killed": submit("--container none --verify", "./killer"),
        "full": submit(
            f"--container none --verify --nccl-debug {FULL}",
            "./program good 2",
            more=f"exec >{FULL}/out 2>&1\n",
        ),
        "many": submit("--container none --verify", "./program many 9", shape=MANY),
    }
    found = {name: job.wait(timeout=160) for name, job in started.items()}
    for node in cluster.nodes:
        cluster.node(node, ["umount", FULL])
    return found


def test_jobs_say_what_is_wrong_with_them(
    cluster: Cluster, ended: dict[str, Job]
) -> None:
    good = ended["good"]
    assert (good.state, good.exit_code) == ("COMPLETED", 0), good.stdout
    assert re.search(
        r"^envcfg: verified after \d+ s: all 4 ranks on 2 nodes use AWS Libfabric over cxi, "
        r"with GPU RDMA$",
        good.stdout,
        re.M,
    ), good.stdout
    assert not list(cluster.workdir.glob(f"nccl-{good.id}.*"))

    socket = ended["socket"]
    assert (socket.state, socket.exit_code) == ("FAILED", 1), socket.stdout
    assert re.search(
        r"^envcfg: error: the step is stopped after \d+ s: degraded: 4 of 4 ranks use TCP",
        socket.stdout,
        re.M,
    ), socket.stdout

    warned = ended["warn"]
    assert (warned.state, warned.exit_code) == ("COMPLETED", 0), warned.stdout
    assert re.search(
        r"^envcfg: warning: degraded after \d+ s: 4 of 4 ranks use TCP sockets",
        warned.stdout,
        re.M,
    ), warned.stdout
    assert warned.stdout.count(" is done") == 4

    none = ended["none"]
    assert (none.state, none.exit_code) == ("COMPLETED", 0), none.stdout
    assert "envcfg: note: not verified: no line of NCCL: the program" in none.stdout

    many = ended["many"]
    assert (many.state, many.exit_code) == ("COMPLETED", 0), many.stdout
    assert "s: all 64 ranks on 2 nodes use AWS Libfabric over cxi" in many.stdout

    killed = ended["killed"]
    assert (killed.state, killed.exit_code) == ("COMPLETED", 0), killed.stdout
    said = "envcfg: note: what watched this step does not answer, and says nothing more"
    assert said in killed.stdout

    full = ended["full"]  # whose output no disk has taken
    assert (full.state, full.exit_code, full.stdout) == ("COMPLETED", 0, "")

    raised = ended["raise"]
    assert (raised.state, raised.exit_code) == ("FAILED", 1), raised.stdout
    assert re.search(r"^envcfg: first cause: .*KeyError: 1", raised.stdout, re.M)

    hung = ended["hung"]
    assert (hung.state, hung.exit_code) == ("FAILED", 1), hung.stdout
    assert re.search(
        r"^envcfg: silent for 1\d s; envcfg hang says:$", hung.stdout, re.M
    ), hung.stdout
    assert "envcfg:   error: rank 3 on nid001001: sleeps" in hung.stdout, hung.stdout
    assert "envcfg: error: the step is stopped: it is silent" in hung.stdout
    last = hung.stdout.splitlines()[-1]
    assert last.startswith("envcfg: when it was stopped: "), hung.stdout
    assert re.search(r"1 rank stood at hung.py:\d+ in wait_for_nobody", last), (
        hung.stdout
    )

    time.sleep(1)
    print(hung.stdout)
    left = [each.argv for node in cluster.nodes for each in cluster.processes(node)]
    assert not [argv for argv in left if "check-log" in argv]


@pytest.mark.nightly
def test_a_node_that_is_cut_off_is_named_in_the_output_and_the_job_goes_on(
    cluster: Cluster, tool: Path
) -> None:
    wrap = (
        "envcfg wrap --profile lumi-g --no-modules --fact rocm=6.2.4 --container none"
    )
    job = cluster.submit(
        f"#!/bin/bash\nPATH={tool}:$PATH\necho begins\n"
        f"source <({wrap} --on-silence=6s -- sleep 300 || echo exit $?)\n",
        *FOUR,
    )
    job.wait_output("begins", timeout=30)
    time.sleep(3)
    with cluster.cut_off("nid001001"):
        job.wait_output("[hang-node-silent]", timeout=60)
    assert "envcfg:   error: nid001001: does not answer" in job.stdout, job.stdout
    assert job.refresh().state == "RUNNING"
    job.cancel()
    job.wait(timeout=60)
    left = [each.argv for each in cluster.processes(cluster.nodes[0])]
    assert not [argv for argv in left if "--watch-step" in argv]
