"""What squeue says of a job."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from envcfg.backends.scheduler_client import renew_limits
from envcfg.common.errors import JobError, UsageError
from envcfg.nodes.probe.slurm_job import check_job, own_nodes, read_squeue
from support import envcfg


def row(tres: str = "N/A", state: str = "RUNNING", name: str = "12") -> str:
    return f"12|{name}|{state}|alice|None|{tres}|nid[001000-001001]\n"


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
    job = read_squeue(row(tres), "12", "monitor")
    assert (job.gpus, job.nodes) == (gpus, "nid[001000-001001]")


def test_of_an_array_the_task_that_runs_is_taken() -> None:
    text = row(name="12_1", state="COMPLETED") + row(name="12_2")
    assert read_squeue(text, "12", "monitor").name == "12_2"


def test_the_last_task_of_an_array_is_its_own_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "11" + row(name="12_1")[2:] + row(name="12_2")
    with pytest.raises(UsageError, match="job 12 is 2 jobs"):
        read_squeue(text, "12", "monitor")
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    assert read_squeue(text, "12", "monitor").name == "12_2"
    # The components of a job run together.
    with pytest.raises(UsageError, match="job 12 is 2 jobs"):
        read_squeue("11" + row(name="12+1")[2:] + row(name="12+0"), "12", "monitor")


SCONTROL = """\
#!/bin/sh
case $* in
"--oneliner show step 12")
  echo "StepId=12.batch UserId=7 State=RUNNING NodeList=n1 Nodes=1 Name=batch SrunHost:Pid=n1:0"
  echo "StepId=12.0 State=RUNNING Partition=p NodeList=n1 Name=x SrunHost:Pid=n1:1"
  echo "StepId=12.1 State=RUNNING NodeList=n[2-3] Nodes=2 Name=a b SrunHost:Pid=n1:$CHILD Gres=x"
  ;;
"show hostnames n[2-3]") printf 'n2\nn3\n' ;;
*) exit 1 ;;
esac
"""


def test_the_nodes_of_a_step_are_those_of_its_srun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew_limits()
    (tmp_path / "scontrol").write_text(SCONTROL)
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    job = read_squeue(row(), "12", "monitor")
    with subprocess.Popen(["sleep", "60"]) as child:
        monkeypatch.setenv("CHILD", str(child.pid))
        assert own_nodes(job, os.getpid()) == ["n2", "n3"]
        with pytest.raises(JobError, match="does not show the nodes of this step"):
            own_nodes(job, child.pid)
        child.kill()
    with pytest.raises(JobError, match="does not show the nodes of this step"):
        own_nodes(job, os.getpid())


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("PENDING", "does not run yet"),
        ("CONFIGURING", "does not run yet"),
        ("SUSPENDED", "is halted"),
        ("COMPLETING", "no longer runs"),
        ("NODE_FAIL", "no longer runs"),
        ("A_NEW_WORD", "no longer runs"),
    ],
)
def test_a_job_that_does_not_run_cannot_be_looked_at(state: str, words: str) -> None:
    with pytest.raises(JobError, match=words) as error:
        check_job(read_squeue(row(state=state), "12", "monitor"), "alice", "monitor")
    assert error.value.exit_code == 4
    assert error.value.hint


def test_only_the_owner_and_root_may_look() -> None:
    job = read_squeue(row(), "12", "monitor")
    for user in ("alice", "root"):
        check_job(job, user, "monitor")
    with pytest.raises(JobError, match="belongs to alice"):
        check_job(job, "bob", "monitor")


REASONS = {
    "PENDING": (
        "job 12 does not run yet: PENDING (None)",
        "squeue --start -j 12 says when it may",
    ),
    "STOPPED": (
        "job 12 is halted: STOPPED",
        "scontrol show job 12 says why",
    ),
    "FAILED": (
        "job 12 no longer runs: FAILED",
        "scontrol show job 12 or sacct -j 12 says how; envcfg check-log reads its log",
    ),
}


@pytest.mark.parametrize("state", REASONS)
def test_why_a_job_cannot_be_looked_at_is_said(state: str) -> None:
    with pytest.raises(JobError) as error:
        check_job(read_squeue(row(state=state), "12", "monitor"), "alice", "monitor")
    assert (error.value.message, error.value.hint) == REASONS[state]


def test_who_may_look_is_said() -> None:
    with pytest.raises(JobError) as error:
        check_job(read_squeue(row(name="12_3"), "12", "monitor"), "bob", "monitor")
    assert error.value.message == "job 12_3 belongs to alice, and you are bob"
    assert error.value.hint == "only alice may look into it: envcfg monitor 12_3"


@pytest.mark.parametrize("text", ["", "\n", "12|a|RUNNING|alice|None|N/A\n"])
def test_a_job_that_slurm_does_not_know_is_said(text: str) -> None:
    with pytest.raises(JobError) as error:
        read_squeue(text, "12", "monitor")
    assert error.value.message == "Slurm knows no job 12"
    assert error.value.hint == (
        "squeue --me lists yours; sacct -j 12 has what ended long ago"
    )


def test_of_several_that_run_one_is_to_be_chosen() -> None:
    text = "".join(row(name=f"12_{number}") for number in range(10))
    with pytest.raises(UsageError) as error:
        read_squeue(text + row(name="12_99", state="PENDING"), "12", "monitor")
    assert error.value.message == (
        "job 12 is 10 jobs: 12_0, 12_1, 12_2, 12_3, 12_4, 12_5, 12_6, 12_7"
    )
    assert error.value.hint == "choose one: envcfg monitor 12_0"


@pytest.mark.parametrize("command", ["hang", "monitor"])
def test_several_lines_of_slurm_are_one_sentence(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = (
        "slurm_load_jobs error: Unable to contact slurm controller\nconnect failure\n"
    )
    squeue = tmp_path / "squeue"
    squeue.write_text(f"#!/bin/sh\nprintf '{message}' >&2\nexit 1\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = envcfg(command, "12")
    assert done.code == 4
    assert "controller; connect failure\n" in done.err
    assert "\\n" not in done.err
