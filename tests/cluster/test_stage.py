"""Copies on the disks of two nodes, by the sbcast of a real Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import IMAGES, Cluster

pytestmark = pytest.mark.nightly

_TWO = ("-N2", "--gpus-per-node=2", "--ntasks-per-node=2", "--partition=standard-g")
_DISK = "/var/lib/envcfg-disk"  # of each node its own, and not in memory: /tmp is there
_PROFILE = f"""name: disks
extends: lumi-g
scratch:
  root: {_DISK}
  in_memory: false
  why: the test made it
  source: the test
  date: 2026-11-23
container:
  binds: {{{_DISK}: {{why: the copies, source: the test, date: 2026-11-23}}}}
"""


@pytest.fixture
def disks(cluster: Cluster, workdir: Path) -> None:
    (workdir / "disks.yaml").write_text(_PROFILE)
    for node in cluster.nodes[:2]:
        cluster.node(node, ["mkdir", "-p", "-m", "1777", _DISK])
        cluster.node(node, ["chmod", "1777", _DISK])


def script(tool: Path, container: str, options: str, command: str) -> str:
    said = (
        f"--profile ./disks.yaml --container {container} --no-inspect --fact rocm=6.2.4"
    )
    return (
        f"#!/bin/bash\nset -euo pipefail\nPATH={tool}:$PATH\n"
        f"source <(envcfg wrap {said} {options} -- {command})\n"
    )


def left(cluster: Cluster) -> list[str]:
    shown = [cluster.node(each, ["ls", "-A", _DISK]) for each in cluster.nodes[:2]]
    return [each.stdout for each in shown]


@pytest.mark.usefixtures("disks")
def test_each_node_enters_its_own_copy_of_the_image(
    cluster: Cluster, tool: Path
) -> None:
    # srun ends the others when one fails, so each waits until all have printed.
    wait = (
        "for rank in 0 1 2 3; do until [ -e printed.$rank ]; do sleep 0.1; done; done"
    )
    show = (
        f"sh -c 'echo rank $RANK of $APPTAINER_CONTAINER; ls {_DISK}; "
        f"touch printed.$RANK; {wait}; sleep 1; exit 7'"
    )
    text = script(tool, str(IMAGES / "busybox.sif"), "--stage image", show)
    done = cluster.sbatch(text, *_TWO)
    assert (done.state, done.exit_code) == ("FAILED", 7), done.stdout
    ranks = [each for each in done.stdout.splitlines() if each.startswith("rank ")]
    assert sorted(each.split()[1] for each in ranks) == ["0", "1", "2", "3"]
    assert all(f"{_DISK}/envcfg-" in each for each in ranks), done.stdout
    assert "to the disk of each node (2 in all) in" in done.stdout
    assert left(cluster) == ["", ""]


@pytest.mark.usefixtures("disks")
def test_an_environment_travels_as_one_file_and_each_rank_uses_its_copy(
    cluster: Cluster, tool: Path, workdir: Path
) -> None:
    folder = workdir / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (folder / "bin/who").write_text('#!/bin/sh\necho "who $0 $(hostname)"\n')
    (folder / "bin/who").chmod(0o755)
    done = cluster.sbatch(script(tool, "none", "--stage env=venv", "who"), *_TWO)
    assert done.state == "COMPLETED", done.stdout
    said = [
        each.split() for each in done.stdout.splitlines() if each.startswith("who ")
    ]
    assert len(said) == 4
    assert {each[2] for each in said} == set(cluster.nodes[:2])
    assert all(each[1].startswith(f"{_DISK}/envcfg-") for each in said)
    assert "saved: its " in done.stdout
    assert left(cluster) == ["", ""]


@pytest.mark.usefixtures("disks")
def test_a_full_or_missing_disk_ends_the_job_before_ranks_start(
    cluster: Cluster, tool: Path
) -> None:
    cluster.node(cluster.nodes[1], ["rmdir", _DISK])
    text = script(
        tool, str(IMAGES / "busybox.sif"), "--stage image", "echo the program runs"
    )
    done = cluster.sbatch(text, *_TWO)
    assert (done.state, done.exit_code) == ("FAILED", 4), done.stdout
    assert f"{cluster.nodes[1]}: {_DISK} is not a folder on this node" in done.stdout
    assert "the program runs" not in done.stdout
    assert left(cluster)[0] == ""
