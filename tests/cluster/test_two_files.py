"""The two files of a job on the real Slurm, which runs a copy of the script elsewhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from cluster import LOGIN, Cluster
from job import Job
from tool import PYTHON

OPTIONS = (
    *("--profile", "lumi-g", "--account", "project_465000001", "--fact", "rocm=6.2.4"),
    *("--partition", "small-g", "--nodes", "2", "--gpus-per-node", "1", "--time", "5"),
    *("--container", "none", "--no-verify"),
)
COMMAND = ("--", "sh", "-c", "echo rank $RANK")
RANKS = ["rank 0", "rank 1"]


@pytest.fixture
def newer(workdir: Path, tool: Path) -> list[str]:
    """The words that start a newer envcfg, which differs in a module of each script."""
    shutil.copytree(tool.parent / "lib", workdir / "newer")
    with (workdir / "newer/envcfg/job/script/modules/core.sh").open("a") as file:
        file.write("# a newer line\n")
    return ["env", f"PYTHONPATH={workdir}/newer", PYTHON, "-m", "envcfg"]


def write(cluster: Cluster, envcfg: Sequence[str | Path], folder: Path) -> list[Path]:
    """Write the script in this folder; return the files of machinery that are there."""
    words = [*envcfg, "sbatch", *OPTIONS, "--split", "-o", "job.sh", *COMMAND]
    cluster.run(words, cwd=folder, check=True)
    return sorted((folder / ".envcfg").iterdir())


def submit(cluster: Cluster, *options: str) -> Job:
    sent = cluster.run(["sbatch", "--parsable", *options, "job.sh"], check=True)
    return Job(cluster, int(sent.stdout.split(";")[0])).refresh()


def release(cluster: Cluster, job: Job) -> Job:
    assert cluster.node(LOGIN, ["scontrol", "release", str(job.id)]).returncode == 0
    return job.wait(timeout=120)


def ranks_of(job: Job) -> list[str]:
    return sorted(each for each in job.stdout.splitlines() if each.startswith("rank "))


def test_a_job_that_waits_runs_its_own_file_after_an_update(
    cluster: Cluster, workdir: Path, tool: Path, newer: list[str]
) -> None:
    write(cluster, [tool / "envcfg"], workdir)
    job = submit(cluster, "--hold")
    assert len(write(cluster, newer, workdir)) == 2  # and job.sh is another one
    release(cluster, job)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert ranks_of(job) == RANKS
    later = submit(cluster).wait(timeout=120)
    assert (later.state, ranks_of(later)) == ("COMPLETED", RANKS), later.stdout


def test_a_job_whose_folder_was_replaced_runs_nothing(
    cluster: Cluster, workdir: Path, tool: Path, newer: list[str]
) -> None:
    (file,) = write(cluster, [tool / "envcfg"], workdir)
    job = submit(cluster, "--hold")
    shutil.rmtree(workdir / ".envcfg")
    assert len(write(cluster, newer, workdir)) == 1
    release(cluster, job)
    assert (job.state, job.exit_code) == ("FAILED", 4), job.stdout
    assert f"{file} is missing or changed, as nid001000 sees it" in job.stdout
    assert f"again: cd {workdir} && envcfg sbatch --profile" in job.stdout
    assert ranks_of(job) == []


def test_a_folder_that_was_moved_is_found_where_the_job_is_submitted(
    cluster: Cluster, workdir: Path, tool: Path
) -> None:
    cluster.run(["mkdir", "first"], check=True)
    write(cluster, [tool / "envcfg"], workdir / "first")
    (workdir / "first/job.sh").rename(workdir / "job.sh")
    (workdir / "first/.envcfg").rename(workdir / ".envcfg")
    job = submit(cluster).wait(timeout=120)
    assert (job.state, ranks_of(job)) == ("COMPLETED", RANKS), job.stdout


def test_another_user_who_may_read_both_files_submits_the_script(
    cluster: Cluster, tool: Path
) -> None:
    project = cluster.home.parent / "project"  # a folder that every user may read
    project.mkdir(mode=0o755, exist_ok=True)
    os.chown(project, cluster.home.stat().st_uid, cluster.home.stat().st_gid)
    write(cluster, [tool / "envcfg"], project)
    output = project / "other.out"
    output.touch()
    output.chmod(0o666)
    user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    words = ["sbatch", "--parsable", "--chdir=/tmp", f"--output={output}"]
    sent = cluster.node(LOGIN, [*user, *words, project / "job.sh"])
    assert sent.returncode == 0, sent.stderr
    job = Job(cluster, int(sent.stdout.split(";")[0])).wait(timeout=120)
    said = output.read_text()
    assert (job.state, job.exit_code) == ("COMPLETED", 0), said
    assert (
        sorted(line for line in said.splitlines() if line.startswith("rank ")) == RANKS
    )
    shutil.rmtree(project)


def test_a_node_that_does_not_see_the_folder_runs_nothing(
    cluster: Cluster, workdir: Path, tool: Path
) -> None:
    folder = Path("/tmp") / workdir.name  # each host has its own /tmp
    cluster.run(["mkdir", "-p", folder], check=True)
    words = [tool / "envcfg", "sbatch", *OPTIONS, "--split"]
    words += ["-o", f"{folder}/job.sh", *COMMAND]
    cluster.run(words, check=True)
    name = f"{folder}/job.sh"
    output = workdir / "unseen.out"
    sent = cluster.run(["sbatch", "--parsable", f"--output={output}", name], check=True)
    job = Job(cluster, int(sent.stdout.split(";")[0])).wait(timeout=120)
    assert (job.state, job.exit_code) == ("FAILED", 4), job.stdout
    assert f"envcfg: error: {folder}/.envcfg/" in job.stdout
    assert (
        "is missing or changed, as nid001000 sees it, so nothing is run" in job.stdout
    )
    assert "hint: write both files again: cd " in job.stdout
