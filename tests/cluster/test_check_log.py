"""The check of a log that still grows: beside real jobs, on Slurm's real output files.

What NCCL says comes from the generator of tests/log; programs/replay.py says it on the
nodes at real times: what is known at once, the network after 2 s, channels after 4 s, and
then training, until the test lets it end.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import jobs
import pytest

from cluster import Cluster
from job import Job

# From which second on a rank says what; the times of one rank never go back.
NETWORK, ERROR, CHANNELS = 2.0, 3.0, 4.0
STEPS = (
    (re.compile(r"NET/(?:OFI|Socket)|Using network"), NETWORK),
    (re.compile("NCCL WARN"), ERROR),
    (re.compile(" via "), CHANNELS),
)
# Seconds from the line that decides to the written verdict; it is looked for each 0.2 s.
PROMPT = 2.0
SLURM_LOG = '"slurm-$SLURM_JOB_ID.out"'
CANCEL = """'scancel "$SLURM_JOB_ID"'"""
NOTE = r"""'printf "%s\n" "$ENVCFG_VERDICT" "$ENVCFG_SUMMARY" >bad.txt'"""


def write_ranks(cluster: Cluster, job: jobs.Job, *, slower: float = 1.0) -> None:
    """Write what each rank of *job* says, and when, on the nodes that there are."""
    said: dict[int, list[str]] = {rank: [] for rank in range(job.world)}
    for line in jobs.lines(replace(job, hosts=cluster.nodes)):
        said[line.rank].append(line.text)
    for rank, texts in said.items():
        text = "".join(f"{at * slower}\t{each}\n" for at, each in timed(texts))
        (cluster.workdir / f"{rank}.lines").write_text(text)


def timed(texts: Iterable[str]) -> Iterator[tuple[float, str]]:
    now = 0.0
    for text in texts:
        now = max([now, *(at for pattern, at in STEPS if pattern.search(text))])
        yield now, text


def submit(
    cluster: Cluster,
    tool: Path,
    step: str,
    *,
    check: str = SLURM_LOG,
    timeout: int = 60,
    on_bad: str = CANCEL,
    tasks: int = 2,
) -> Job:
    """Submit a job of *tasks* per node that checks its own log beside *step*."""
    return cluster.submit(
        f"#!/bin/bash\nset -euo pipefail\nPATH={tool}:$PATH\n"
        f"envcfg check-log --follow {check} --timeout {timeout} --on-bad {on_bad} >check.txt &\n"
        f"check=$!\n{step}\n"
        'wait "$check" && code=0 || code=$?\necho "check-log: $code"\n',
        *("-N2", f"--ntasks-per-node={tasks}", "--gpus-per-node=8"),
        "--partition=standard-g",
    )


def srun(programs: Path, *options: str, stdio: bool = False) -> str:
    words = ["srun", *options, "python3", str(programs / "replay.py")]
    return " ".join([*words, "stdio"] if stdio else words)


def wait_for(condition: Callable[[], bool], job: Job, *, timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, job.stdout
        time.sleep(0.05)


def check_ended(cluster: Cluster, job: Job) -> str:
    """Wait until the check has ended by itself, beside a job that runs; its words."""
    job.wait_running()
    answer = cluster.workdir / "check.txt"
    wait_for(lambda: answer.exists() and answer.stat().st_size > 0, job)
    wait_for(lambda: not is_checking(cluster), job, timeout=5)
    assert job.refresh().state == "RUNNING"
    return answer.read_text()


def is_checking(cluster: Cluster) -> bool:
    return any(
        "check-log" in process.argv for process in cluster.processes(cluster.nodes[0])
    )


def end(cluster: Cluster, job: Job) -> Job:
    """Let the program end, and the job with it."""
    (cluster.workdir / "end").touch()
    return job.wait(timeout=20)


def moments(cluster: Cluster, ranks: Iterable[int], second: float) -> list[float]:
    """Return when *ranks* said what they had for a second; some may not have come to it."""
    found = []
    for rank in ranks:
        lines = (cluster.workdir / f"{rank}.times").read_text().splitlines()
        times = {float(at): float(when) for at, when in map(str.split, lines)}
        found += [times[second]] if second in times else []
    return found


def answered(cluster: Cluster) -> float:
    """Return when the verdict was written."""
    return (cluster.workdir / "check.txt").stat().st_mtime


def test_a_good_job_is_ok_while_it_runs(
    cluster: Cluster, tool: Path, programs: Path
) -> None:
    write_ranks(cluster, jobs.Job(ranks_per_node=2))
    job = submit(cluster, tool, srun(programs))
    said = check_ended(cluster, job)
    assert said.startswith("ok: all 4 ranks on 2 nodes use AWS Libfabric over cxi, ")
    assert answered(cluster) - max(moments(cluster, range(4), CHANNELS)) < PROMPT
    assert end(cluster, job).state == "COMPLETED", job.stdout
    assert "check-log: 0\n" in job.stdout


@pytest.mark.parametrize(
    ("options", "stdio"),
    [(("--label",), False), (("--unbuffered",), True)],
    ids=["label", "unbuffered"],
)
def test_a_job_that_fell_back_on_one_node_is_cancelled_at_once(
    cluster: Cluster,
    tool: Path,
    programs: Path,
    options: tuple[str, ...],
    stdio: bool,
) -> None:
    write_ranks(cluster, jobs.Job(ranks_per_node=4, fallen=frozenset({1})))
    job = submit(cluster, tool, srun(programs, *options, stdio=stdio), tasks=4)
    assert job.wait(timeout=30).state == "CANCELLED", job.stdout
    assert answered(cluster) - min(moments(cluster, range(4, 8), NETWORK)) < PROMPT
    assert moments(cluster, range(8), CHANNELS) == []  # no rank lived to say it
    # It is cancelled so fast that not all four need have said how they are.
    said = (cluster.workdir / "check.txt").read_text()
    assert re.match("(degraded|broken): ", said)
    ranks = re.findall(r"^(?:error|warning): ranks? ([\d,-]+) ", said, re.MULTILINE)
    assert ranks
    assert set("".join(ranks)) <= set("4567,-")
    assert re.search(rf"^ *{cluster.nodes[1]}\b.* [4-7]\b", said, re.MULTILINE)


def test_a_broken_job_has_its_verdict_handed_on(
    cluster: Cluster, tool: Path, programs: Path
) -> None:
    error = {1: ("ofi-unresponsive",)}
    what = jobs.Job(
        ranks_per_node=2, dialect="rccl-2.27", errors=error, stopped=frozenset({1})
    )
    write_ranks(cluster, what)
    job = submit(cluster, tool, srun(programs), on_bad=NOTE)
    said = check_ended(cluster, job)
    assert answered(cluster) - max(moments(cluster, [1], ERROR)) < PROMPT
    verdict, summary = (cluster.workdir / "bad.txt").read_text().splitlines()
    assert verdict == "broken"
    assert re.match(r"broken: rank 1 \(\S+\): ", summary)
    assert " ".join(said.split()).startswith(" ".join(summary.split()))  # it is folded
    assert end(cluster, job).state == "COMPLETED", job.stdout
    assert "check-log: 1\n" in job.stdout


def test_nothing_is_done_when_time_is_up_and_nothing_decided(
    cluster: Cluster, tool: Path, programs: Path
) -> None:
    write_ranks(cluster, jobs.Job(ranks_per_node=2), slower=20)
    job = submit(cluster, tool, srun(programs), timeout=3, on_bad=NOTE)
    assert check_ended(cluster, job).startswith("inconclusive: ")
    assert answered(cluster) - min(moments(cluster, range(4), 0.0)) < 3 + PROMPT
    assert end(cluster, job).state == "COMPLETED", job.stdout
    assert "check-log: 3\n" in job.stdout
    assert not (cluster.workdir / "bad.txt").exists()


@pytest.mark.parametrize(
    ("log", "output"),
    [("step.out", "step.out"), ("rank-*.out", "rank-%t.out")],
    ids=["file", "pattern"],
)
def test_a_log_that_is_not_there_yet_is_waited_for(
    cluster: Cluster, tool: Path, programs: Path, log: str, output: str
) -> None:
    write_ranks(cluster, jobs.Job(ranks_per_node=2), slower=0.5)
    absent = f"sleep 1\nif ls {log}; then exit 9; fi"
    step = f"{absent}\n{srun(programs, f'--output={output}')}"
    job = submit(cluster, tool, step, check=f"'{log}'")
    assert check_ended(cluster, job).startswith("ok: all 4 ranks on 2 nodes use ")
    assert end(cluster, job).state == "COMPLETED", job.stdout
    assert "check-log: 0\n" in job.stdout


def test_the_check_runs_beside_a_wrapped_program(
    cluster: Cluster, tool: Path, programs: Path
) -> None:
    write_ranks(cluster, jobs.Job(ranks_per_node=2))
    options = "--profile lumi-g --runtime apptainer --fact rocm=6.2.4"
    program = f"python3 {programs}/replay.py stdio"
    wrap = f"envcfg wrap {options} --container {cluster.pytorch_image} -- {program}"
    check = f"{SLURM_LOG} --profile lumi-g"
    step = f"export SLURM_UNBUFFEREDIO=1\nsource <({wrap})"
    job = submit(cluster, tool, step, check=check)
    said = check_ended(cluster, job)
    assert said.startswith("ok: all 4 ranks on 2 nodes use AWS Libfabric over cxi, ")
    assert end(cluster, job).state == "COMPLETED", job.stdout
    assert "check-log: 0\n" in job.stdout
