"""The JSON of every command, held against the schema that is documented."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from envcfg.common.findings import Finding, Place
from envcfg.nodes.monitor.node_board import NodeView
from envcfg.nodes.probe.gpu import Gpu
from envcfg.nodes.probe.sample import Counter
from envcfg.nodes.probe.slurm_job import SlurmJob
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from envcfg.report.monitor_report import monitor_json
from schemas import SCHEMAS, errors
from support import Wrapped, envcfg

LUMI = ["--profile", "lumi-g", "--container", "my.sif"]
ACCOUNT = ["--account", "project_465000001"]
COMMAND = ["--", "python", "train.py"]
NAMES = Catalog([built_in_folder()]).names()


def objects(schema: object) -> Iterator[dict[str, Any]]:
    """Every part of a schema that describes an object of known fields."""
    if isinstance(schema, dict):
        if "properties" in schema and "object" in schema.get("type", ()):
            yield schema
        for each in schema.values():
            yield from objects(each)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_strict_and_explains_every_field(name: str) -> None:
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema")
    found = list(objects(schema))
    assert found
    for each in found:
        assert each["additionalProperties"] is False
        assert set(each["required"]) == set(each["properties"])
        for key, field in each["properties"].items():
            assert {"description", "$ref", "const"} & set(field), key


@pytest.fixture
def run(wrap: Callable[..., Wrapped], tmp_path: Path) -> Callable[..., str]:
    """Run a command in a project that has profiles of its own, and return its stdout."""
    assert callable(wrap)  # keeps other layers away
    (tmp_path / "my.yaml").write_text(
        "name: my\nextends: lumi-g\nenv: {NCCL_CROSS_NIC: null}\n"
    )
    (tmp_path / "old.sh").write_text("#SBATCH -N 2\nsrun -l python a.py\n")
    (tmp_path / ".envcfg/profiles").mkdir(parents=True)
    (tmp_path / ".envcfg/profiles/bad.yaml").write_text("name: bad\nsumary: x\n")
    (tmp_path / ".envcfg/profiles/own.yaml").write_text(
        "name: own\nenv: {MY_OWN: {value: 1, why: mine, source: s, date: 2026-01-01}}\n"
    )

    def run(*arguments: str) -> str:
        done = envcfg(*arguments)
        assert done.code in {0, 1, 3}, done.err
        return done.text

    return run


CASES = {
    "wrap": [
        ["wrap", *LUMI, "--json", *COMMAND],
        ["wrap", *LUMI, "--json", "--set", "A=1", "--unset", "B", "--bind", "/a", *COMMAND],
        ["wrap", "--profile", "./my.yaml", "--container", "none", "--json"],
        ["wrap", *LUMI, "--json", "--fact", "rocm=6.2.4", "--", "torchrun", "train.py"],
        *(["wrap", "--profile", name, "--container", "none", "--json"] for name in NAMES),
    ],
    "wrap-from": [
        ["wrap", "--from", "old.sh", "--json"],
        ["wrap", "--from", "old.sh", "--json", "--profile", "lumi-g", "--set", "A=1"],
    ],
    "job": [
        ["sbatch", *LUMI, *ACCOUNT, "--json", *COMMAND],
        ["sbatch", *LUMI, *ACCOUNT, "--json", "--partition", "small-g", "--gpus", "1", "--time", "30", "--cpus-per-gpu", "14", *COMMAND],
        ["sbatch", "--profile", "mahti", "--container", "none", *ACCOUNT, "--json", "--partition", "gpumedium", "--time", "1-12", "--requeue", *COMMAND],
        ["sbatch", "--profile", "dardel", "--container", "none", *ACCOUNT, "--json", "--partition", "gpu", "--time", "30", *COMMAND],
    ],
    "profiles-list": [["profiles", "list", "--json"]],
    "profiles-show": [["profiles", "show", name, "--json"] for name in ("./my.yaml", *NAMES)],
    "profiles-diff": [["profiles", "diff", "lumi-g", other, "--json"] for other in ("./my.yaml", *NAMES)],
    "profiles-detect": [["profiles", "detect", "--json"]],
    "inspect": [["inspect", "/", "--json"], ["inspect", "/", "--json", "--profile", "my.yaml"]],
    "explain": [
        ["explain", "--json"],
        ["explain", "--json", "NCCL_NET", "MIOPEN_USER_DB", "chain-two-nccl", "EC101", "MY_OWN"],
    ],
    "findings": [
        ["profiles", "validate", "--json", ".envcfg/profiles/bad.yaml", "my.yaml"],
        ["sbatch", *LUMI, "--format", "json", *COMMAND],
        ["inspect", "/", "--format", "json"],
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_a_command_writes_is_as_its_schema_says(
    run: Callable[..., str], name: str
) -> None:
    for arguments in CASES[name]:
        assert errors(name, run(*arguments)) == [], arguments


def test_profiles_that_are_broken_are_findings_of_the_list(
    run: Callable[..., str],
) -> None:
    (found,) = json.loads(run("profiles", "list", "--json"))["findings"]
    assert found["rule"] == "profile-invalid"
    assert found["place"]["path"].endswith("/.envcfg/profiles/bad.yaml")
    assert found["place"]["line"] == 2


@pytest.mark.parametrize("cluster", ["lumi", "nowhere"])
def test_a_detection_is_as_its_schema_says(
    run: Callable[..., str], monkeypatch: pytest.MonkeyPatch, cluster: str
) -> None:
    monkeypatch.setenv("SLURM_CLUSTER_NAME", cluster)
    text = run("profiles", "detect", "--json")
    assert errors("profiles-detect", text) == []
    assert bool(json.loads(text)["found"]) is (cluster == "lumi")


GPU = Gpu(0, 98.0, 1 << 30, 2 << 30, 300.0, "A100")
LOOK = (
    NodeView("node1"),
    NodeView(
        "node2",
        age=0.44,
        is_silent=False,
        processor_use=51.97,
        links=(
            Counter("lo", 1, 2),
            Counter("cxi0", 3, 4, "hsn0", True, 1e9 / 3, 2.0),
        ),
        tool="nvidia-smi",
        gpus=(
            GPU,
            Gpu(1, is_idle=True),
        ),
        other_gpus=2,
        problem="GPU is lost",
        tool_waits=3.2,
    ),
)


@pytest.mark.parametrize("nodes", [(), LOOK[:1], LOOK])
def test_a_look_at_a_job_is_as_its_schema_says(nodes: tuple[NodeView, ...]) -> None:
    job = SlurmJob("4321", "4321", "RUNNING", "alice", "None", None, "node[1-2]")
    found = [Finding("gpu-idle", "warning", "node2", "x", place=Place("a", 1))]
    assert errors("monitor", monitor_json(job, nodes, found, indent=None)) == []


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("wrap", "notes", []),
        ("wrap", "facts.launcher.place", "a:1:1"),
        ("wrap", "settings.0.branches.0.date", None),
        ("wrap", "container.extra", 1),
        ("wrap-from", "lines.0.line", -1),
        ("wrap-from", "profile", 1),
        ("job", "request.nodes", 0),
        ("job", "cost.per_hour", 4),
        ("job", "findings.0.hint", "x"),
        ("job", "findings.0.severity", "fatal"),
        ("profiles-show", "values.0.state", "maybe"),
    ],
)
def test_a_schema_refuses_what_is_not_so(
    run: Callable[..., str], name: str, path: str, value: object
) -> None:
    document = json.loads(run(*CASES[name][0]))
    *parents, last = path.split(".")
    at: Any = document
    for each in parents:
        at = at[int(each) if each.isdigit() else each]
    at[last] = value
    assert errors(name, json.dumps(document))
