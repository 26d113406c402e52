"""Which profile is taken: in a job never the last resort, unless the user says so."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support import Wrapped, envcfg

Wrap = Callable[..., Wrapped]
HOST = os.uname().nodename
JOBS = {
    "Slurm": {"SLURM_JOB_ID": "5321", "SLURM_CLUSTER_NAME": "foo", "SLURM_NNODES": "2"},
    "Slurm, cluster not named": {"SLURM_JOB_ID": "5321"},
    "Flux": {"FLUX_URI": "local:///run/flux/local"},
    "PBS": {"PBS_JOBID": "12.pbs"},
}


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {name for env in JOBS.values() for name in env}:
        monkeypatch.delenv(name, raising=False)


def enter(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    for name, value in JOBS[kind].items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("kind", JOBS)
def test_a_system_that_nobody_knows_is_an_error_in_a_job(
    wrap: Wrap, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    enter(monkeypatch, kind)
    done = wrap("--container", "none", "--", "true")
    assert done.code == 2
    assert f"this {kind.partition(',')[0]} job runs on a system that no" in done.err
    named = {"Slurm": "cluster foo, ", "PBS": "cluster pbs, "}  # by its server
    cluster = named.get(kind, "no cluster named, ")
    assert f"{cluster}host {HOST}" in done.err
    for way in ("--profile NAME", "envcfg profiles detect", "envcfg profiles new"):
        assert way in done.err
    assert "rank 0 of 1" not in done.text


@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.parametrize(
    ("options", "variables"),
    [
        (["--profile", "workstation"], {}),
        (["--launcher", "local"], {}),
        ([], {"ENVCFG_PROFILE": "workstation"}),
    ],
)
def test_one_machine_is_taken_in_a_job_where_the_user_says_so(
    wrap: Wrap,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    options: list[str],
    variables: dict[str, str],
) -> None:
    enter(monkeypatch, kind)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = wrap("--container", "none", *options, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.text)["profile"]["name"] == "workstation"


def test_one_machine_is_taken_with_a_note_where_there_is_no_job(wrap: Wrap) -> None:
    done = wrap("--container", "none")
    assert done.code == 0
    assert "note: profile workstation: no profile knows" in done.err
    assert "envcfg profiles list" in done.err


def test_a_known_system_is_taken_in_a_job(
    wrap: Wrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(monkeypatch, "Slurm")
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "lumi")
    done = wrap("--container", "none", "--json")
    assert json.loads(done.text)["profile"]["name"] == "lumi-g"


def test_a_profile_that_could_not_be_asked_is_named_with_the_error(
    wrap: Wrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = tmp_path / ".envcfg/profiles"
    layer.mkdir(parents=True)
    (layer / "foo.yaml").write_text("name: foo\ndetect: {clusters: foo}\n")
    enter(monkeypatch, "Slurm")
    done = wrap("--container", "none")
    assert done.code == 2
    assert f"{layer}/foo.yaml" in done.err
    assert "envcfg profiles validate" in done.err


@pytest.mark.parametrize(
    ("nodes", "options", "warned"),
    [
        ("2", ["--profile", "workstation"], True),
        ("2", ["--profile", "lumi-g", "--launcher", "local"], True),
        ("1", ["--profile", "workstation"], False),
        ("", ["--profile", "workstation"], False),
        ("two", ["--profile", "workstation"], False),
        ("2", ["--profile", "workstation", "--launcher", "srun"], False),
        ("2", ["--profile", "lumi-g", "--fact", "rocm=7"], False),
    ],
)
def test_ranks_on_one_of_several_nodes_are_a_warning(
    wrap: Wrap,
    monkeypatch: pytest.MonkeyPatch,
    nodes: str,
    options: list[str],
    warned: bool,
) -> None:
    enter(monkeypatch, "Slurm")
    monkeypatch.setenv("SLURM_NNODES", nodes)
    done = wrap("--container", "none", *options)
    assert done.code == 0, done.err
    said = "warning: launcher local: the job has 2 nodes, but all ranks start on one"
    assert (said in done.err) == warned
    assert warned or "local" not in done.err


@pytest.mark.parametrize(("nodes", "warned"), [("2", True), ("1", False)])
def test_a_job_script_for_nodes_that_stay_idle_is_a_warning(
    wrap: Wrap, nodes: str, warned: bool
) -> None:
    assert callable(wrap)
    options = "--profile lumi-g --container none --account project_465000001 --time 30"
    options += f" --partition standard-g --launcher local --nodes {nodes}"
    done = envcfg("sbatch", *options.split(), "--", "true")
    assert done.code == 0, done.err
    assert ("the job has 2 nodes, but all ranks start on one" in done.err) == warned


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("lumi", "error: ENVCFG_PROFILE: unknown profile 'lumi'\n  hint: did you mean 'lumi-g'?"),
        ("./no.yaml", "error: ENVCFG_PROFILE: profile ./no.yaml: no such file"),
    ],
)  # fmt: skip
def test_a_wrong_choice_of_the_environment_is_said_to_be_its(
    wrap: Wrap, monkeypatch: pytest.MonkeyPatch, chosen: str, said: str
) -> None:
    monkeypatch.setenv("ENVCFG_PROFILE", chosen)
    done = wrap("--container", "none", "--", "true")
    assert (done.code, said in done.err) == (2, True), done.err
    assert "will be used" not in envcfg("profiles", "detect").err
