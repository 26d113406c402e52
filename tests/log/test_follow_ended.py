"""``check-log --follow`` ends with the job, also if no line proves anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import process

SCONTROL = """#!/bin/sh
test "$*" = "show job {job}" || {{ echo 'Invalid job id specified' >&2; exit 1; }}
cat <<'END'
JobId=12 JobName=train
   UserId=me(1000) GroupId=me(1000)
   JobState={state} Reason=None Dependency=(null)
   StdErr={log}
   StdIn=/dev/null
   StdOut={log}
END
"""


def install_scontrol(
    folder: Path, patch: pytest.MonkeyPatch, state: str, log: Path, job: str = "12"
) -> None:
    program = folder / "bin" / "scontrol"
    program.parent.mkdir()
    program.write_text(SCONTROL.format(job=job, state=state, log=log))
    program.chmod(0o755)
    patch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("name", "job", "state"),
    [
        ("train-12.out", "12", "COMPLETED"),
        ("slurm-12.out", "12", "FAILED"),
        ("run 3-4711_2.out", "4711_2", "CANCELLED"),
        ("12", "12", "NODE_FAIL"),
    ],
)
def test_it_ends_when_slurm_says_that_the_job_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, job: str, state: str
) -> None:
    log = tmp_path / name
    log.write_text("step 1 loss 2.0\n")
    install_scontrol(tmp_path, monkeypatch, state, log, job)
    # Without the answer of Slurm, the limit of this test would end it.
    done = process("check-log", "--follow", str(log))
    assert done.code == 3, done
    assert done.text.startswith("inconclusive: ")


@pytest.mark.parametrize(
    ("state", "other"), [("RUNNING", ""), ("COMPLETED", "x"), ("PENDING", "")]
)
def test_it_goes_on_while_the_job_runs_or_the_number_is_of_another_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, other: str
) -> None:
    log = tmp_path / "train-12.out"
    log.write_text("step 1 loss 2.0\n")
    install_scontrol(tmp_path, monkeypatch, state, Path(f"{log}{other}"))
    from envcfg.nodes.probe.slurm_job import is_output_complete

    assert not is_output_complete([str(log)])
