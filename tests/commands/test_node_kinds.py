"""The kind of node of a job: which options choose it, and where its name is shown."""

from __future__ import annotations

import json
import re

import pytest

from support import Wrapped, envcfg

JOB = ("job", "--container", "none", "--time", "1:00:00", "--nodes", "1")


def job(profile: str, *options: str) -> Wrapped:
    return envcfg(*JOB, "--profile", profile, *options, "--", "true")


@pytest.mark.parametrize(
    ("profile", "options", "kind", "directives", "cost"),
    [
        (
            "snellius",
            ("--partition", "gpu_h100"),
            "gpu_h100 (--partition)",
            "64 720G",
            768,
        ),
        ("snellius", (), "gpu_h100 (the default)", "64 720G", 768),
        (
            "snellius",
            ("--partition", "gpu_a100"),
            "gpu_a100 (--partition)",
            "72 480G",
            512,
        ),
        ("snellius/gpu_a100", (), "gpu_a100 (--profile)", "72 480G", 512),
        ("builtin:snellius/gpu_a100", (), "gpu_a100 (--profile)", "72 480G", 512),
    ],
)
def test_a_job_gets_cores_memory_and_price_of_its_kind_of_node(
    profile: str, options: tuple[str, ...], kind: str, directives: str, cost: int
) -> None:
    done = job(profile, *options, "--ranks", "1")
    assert done.code == 0, done.err
    assert f"# kind of node: {kind}\n" in done.text
    assert f"#SBATCH --partition={kind.split(maxsplit=1)[0]}\n" in done.text
    cores, memory = directives.split()
    assert re.search(
        rf"#SBATCH --cpus-per-task={cores}\n(.*\n)*#SBATCH --mem={memory}\n", done.text
    )
    assert f"cost: {cost} SBU per hour" in done.err
    assert f"profiles show snellius/{kind.split(maxsplit=1)[0]}\n" in done.text


@pytest.mark.parametrize(
    ("profile", "options"),
    [
        ("snellius", ("--partition", "gpu_h100", "--request-arg=--gres=gpu:a100:4")),
        ("snellius/gpu_a100", ("--partition", "gpu_h100")),
        ("snellius", ("--partition", "gpu_h100,gpu_a100")),
    ],
)
def test_a_contradiction_is_refused_before_anything_is_written(
    profile: str, options: tuple[str, ...]
) -> None:
    done = job(profile, *options)
    assert (done.code, done.text) == (2, "")
    assert "hint: " in done.err


def test_documents_name_the_kind() -> None:
    document = json.loads(job("snellius", "--partition", "gpu_a100", "--json").text)
    kind = {"name": "gpu_a100", "sign": "--partition"}
    assert document["profile"]["kind"] == kind
    shown = json.loads(envcfg("profiles", "show", "snellius/gpu_a100", "--json").text)
    assert shown["kind"]["name"] == "gpu_a100"
    (place,) = {
        value["place"]["line"]
        for value in shown["values"]
        if value["name"] == "cores_per_gpu"
    }
    assert place > 100  # in the kind, not in that of the H100
    plan = envcfg(
        "wrap",
        "--profile",
        "snellius",
        "--container",
        "none",
        "--print",
        "plan",
        "--",
        "true",
    )
    assert "kind       gpu_h100 (the default)\n" in plan.text


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SLURM_JOB_PARTITION": "gpu_a100"}, "gpu_a100 (SLURM_JOB_PARTITION)"),
        ({"SLURM_GPUS_PER_NODE": "a100:2"}, "gpu_a100 (SLURM_GPUS_PER_NODE)"),
        ({"SLURM_JOB_PARTITION": "x"}, "gpu_h100 (the default)"),
    ],
)
def test_in_a_job_the_variables_of_its_scheduler_choose_the_kind(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    words = ("--container", "none", "--", "true")
    for name, value in {"SLURM_JOB_ID": "1", **variables}.items():
        monkeypatch.setenv(name, value)
    done = envcfg("wrap", "--profile", "snellius", *words)
    assert f"# kind of node: {expected}\n" in done.text, done.err
    # A name on the command line is never changed.
    done = envcfg("wrap", "--profile", "snellius/gpu_h100", *words)
    assert "# kind of node: gpu_h100 (--profile)\n" in done.text
