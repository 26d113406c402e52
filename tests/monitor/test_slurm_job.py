"""What squeue says of a job."""

from __future__ import annotations

import pytest

from envcfg.errors import JobError
from envcfg.monitor.job import check_job, read_squeue


def row(tres: str = "N/A", state: str = "RUNNING", name: str = "12") -> str:
    return f"12|{name}|{state}|alice|2|None|{tres}|nid[001000-001001]\n"


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ("N/A", None),
        ("", None),
        ("gres:gpu:8", 8),
        ("gres/gpu:8", 8),
        ("gres/gpu:a100:4", 4),
        ("gres:gpu:mi250x:16(S:0-1)", 16),
        ("gres/gpu=2", 2),
        ("gres/nvme:100,gres/gpu:v100:1", 1),
        ("gres/nvme:100", None),
    ],
)
def test_the_gpus_of_a_node_are_read(tres: str, gpus: int | None) -> None:
    job = read_squeue(row(tres), "12")
    assert (job.gpus, job.node_count, job.nodes) == (gpus, 2, "nid[001000-001001]")


def test_of_an_array_the_task_that_runs_is_taken() -> None:
    text = row(name="12_1", state="COMPLETED") + row(name="12_2")
    assert read_squeue(text, "12").name == "12_2"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("PENDING", "does not run yet"),
        ("CONFIGURING", "does not run yet"),
        ("SUSPENDED", "stands still"),
        ("COMPLETING", "runs no more"),
        ("NODE_FAIL", "runs no more"),
        ("A_NEW_WORD", "runs no more"),
    ],
)
def test_a_job_that_does_not_run_cannot_be_looked_at(state: str, words: str) -> None:
    with pytest.raises(JobError, match=words) as error:
        check_job(read_squeue(row(state=state), "12"), "alice")
    assert error.value.exit_code == 4
    assert error.value.hint


def test_only_the_owner_and_root_may_look() -> None:
    job = read_squeue(row(), "12")
    for user in ("alice", "root"):
        check_job(job, user)
    with pytest.raises(JobError, match="belongs to alice"):
        check_job(job, "bob")
