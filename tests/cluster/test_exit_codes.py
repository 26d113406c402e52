"""Exit codes of steps that fail, with the real srun: of the rank that failed first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cluster import Cluster
from support import wrap_text

FOUR = ("-N2", "--ntasks-per-node=2", "--partition=small-g", "--mem=40G")
# Rank 2 fails when all are there; the others would go on, and are ended with 143.
PROGRAM = """\
import os, signal, sys, time
how, rank = sys.argv[1], int(os.environ["RANK"])
if rank == 2:
    time.sleep(0.5)
    if how == "exception":
        raise ValueError("corrupt shard 17")
    if how == "module":
        import there_is_no_such_module
    if how == "abort":
        os.abort()
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))
    if how == "quotes":
        sys.stderr.write("srun: error: nid001000: task 0: Exited with exit code 9\\n")
        sys.exit(3)
    sys.exit(int(how))
time.sleep(40)
"""
CODES = {
    "exception": 1, "module": 1, "7": 7, "255": 255, "abort": 134,
    "SIGSEGV": 139, "SIGBUS": 135,
    "SIGKILL": 137,  # so the kernel ends a process where memory runs out
    "SIGRTMIN": 162, "quotes": 3,
}  # fmt: skip
OWN = "envcfg: note: exit code {} is that of srun, and "


@pytest.fixture
def steps(workdir: Path) -> Path:
    """Write a script of steps and the program, in the folder of the test."""
    made = wrap_text(
        *("--profile", "lumi-g", "--no-modules", "--fact", "rocm=6.2.4"),
        *("--container", "none"),
    )
    assert made.code == 0, made.err
    (workdir / "steps.sh").write_bytes(made.out)
    (workdir / "program.py").write_text(PROGRAM)
    return workdir


def codes(text: str) -> dict[str, int]:
    return {name: int(code) for name, code in re.findall(r"^(\S+) ended (\d+)$", text, re.M)}  # fmt: skip


@pytest.mark.usefixtures("steps")
def test_a_failed_step_has_the_code_of_the_rank_that_failed_first(
    cluster: Cluster,
) -> None:
    runs = "".join(
        f'envcfg_run python3 program.py {how}; echo "{how} ended $?"\n' for how in CODES
    )
    parallel = (
        "envcfg_run --on 0 --ranks=2 -- sh -c '[ $RANK = 1 ] && exit 3; sleep 20' & a=$!\n"
        "envcfg_run --on 1 --ranks=2 -- sh -c '[ $RANK = 0 ] && exit 5; sleep 20' & b=$!\n"
        'wait -f $a; echo "a ended $?"; wait -f $b; echo "b ended $?"\n'
    )
    job = cluster.sbatch(
        f"#!/bin/bash\nsource ./steps.sh\n{runs}{parallel}"
        "envcfg_run true; echo true ended $?; envcfg_run python3 program.py 7\n",
        *FOUR,
    )
    assert codes(job.stdout) == {**CODES, "a": 3, "b": 5, "true": 0}, job.stdout
    assert (job.state, job.exit_code) == ("FAILED", 7), job.stdout
    assert "is that of srun" not in job.stdout
    # srun's lines are where they would be without envcfg, in their order.
    first, second = re.findall(r"^srun: error: .*", job.stdout, re.M)[:2]
    assert first == "srun: error: nid001001: task 2: Exited with exit code 1"
    assert second.endswith(": Terminated")
    assert cluster.left_running() == []


@pytest.mark.nightly
def test_wherever_the_output_goes_the_code_is_the_same(
    cluster: Cluster, steps: Path
) -> None:
    run = "envcfg_run python3 program.py 7"
    ways = (
        "2>&1 | cat; set -- ${PIPESTATUS[0]}",
        "> >(cat) 2>&1; set -- $?",
        ">both 2>&1; set -- $?",
        ">both2 2>both2; set -- $?",
        "2>err; set -- $?",
        "2>>appended; set -- $?",
        "2>/dev/null; set -- $?",
        "--; set -- $?",
    )
    text = "".join(
        f'{run} {way}; echo "{number} ended $1"\n' for number, way in enumerate(ways)
    )
    text += (
        f"export SLURM_STDERRMODE={steps}/rank.err; {run}; echo env ended $?\n"
        "unset SLURM_STDERRMODE\n"
        "script -qec 'bash -c \"source ./steps.sh; envcfg_run python3 program.py 7\"' "
        "/dev/null </dev/null; echo terminal ended $?\n"
    )
    job = cluster.sbatch(f"#!/bin/bash\nsource ./steps.sh\n{text}", *FOUR)
    expected = {str(number): 7 for number in range(len(ways))}
    assert codes(job.stdout.replace("\r", "")) == {
        **expected,
        "env": 7,
        "terminal": 7,
    }, job.stdout
    assert "Exited with exit code 7" in (steps / "both").read_text()
    assert "Exited with exit code 7" in (steps / "err").read_text()


@pytest.mark.usefixtures("steps")
def test_a_step_that_is_ended_from_outside_says_whose_its_code_is(
    cluster: Cluster,
) -> None:
    script = (
        "#!/bin/bash\nsource ./steps.sh\necho begins\n"
        'envcfg_run sleep 90; code=$?; echo "step ended $code"; exit $code\n'
    )
    signalled = cluster.submit(script, *FOUR)
    signalled.wait_output("begins", timeout=60)
    wait_step(cluster, signalled.id)
    signalled.cancel("--signal=USR1")
    signalled.wait(timeout=60)
    assert codes(signalled.stdout) == {"step": 138}, signalled.stdout
    cancelled = cluster.submit(script, *FOUR)
    cancelled.wait_output("begins", timeout=60)
    wait_step(cluster, cancelled.id)
    cluster.run(["scancel", f"{cancelled.id}.0"], check=True)
    cancelled.wait(timeout=60)
    ended = codes(cancelled.stdout)["step"]
    assert ended in (137, 143), cancelled.stdout
    note = OWN.format(ended) + "the step was ended before any rank failed\n"
    assert note in cancelled.stdout


@pytest.mark.usefixtures("steps")
def test_a_step_that_loses_a_node_says_whose_its_code_is(cluster: Cluster) -> None:
    job = cluster.submit(
        "#!/bin/bash\nsource ./steps.sh\necho begins\n"
        'envcfg_run sleep 90; echo "step ended $?"\n',
        *FOUR,
        "--no-kill",
    )
    job.wait_output("begins", timeout=60)
    wait_step(cluster, job.id)
    node = cluster.nodes[1]
    update = ["scontrol", "update", f"nodename={node}"]
    try:
        cluster.node("login", [*update, "state=down", "reason=test"])
        job.wait_output("step ended", timeout=60)
    finally:
        cluster.node("login", [*update, "state=idle"])
        job.cancel()
        job.wait(timeout=60)
    assert "srun: error: Node failure on nid001001\n" in job.stdout
    ended = codes(job.stdout)["step"]
    note = OWN.format(ended) + "the step was ended before any rank failed\n"
    assert note in job.stdout, job.stdout


@pytest.mark.nightly
@pytest.mark.usefixtures("steps")
def test_a_step_that_reaches_its_time_limit_ends_with_the_code_of_sigterm(
    cluster: Cluster,
) -> None:
    job = cluster.submit(
        "#!/bin/bash\nsource ./steps.sh\nexport SLURM_TIMELIMIT=1\n"
        'envcfg_run sleep 300; echo "step ended $?"\n',
        *FOUR,
    )
    job.wait(timeout=150)
    assert codes(job.stdout)["step"] in (137, 143), job.stdout
    assert "DUE TO TIME LIMIT" in job.stdout


def wait_step(cluster: Cluster, number: int) -> None:
    """Wait until each node runs a rank of the step."""
    for node in cluster.nodes:
        for _ in range(100):
            if [x for x in cluster.processes(node) if x.argv[:1] == ("sleep",)]:
                break
            cluster.run(["sleep", "0.2"])
        else:
            raise AssertionError(f"job {number}: no rank on {node}")
