"""Scripts of ``envcfg sbatch`` as jobs: they run, in arrays, warned, and started again."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from cluster import Cluster
from job import Job
from support import envcfg

LUMI = ("--profile", "lumi-g", "--account", "project_465000001", "--fact", "rocm=6.2.4")
SMALL = (*LUMI, "--partition", "small-g", "--nodes", "2", "--gpus-per-node", "1")
# As long as the signal needs at most: Slurm looks at time limits twice a minute.
WARNED = ("--time", "1", "--signal", "50")


def job_script(cluster: Cluster, *options: str, command: str) -> str:
    container = ("--container", str(cluster.busybox_image), "--runtime", "apptainer")
    done = envcfg("sbatch", *options, *container, "--", "sh", "-c", command)
    assert done.code == 0, done.err
    return done.text


def started(cluster: Cluster, text: str, *options: str, path: str = "") -> int:
    """Submit *text* as it is, without a word that it does not say itself."""
    env = {"PATH": f"{path}:/usr/bin:/bin"} if path else {}
    sent = cluster.run(
        ["sbatch", "--parsable", *options], env=env, stdin=text, check=True
    )
    return int(sent.stdout.split(";")[0])


@pytest.mark.parametrize("has_envcfg", [True, False])
def test_the_lumi_script_runs_on_two_whole_nodes(
    cluster: Cluster, workdir: Path, tool: Path, has_envcfg: bool
) -> None:
    show = 'echo "rank $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK '
    show += '$NCCL_SOCKET_IFNAME $SLURM_CPUS_PER_TASK $SLURM_MEM_PER_NODE"'
    size = ("--partition", "standard-g", "--nodes", "2", "--time", "5")
    text = job_script(cluster, *LUMI, *size, command=show)
    number = started(cluster, text, path=str(tool) if has_envcfg else "")
    job = Job(cluster, number).wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert job.output == workdir / f"sh-{number}.out"
    assert sorted(re.findall(r"^rank .*$", job.stdout, re.M)) == sorted(
        f"rank {rank}/16 {rank % 8}/8 {rank // 8} hsn0,hsn1,hsn2,hsn3 7 {480 * 1024}"
        for rank in range(16)
    )
    shown = cluster.run(["scontrol", "show", "job", str(number)]).stdout
    for said in (
        "Account=project_465000001", "Partition=standard-g", "NumNodes=2",
        "TresPerNode=gres:gpu:8", "TimeLimit=00:05:00", "MinMemoryNode=480G",
    ):  # fmt: skip
        assert said in shown


def test_the_cores_of_a_step_are_those_of_the_job(cluster: Cluster) -> None:
    """This Slurm's srun takes --cpus-per-task over from the environment alone."""
    text = job_script(cluster, *SMALL, "--time", "5", command="exit 0")
    job = Job(cluster, started(cluster, text + "srun printenv SLURM_CPUS_PER_TASK\n"))
    job.wait(timeout=60)
    assert re.findall(r"^\d+$", job.stdout, re.M) == ["7", "7"], job.stdout


def test_the_jobs_of_an_array_have_their_own_output(
    cluster: Cluster, workdir: Path
) -> None:
    command = 'echo "part $SLURM_ARRAY_TASK_ID of rank $RANK"'
    size = ("--time", "5", "--array", "3-4", "--job-name", "parts")
    number = started(cluster, job_script(cluster, *SMALL, *size, command=command))
    deadline = time.monotonic() + 90
    while cluster.run(["squeue", "--noheader", "--job", str(number)]).stdout.strip():
        assert time.monotonic() < deadline
        time.sleep(0.3)
    for part in (3, 4):
        said = (workdir / f"parts-{number}_{part}.out").read_text()
        assert sorted(re.findall(r"^part .*$", said, re.M)) == [
            f"part {part} of rank {rank}" for rank in range(2)
        ]


def test_every_rank_is_warned_before_the_time_limit(cluster: Cluster) -> None:
    # Slurm signals every process of a step and the runtime hands its own on: it can come twice.
    saves = 'trap "" USR1; echo rank $RANK saves; exit 0'
    command = f"trap '{saves}' USR1; while :; do sleep 0.1; done"
    text = job_script(cluster, *SMALL, *WARNED, command=command)
    job = Job(cluster, started(cluster, text)).wait(timeout=100)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert sorted(re.findall(r"^rank \d saves$", job.stdout, re.M)) == [
        f"rank {rank} saves" for rank in range(2)
    ]


@pytest.mark.nightly
def test_a_job_that_has_saved_starts_again_until_it_is_done(
    cluster: Cluster, workdir: Path
) -> None:
    (workdir / "train.sh").write_text(
        "if [ -e saved.$RANK ]; then echo rank $RANK done; exit 0; fi\n"
        "trap 'trap \"\" USR1; touch saved.$RANK; echo rank $RANK saves; exit 0' USR1\n"
        "echo rank $RANK starts\nwhile :; do sleep 0.1; done\n"
    )
    options = (*SMALL, *WARNED, "--requeue")
    text = job_script(cluster, *options, command=". ./train.sh")
    number = started(cluster, text)
    job = Job(cluster, number).refresh()
    job.wait_output("the job starts again", timeout=90)
    job.skip_requeue_delay()
    job.wait(timeout=60)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    for said in ("starts", "saves", "done"):
        assert sorted(re.findall(rf"^rank \d {said}$", job.stdout, re.M)) == [
            f"rank {rank} {said}" for rank in range(2)
        ]
    shown = cluster.run(["scontrol", "show", "job", str(number)]).stdout
    assert "Restarts=1" in shown
    for node in cluster.nodes:
        assert f"-{number}-" not in cluster.node(node, ["ls", "/tmp"]).stdout


