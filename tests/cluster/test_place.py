"""Where a script starts and where not, by what Slurm itself tells its shells."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import Cluster
from support import wrap_text

LUMI = ("--profile", "lumi-g", "--container", "none", "--no-modules")
TWO = ("-N2", "--ntasks-per-node=2", "--partition=standard-g")
LOCAL = ("--launcher", "local")


def made(folder: Path, *options: str) -> None:
    text = wrap_text(*LUMI, *options, "--", "sh", "-c", 'echo "ran $RANK"')
    assert text.code == 0, text.err
    (folder / "wrap.sh").write_bytes(text.out)


@pytest.mark.parametrize("launcher", [(), LOCAL])
@pytest.mark.parametrize("size", ["-n4", "-N2 -n2", "-N1 -n2"])
def test_several_tasks_start_nothing(
    cluster: Cluster, workdir: Path, launcher: tuple[str, ...], size: str
) -> None:
    made(workdir, *launcher)
    job = cluster.sbatch(f"#!/bin/bash\nsrun {size} bash wrap.sh\n", *TWO)
    assert job.exit_code == 4, job.stdout
    assert "ran 0" not in job.stdout
    assert f"one of {size[-1]} tasks (SLURM_PROCID=0)" in job.stdout


# How the shell came about in which the script runs -> what the batch script does.
ONE = {
    "the batch script": "bash wrap.sh",
    "one task": "srun -N1 -n1 --overlap bash wrap.sh",
    "a terminal": "srun -N1 -n1 --overlap --pty bash wrap.sh </dev/null",
}


@pytest.mark.nightly
@pytest.mark.parametrize("way", ONE)
def test_one_task_is_as_good_as_the_batch_script(
    cluster: Cluster, workdir: Path, way: str
) -> None:
    made(workdir, *LOCAL, "--allow", "nodes")
    job = cluster.sbatch(f"#!/bin/bash\n{ONE[way]}\n", *TWO)
    assert job.exit_code == 0, job.stdout
    assert "ran 0" in job.stdout


@pytest.mark.parametrize("size", ["-n4", "-N2 -n2"])
def test_a_job_that_a_task_submits_or_allocates_starts(
    cluster: Cluster, workdir: Path, size: str
) -> None:
    made(workdir, *LOCAL)
    own = "-N1 -n1 --partition=small-g"
    script = (
        f"[ $SLURM_PROCID = 0 ] || exit 0; sbatch --wait {own} -o inner.out wrap.sh; echo sbatch $?; "
        f"salloc {own} bash wrap.sh; echo salloc $?"
    )
    job = cluster.sbatch(
        f"#!/bin/bash\nsrun {size} bash -c '{script}'\n",
        "-N2",
        "-n4",
        "--partition=small-g",
    )
    inner = (workdir / "inner.out").read_text()
    assert "ran 0" in inner, inner
    assert "sbatch 0" in job.stdout
    assert "salloc 0" in job.stdout
    assert "ran 0" in job.stdout


def test_ranks_on_one_of_two_nodes_are_refused(cluster: Cluster, workdir: Path) -> None:
    made(workdir, *LOCAL)
    job = cluster.sbatch("#!/bin/bash\nbash wrap.sh\nsrun -N1 -n1 bash wrap.sh\n", *TWO)
    assert "the job has 2 nodes" in job.stdout
    assert job.stdout.count("ran 0") == 1  # in the step of one node


@pytest.mark.nightly
def test_what_the_login_shell_has_left_is_refused_or_said(
    cluster: Cluster, workdir: Path
) -> None:
    made(workdir)
    left = {"NCCL_SOCKET_IFNAME": "lo", "MASTER_ADDR": "localhost"}
    job = cluster.submit("#!/bin/bash\nbash wrap.sh\n", *TWO, env=left).wait()
    assert job.exit_code == 4
    for name, value in left.items():
        assert f"{name}={value} is the loopback" in job.stdout
    one = cluster.submit(
        "#!/bin/bash\nbash wrap.sh\n", "-N1", "-n1", "--partition=small-g", env=left
    ).wait()
    assert one.exit_code == 0, one.stdout
    assert "NCCL_SOCKET_IFNAME=lo (profile: hsn0,hsn1,hsn2,hsn3)" in one.stdout


def test_the_gpus_of_a_shell_of_salloc_count(cluster: Cluster, workdir: Path) -> None:
    made(workdir)
    words = ["salloc", "-N2", "--gpus=16", "--partition=standard-g", "bash", "wrap.sh"]
    done = cluster.run(words, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ran") == 16
