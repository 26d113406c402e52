"""Steps on chosen nodes of a job, by each starter, with fakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import JOB, Wrap, bash, zero_separated

LUMI = ("--profile", "lumi-g", "--container", "none", "--fact", "rocm=6.2.4")
JOB_OF_4 = {
    "SLURM_NNODES": "4",
    "SLURM_JOB_NODELIST": "node[1-4]",
    "SLURM_GPUS_PER_NODE": "8",
    "SLURM_NTASKS_PER_NODE": "8",
}
SURE = "set -euo pipefail\n"

# what is asked for: the nodes that srun gets, and how many
CHOSEN = {
    "--on first": ("node1", 1),
    "--on=others": ("node2,node3,node4", 3),
    "--on 2": ("node3", 1),
    "--on 3,0,3": ("node1,node4", 2),
    "--on=010": None,
    "--on all": ("", 0),
}


@pytest.mark.parametrize("asked", CHOSEN)
def test_a_step_of_slurm_runs_on_the_nodes_that_it_is_given(
    wrap: Wrap, fakes: Path, asked: str
) -> None:
    text = f"{SURE}{wrap(*LUMI).text}\nenvcfg_run {asked} --ranks=2 -- true\n"
    done = bash(text, **JOB_OF_4)
    expected = CHOSEN[asked]
    if expected is None:
        assert done.returncode == 4
        assert b"there is no node 10" in done.stderr
        return
    assert done.returncode == 0, done.stderr.decode()
    words = [word.decode() for word in zero_separated(fakes / "srun")]
    nodes, count = expected
    assert [w for w in words if w.startswith("--nodelist=")] == (
        [f"--nodelist={nodes}"] if nodes else []
    )
    assert f"--ntasks={2 * (count or 4)}" in words
    assert (f"--nodes={count}" in words) is bool(count)


WRONG = {
    "--on 4": "--on 4: there is no node 4",
    "--on ''": "--on  names no nodes",
    "--on": "--on -- names no nodes",
    "--on last": "--on last names no nodes",
    "--on 1,,2": "--on 1,,2 names no nodes",
    "--on '*'": "--on * names no nodes",
    "--on '0; touch PWN'": "--on 0; touch PWN names no nodes",
    "--on 99999999999999999999": "names no nodes",
    "--on first --nodes=2": "--on and --nodes exclude each other",
}


@pytest.mark.parametrize("asked", WRONG)
def test_nodes_that_there_are_not_are_refused(
    wrap: Wrap, fakes: Path, asked: str
) -> None:
    text = f"{SURE}{wrap(*LUMI).text}\nenvcfg_run {asked} -- echo started\n"
    done = bash(text, **JOB_OF_4)
    assert (done.returncode, done.stdout) == (4, b""), done.stderr
    assert WRONG[asked] in done.stderr.decode()
    assert fakes.exists()


def test_on_others_has_nothing_to_do_where_there_is_one_node(
    wrap: Wrap, fakes: Path
) -> None:
    text = f"{SURE}{wrap(*LUMI).text}\nenvcfg_run --on others -- echo no; echo on"
    done = bash(text, SLURM_JOB_NODELIST="node1", SLURM_NNODES="1")
    assert done.stdout == b"on\n"
    assert b"nothing to do on others: the job has one node" in done.stderr
    assert fakes.exists()


def test_a_step_beside_another_shares_what_that_one_holds(
    wrap: Wrap, fakes: Path
) -> None:
    text = f"{SURE}{wrap(*LUMI).text}\nenvcfg_run --overlap --on first -- true"
    done = bash(text, **JOB_OF_4)
    assert done.returncode == 0, done.stderr.decode()
    words = zero_separated(fakes / "srun")
    assert {b"--overlap", b"--mem=0", b"--nodelist=node1"} <= set(words)


def test_ranks_meet_at_the_interface_of_the_first_chosen_node(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(
        "name: p\nrendezvous: {interface: lo, why: w, source: s, date: 2026-01-01}\n"
    )
    ip = tmp_path / "ip"
    ip.write_text('#!/bin/sh\necho "1: $4 inet 10.0.0.7/24"\n')
    ip.chmod(0o755)
    made = wrap("--profile", str(tmp_path / "p.yaml"), "--container", "none")
    text = f"{SURE}PATH={tmp_path}:$PATH\n{made.text}\nenvcfg_run --on 2 -- printenv MASTER_ADDR"
    job = {"SLURM_NNODES": "4", "SLURM_JOB_NODELIST": "node[1-4]"}
    done = bash(text, **job, SLURMD_NODENAME="node1", FAKE_NODELIST="node3")
    assert (done.returncode, done.stdout) == (0, b"10.0.0.7\n"), done.stderr.decode()
    words = zero_separated(fakes / "srun")
    assert words.count(b"--nodelist=node3") == 2


def test_flux_and_pbs_are_told_the_nodes(
    wrap: Wrap, fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST"):
        monkeypatch.delenv(name)
    flux = wrap("--profile", "tuolumne", "--container", "none").text
    text = f"{SURE}{flux}\nenvcfg_run --on others --ranks=1 -- true"
    bash(text, FLUX_URI="local:///x", FAKE_NODES="3")
    words = [word.decode() for word in zero_separated(fakes / "flux-run")]
    assert "--requires=host:node2,node3" in words
    assert words[words.index("-N") + 1] == "2"
    text = f"{SURE}{flux}\nenvcfg_run --overlap -- true"
    done = bash(text, FLUX_URI="local:///x", FAKE_NODES="3")
    assert done.returncode == 4
    assert b"Flux runs no second step on the same nodes" in done.stderr
    (tmp_path / "nodes").write_text("x1\nx2\nx3\n")
    pbs = wrap("--profile", "polaris", "--container", "none").text
    text = (
        f"{SURE}{pbs}\nenvcfg_run --on 2,1 --overlap --ranks=1 -- printenv MASTER_ADDR"
    )
    done = bash(text, PBS_JOBID=JOB, PBS_NODEFILE=str(tmp_path / "nodes"))
    assert done.stdout == b"x2\nx2\n", done.stderr.decode()
    words = [word.decode() for word in zero_separated(fakes / "mpiexec")]
    assert words[words.index("--hosts") + 1] == "x2,x3"


def test_this_machine_is_the_first_node(wrap: Wrap) -> None:
    text = wrap("--profile", "workstation", "--container", "none").text
    text += "\nenvcfg_run --on first --overlap -- echo here; envcfg_run --on others -- echo there"
    done = bash(SURE + text)
    assert (done.returncode, done.stdout) == (0, b"here\n")