# The line goes into the log itself: through srun it may come after the report of the exit.
FAILING = """\
if [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then
  [ "$RANK" != 0 ] || echo 'srun: error: Node failure on nid001001' >>"sh-$SLURM_JOB_ID.out"
  exit 7
fi
[ "$RANK" != 0 ] || python3 -c 'raise ValueError("corrupt shard %s" % __import__("time").time())'
sleep 0.5; exit 1
"""


def test_a_job_that_fails_starts_again_until_its_program_is_the_cause(
    cluster: Cluster, workdir: Path, tool: Path
) -> None:
    (workdir / "train.sh").write_text(FAILING)
    size = ("--partition", "small-g", "--nodes", "1", "--gpus-per-node", "1")
    again = ("--time", "5", "--signal", "50", "--requeue=5")
    bad = workdir / "bad nodes.txt"
    wrap = (*LUMI, *size, *again, "--container", "none", "--exclude-from", str(bad))
    done = envcfg("sbatch", *wrap, "--", "sh", "./train.sh")
    assert done.code == 0, done.err
    job = Job(cluster, started(cluster, done.text, path=str(tool))).refresh()
    deadline = time.monotonic() + 300
    while "no other start" not in job.stdout:
        assert time.monotonic() < deadline, job.stdout
        if job.refresh().state == "PENDING":  # Slurm may set its two minutes twice
            job.skip_requeue_delay()
        time.sleep(3.5)
    job.wait(timeout=180)
    assert (job.state, job.exit_code) == ("FAILED", 1), job.stdout
    assert "starts again without nid001001\n" in job.stdout
    assert (
        "no other start: fix first: rank 0 (nid001000) ended: ValueError" in job.stdout
    )
    shown = cluster.run(["scontrol", "show", "job", str(job.id)]).stdout
    assert "Restarts=1" in shown
    assert "ExcNodeList=nid001001" in shown
    assert re.search(r"^nid001001 20\S+Z .*nid001001", bad.read_text(), re.M)


# Programs of one rank each, that a job starts again or not. A rank that ends so proves nothing
# about its program, as the other node may be better.
NETWORK = """\
echo "$(hostname):1:1 [0] transport/net_ib.cc:1309 NCCL WARN NET/IB : Got completion from peer \
10.0.0.2<40001> with status=12 opcode=0 len=0 vendor err 129"
exit 1
"""
STUCK = f'echo "step 20/900 loss 1.5"\n{NETWORK}'
ONE_NODE = """\
[ -e bad ] || hostname >bad
echo "step $((20 * (${SLURM_RESTART_COUNT:-0} + 1)))/40 loss 1.5"
[ "$(cat bad)" != "$(hostname)" ] || exec python3 -c "
raise RuntimeError('CUDA error: uncorrectable ECC error encountered')"
"""
LIMIT = """\
trap 'echo saved checkpoint at step $step; echo $step >saved; exit 0' USR1
[ ! -e saved ] || { echo "step 900/900 loss 0.5"; exit 0; }
step=0
while :; do step=$((step + 1)); echo "step $step/900 loss 1.5"; sleep 0.1; done
"""
NAN = f"""\
for step in $(seq 40); do
  loss=nan; [ "$step" -gt 20 ] || loss=1.$step
  echo "step $step/900 loss: $loss"
done
{NETWORK}"""
# The program, its state, its starts, and a message in its output.
REQUEUED = {
    "stuck": (
        STUCK,
        "FAILED",
        2,
        "no other start: fix first: attempts 1 and 2 ended the same way",
    ),
    "one-node": (ONE_NODE, "COMPLETED", 2, "starts again without {first}\n"),
    "limit": (LIMIT, "COMPLETED", 2, "warned by USR1, the program has stopped"),
    "nan": (
        NAN,
        "FAILED",
        1,
        "the loss is nan from step 21 on; its last number was 1.20",
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", REQUEUED)
def test_a_job_starts_again_only_if_that_can_help(
    cluster: Cluster, workdir: Path, tool: Path, name: str
) -> None:
    program, state, starts, message = REQUEUED[name]
    (workdir / "train.sh").write_text(program)
    size = ("--partition", "small-g", "--nodes", "1", "--gpus-per-node", "1")
    again = ("--time", "5", "--signal", "50", "--requeue=5")
    wrap = (*LUMI, *size, *again, "--container", "none")
    done = envcfg("sbatch", *wrap, "--", "sh", "./train.sh")
    assert done.code == 0, done.err
    job = Job(cluster, started(cluster, done.text, path=str(tool))).wait_running()
    first = job.nodes
    if name == "limit":  # as Slurm does soon before the limit
        job.wait_output("step 3/900").cancel("--signal=USR1", "--batch")
    if starts > 1:
        job.wait_output("starts again", timeout=120)
        job.skip_requeue_delay()
    job.wait(timeout=180)
    assert job.state == state, job.stdout
    assert message.format(first=first) in job.stdout
    shown = cluster.run(["scontrol", "show", "job", str(job.id)]).stdout
    assert f"Restarts={starts - 1}" in shown
    if name == "one-node":
        assert f"ExcNodeList={first}" in shown
        assert job.nodes != first


@pytest.mark.nightly
def test_a_program_that_does_not_save_is_not_started_again(cluster: Cluster) -> None:
    options = (*SMALL, *WARNED, "--requeue")
    text = job_script(cluster, *options, command="while :; do sleep 0.1; done")
    job = Job(cluster, started(cluster, text)).wait(timeout=100)
    # 128 + USR1, or + TERM of a rank that was ended because of the other
    assert (job.state, job.exit_code in {138, 143}) == ("FAILED", True), job.stdout
    assert "it must catch the signal, save, and exit with 0" in job.stdout
