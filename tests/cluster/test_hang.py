"""Who holds a real job up: ranks over gloo on two nodes, one of which does not come."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ras_answers
from cluster import Cluster
from job import Job
from schemas import errors

FOUR = ("-N2", "--ntasks-per-node=2", "--partition=small-g")
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def hang(cluster: Cluster, tool: Path) -> Run:
    """Run envcfg hang on the login node; return its exit code and what it says."""

    def run(job: Job, *words: str, path: str = "/usr/bin:/bin") -> tuple[int, str]:
        argv = [str(tool / "envcfg"), "hang", *words, str(job.id)]
        done = cluster.run(argv, env={"PATH": path})
        return done.returncode, done.stdout or done.stderr

    return run


@pytest.fixture
def hung(cluster: Cluster, tool: Path, programs: Path) -> Callable[..., Job]:
    """Start four ranks, of which the last hangs as told; return the job when it does."""

    def start(how: str, *options: str, before: str = "") -> Job:
        image = (
            f"--profile lumi-g --fact rocm=6.2.4 --container {cluster.pytorch_image}"
        )
        job = cluster.submit(
            f"#!/bin/bash\nPATH={tool}:$PATH\n{before}\n"
            f"source <(envcfg wrap {image} {' '.join(options)} -- "
            f"python3 {programs}/hung.py 3 {how})\n",
            *FOUR,
        )
        for rank in range(4 if how == "none" else 3):
            job.wait_output(f"rank {rank} goes on")
        job.wait_output("rank 3 step 2")
        if how in ("sleep", "loop"):
            time.sleep(16)  # until then it may be slow
        return job

    return start


def rules(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["rule"], each["subject"]) for each in found["findings"]]


def test_a_rank_that_sleeps_is_named_with_the_collective_that_others_wait_in(
    hang: Run, hung: Callable[..., Job]
) -> None:
    """The recorder is PyTorch's own, and so is the dump that is asked for by the pipe."""
    job = hung("sleep", "--flight-recorder")
    code, text = hang(job, "--json")
    found = json.loads(text)
    assert (code, found["verdict"], errors("hang", text)) == (1, "named", [])
    assert rules(found)[0] == ("hang-rank-behind", "rank 3 on nid001001")
    (behind,) = found["behind"]
    assert (behind["by"], behind["ranks"], behind["waiting"]) == (
        "Flight Recorder",
        [3],
        3,
    )
    assert (behind["begun"], behind["most"]) == (3, 4)
    assert behind["operation"].startswith("all_reduce of 16 ")
    assert 0 < behind["waiting_seconds"] < 60
    assert behind["called_at"].rpartition(":")[0].endswith("/hung.py")
    assert [each["activity"] for each in found["ranks"]] == ["waits"] * 3 + ["sleeps"]
    assert [each["node"] for each in found["ranks"]] == ["nid001000"] * 2 + [
        "nid001001"
    ] * 2
    assert found["log"]["path"] == str(job.output)
    assert job.refresh().state == "RUNNING"


@pytest.mark.nightly
def test_a_job_that_goes_on_is_held_up_by_nobody(
    hang: Run, hung: Callable[..., Job]
) -> None:
    job = hung("none", "--flight-recorder")
    for _ in range(3):
        code, text = hang(job, "--json")
        found = json.loads(text)
        assert (code, errors("hang", text)) == (0, []), text
        assert found["verdict"] == "moves"
        assert {each["severity"] for each in found["findings"]} == {"note"}


@pytest.mark.nightly
def test_a_job_that_hangs_while_its_log_goes_on_is_looked_at_twice(
    hang: Run, hung: Callable[..., Job]
) -> None:
    job = hung("beat")
    job.wait_output("alive")
    code, text = hang(job, "--json")
    found = json.loads(text)
    assert (code, found["verdict"], errors("hang", text)) == (1, "named", []), text
    assert rules(found)[0] == ("hang-rank-apart", "rank 3 on nid001001")
    assert ("hang-stands-still", f"job {job.id}") in rules(found)
    assert [each["stands_still"] for each in found["ranks"]] == [True] * 4


