"""Steps in a component of a heterogeneous job of Slurm, with fakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import Wrap, bash, zero_separated

LUMI = ("--profile", "lumi-g", "--container", "none", "--fact", "rocm=6.2.4")
SURE = "set -euo pipefail\n"
# The first component is a node without GPUs, where the script runs; the other has four.
JOB = {
    "SLURM_HET_SIZE": "2",
    "SLURM_NNODES": "1",
    "SLURM_NTASKS": "1",
    "SLURM_JOB_NODELIST": "cpu1",
    "SLURMD_NODENAME": "cpu1",
    "SLURM_JOB_NUM_NODES_HET_GROUP_0": "1",
    "SLURM_JOB_NODELIST_HET_GROUP_0": "cpu1",
    "SLURM_JOB_NUM_NODES_HET_GROUP_1": "4",
    "SLURM_JOB_NODELIST_HET_GROUP_1": "node[1-4]",
    "SLURM_NTASKS_HET_GROUP_1": "8",
    "SLURM_NTASKS_PER_NODE_HET_GROUP_1": "2",
    "SLURM_GPUS_PER_NODE_HET_GROUP_1": "8",
}
# --srun-arg: on how many nodes of which component something is done once on each
PARTS = {
    "--het-group=0": {"0": 1},
    "--het-group=1": {"1": 4},
    "--pack-group=1": {"1": 4},
    "--het-group=0,1": {"0": 1, "1": 4},
    "--het-group=0-1": {"0": 1, "1": 4},
}


def calls(fakes: Path) -> list[list[str]]:
    """Return the options of each srun, in order."""
    found: list[list[str]] = []
    for word in zero_separated(fakes / "srun"):
        if word in (b"--kill-on-bad-exit=1", b"--overlap"):
            found.append([])
        found[-1].append(word.decode())
    return found


@pytest.mark.parametrize("option", PARTS)
def test_caches_go_on_each_node_of_the_component(
    wrap: Wrap, fakes: Path, option: str
) -> None:
    text = wrap(*LUMI, f"--srun-arg={option}", "--", "echo", "ran").text
    done = bash(f"{SURE}{text}", **JOB)
    assert (done.returncode, done.stdout) == (0, b"ran\n"), done.stderr.decode()
    step, *cleaned = calls(fakes)
    assert option in step
    assert {
        each[1].removeprefix("--het-group="): int(each[3].removeprefix("--nodes="))
        for each in cleaned
    } == PARTS[option]


def test_its_nodes_and_gpus_count(wrap: Wrap, fakes: Path) -> None:
    one = wrap(*LUMI, "--srun-arg=--het-group=1", "--ranks", "2", "--", "true").text
    done = bash(f"{SURE}{one}", **JOB)
    assert b"2 ranks per node, but 8 GPUs" in done.stderr
    assert "--ntasks=8" in calls(fakes)[0]
    (fakes / "srun").unlink()
    steps = wrap(*LUMI, "--srun-arg=--het-group=1").text
    done = bash(f"{SURE}{steps}\nenvcfg_run --on others --ranks=1 true", **JOB)
    assert done.returncode == 0, done.stderr.decode()
    assert "--nodelist=node2,node3,node4" in calls(fakes)[0]


@pytest.mark.parametrize("job", [{}, {"SLURM_JOB_NUM_NODES_HET_GROUP_0": "1"}])
def test_a_component_that_there_is_not_is_named(
    wrap: Wrap, fakes: Path, job: dict[str, str]
) -> None:
    text = wrap(*LUMI, "--srun-arg=--het-group=1", "--", "echo", "started").text
    done = bash(f"{SURE}{text}", **job)
    assert (done.returncode, done.stdout) == (4, b""), done.stderr
    assert b"this job has no component 1" in done.stderr
    assert fakes.exists()


@pytest.mark.parametrize(("nodes", "code"), [("4", 0), ("1", 4)])
def test_a_stated_number_of_nodes_is_that_of_the_component(
    wrap: Wrap, fakes: Path, nodes: str, code: int
) -> None:
    options = ("--srun-arg=--het-group=1", "--fact", f"nodes={nodes}")
    done = bash(f"{SURE}{wrap(*LUMI, *options, '--', 'true').text}", **JOB)
    assert done.returncode == code, done.stderr.decode()
    assert fakes.is_dir()


def test_without_the_component_nothing_is_started_at_the_end_either(
    wrap: Wrap, fakes: Path
) -> None:
    text = wrap(*LUMI, "--srun-arg=--het-group=7").text
    done = bash(f"{text}\nenvcfg_run true", **JOB)
    assert done.returncode == 4
    assert b"this job has no component 7" in done.stderr
    assert not (fakes / "srun").exists()