@pytest.mark.nightly
def test_of_two_programs_on_the_same_nodes_the_one_that_hangs_is_named(
    hang: Run, hung: Callable[..., Job]
) -> None:
    ranks = "RANK=$SLURM_PROCID WORLD_SIZE=4 exec sleep 600"
    before = f"srun --overlap --ntasks-per-node=2 --ntasks=4 bash -c '{ranks}' &"
    job = hung("sleep", before=before)
    code, text = hang(job)
    assert code == 1, text
    assert "8 ranks seen" in text
    assert "error: rank 3 on nid001001 of step " in text
    assert text.count("error: ") == 1


def test_a_rank_that_is_stopped_is_named_and_what_ras_says_follows(
    cluster: Cluster, hang: Run, hung: Callable[..., Job], programs: Path
) -> None:
    ranks = [
        # Processes as a container counts them.
        ras_answers.rank(number, pid=100, host="10.120.0.10", AllReduce=count)
        for number, count in enumerate((7, 7, 7, 6))
    ]
    (cluster.workdir / "ras.json").write_text(ras_answers.answer(ranks, []))
    serve = f"python3 {programs}/ras.py ras.json"
    before = f"srun --overlap --ntasks-per-node=1 --ntasks=2 {serve} &"
    job = hung("stop", "--flight-recorder", before=before)
    code, text = hang(job)
    assert code == 1, text
    lines = text.splitlines()
    assert lines[0].startswith(f"job {job.id}: 2 of 2 nodes answer, 4 ranks seen")
    assert "error: rank 3 on nid001001: is stopped by a signal (process " in text
    assert "follows from the above  [hang-rank-behind]" in text
    assert "has begun 6 AllReduce of communicator " in text
    assert "has written no dump; 3 wait in number 4 of default_pg, all_reduce " in text
    assert "-absent]" not in text.replace("[hang-stacks-absent]", "")
    assert "RAS of 2 nodes" in lines[-1]
    assert lines[-2].startswith(f"log: {job.output}:"), "the line that was last"
    assert ": rank " in lines[-2]


@pytest.mark.nightly
def test_a_stack_says_in_which_line_a_rank_is(
    cluster: Cluster, hang: Run, hung: Callable[..., Job]
) -> None:
    spy = shutil.which("py-spy", path=os.path.dirname(sys.executable))
    assert spy, "pip install py-spy"
    shutil.copy(spy, cluster.workdir / "py-spy")
    # Where the login node alone has it, it is sent.
    cluster.run(["cp", cluster.workdir / "py-spy", "/tmp/py-spy"], check=True)
    job = hung("loop")
    code, text = hang(job, path="/tmp:/usr/bin:/bin")
    for node in cluster.nodes:
        assert (
            "envcfg-hang" not in cluster.node(node, ["ls", "/tmp", "/dev/shm"]).stdout
        )
        assert "py-spy" not in cluster.node(node, ["ls", "/tmp"]).stdout
    assert code == 1, text
    assert "error: rank 3 on nid001001: runs in main (" in text, text
    assert "hung.py:" in text
    assert "Python stacks of 4" in text.splitlines()[-1]


@pytest.mark.nightly
def test_a_node_that_is_cut_off_is_named_with_its_ranks_and_the_others_are_told(
    cluster: Cluster, hang: Run, hung: Callable[..., Job]
) -> None:
    job = hung("none")
    with cluster.cut_off("nid001001"):
        code, text = hang(job, "--json")
    found = json.loads(text)
    assert (code, errors("hang", text)) == (1, [])
    assert rules(found)[0] == ("hang-node-silent", "nid001001")
    assert "with ranks 2-3" in found["findings"][0]["message"]
    assert "Communication connection failure" in found["findings"][0]["message"]
    assert [node["answers"] for node in found["nodes"]] == [True, False]
    assert [(each["rank"], each["activity"]) for each in found["ranks"]] == [
        (0, "waits"),
        (1, "waits"),
    ]
