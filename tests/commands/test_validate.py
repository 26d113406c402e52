"""``envcfg profiles validate``: every problem, in one run, with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from envcfg.profile.conditions import parse_tests
from envcfg.profile.validate import exclude_each_other
from support import ROOT, Wrapped, envcfg

SCHEMA = json.loads((ROOT / "docs/findings.schema.json").read_text())
REASON = "why: because, source: a page, date: 2026-05-19"


def env(**values: str) -> str:
    entries = (
        f"  {name}: {{value: {value}, {REASON}}}\n" for name, value in values.items()
    )
    return "env:\n" + "".join(entries)


def run(*arguments: str) -> Wrapped:
    return envcfg("profiles", "validate", *arguments)


@pytest.fixture
def check(wrap: Callable[..., Wrapped], tmp_path: Path) -> Callable[..., Wrapped]:
    """Write ``my.yaml`` with a text behind its name, and validate it."""
    assert callable(wrap)  # keeps other layers away

    def check(text: str, *options: str) -> Wrapped:
        (tmp_path / "my.yaml").write_text(f"name: my\n{text}")
        return run("my.yaml", *options)

    return check


BUNDLE = "bundles:\n  b: {env: {FI_CXI_RDZV_GET_MIN: 0}, srun: [--x], REASON}\n"
PROBLEMS = {
    "unknown key": ("sumary: x\n", "2:1: error: unknown key 'sumary'", "did you mean 'summary'"),
    "no reason": ("env: {A: {value: 1}}\n", "2:10: error: env.A: no why, no source, no date", "all three"),
    "no YAML": ("env: [\n", "3:1: error: ", ""),
    "unknown parent": ("extends: slingshot-rocn\n", "2:10: error: extends: unknown profile", "'slingshot-rocm'"),
    "lone dollar": (env(A='"$(id)"'), "3:14: error: env.A.value: '$' stands alone", "$$ for a dollar"),
    "slip": (env(MIOPEN_USER_DB="/a"), "3:3: error: env.MIOPEN_USER_DB: no program reads", "write MIOPEN_USER_DB_PATH"),
    "value": (env(NCCL_NET_GDR_LEVEL="phb"), "3:24: error: env.NCCL_NET_GDR_LEVEL.value: 'phb' is not", "write PHB"),
    "value of a case": (f"env:\n  NCCL_NET_GDR_LEVEL:\n    cases:\n      - {{value: XX, {REASON}}}\n", "5:10: error: env.NCCL_NET_GDR_LEVEL.cases[0].value: 'XX'", ""),
    "value of otherwise": (f"env:\n  NCCL_CROSS_NIC: {{value: 1, when: {{nodes: 1}}, otherwise: 7, {REASON}}}\n", "env.NCCL_CROSS_NIC.otherwise: 7 is out of range", ""),
    "value in a bundle": ("bundles:\n  b: {env: {NCCL_CROSS_NIC: 7}, srun: [--x], REASON}\n", "3:13: error: bundles.b.env.NCCL_CROSS_NIC: 7 is out", ""),
    "twice": (env(FI_CXI_RDZV_GET_MIN="0") + BUNDLE, "3:24: error: env.FI_CXI_RDZV_GET_MIN: bundle b sets", "remove one"),
    "twice with the family": ("extends: slingshot\n" + env(FI_CXI_RDZV_GET_MIN="0"), "4:24: error: env.FI_CXI_RDZV_GET_MIN: bundle alternate-rendezvous", "remove one"),
    "circle of values": (env(A="'${B}'", B="'${A}'"), "3:6: error: env.A: settings refer to each other", "another value"),
    "batch host": (env(A="'${HOSTNAME}'"), "3:6: error: env.A: A refers to HOSTNAME", "SLURMD_NODENAME"),
    "a task's own": (env(A="'${SLURM_PROCID}'"), "3:6: error: env.A: A refers to SLURM_PROCID", "RANK"),
    "no scratch": (env(A="'${ENVCFG_CACHE}/a'"), "3:6: error: env.A: A refers to ENVCFG_CACHE", "scratch"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_said_with_place_and_remedy(
    check: Callable[..., Wrapped], name: str
) -> None:
    text, message, hint = PROBLEMS[name]
    done = check(text.replace("REASON", REASON))
    assert (done.code, done.err) == (1, "")
    assert "my.yaml:" in done.text
    assert message in done.text
    assert hint in done.text


EXCLUSIVE = """\
env:
  FI_CXI_RDZV_GET_MIN: {value: 1, when: {container: '!a*'}, REASON}
bundles:
  b: {env: {FI_CXI_RDZV_GET_MIN: 0}, srun: [--x], when: {container: 'a*'}, REASON}
"""
WARNINGS = {
    "old name": (env(NCCL_IB_CUDA_SUPPORT="1"), "3:3: warning: env.NCCL_IB_CUDA_SUPPORT: "),
    "unknown name": (env(NCCL_NETT="IB"), "3:3: warning: env.NCCL_NETT: no known program"),
    "in vain": ("extends: slingshot\nenv: {A: null}\n", "3:7: warning: env.A: null removes what no"),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNINGS)
def test_a_warning_fails_where_that_is_asked_for(
    check: Callable[..., Wrapped], name: str
) -> None:
    text, message = WARNINGS[name]
    done = check(text)
    assert done.code == 0
    assert message in done.text
    assert check(text, "--strict").code == 1


@pytest.mark.parametrize(
    "text",
    [
        "extends: slingshot-rocm\nenv: {NCCL_CROSS_NIC: null}\n",
        EXCLUSIVE,
        "launch: {launchers: [srun]}\n" + env(A="'${SLURM_PROCID}'"),
    ],
)
def test_what_is_right_is_not_complained_of(
    check: Callable[..., Wrapped], text: str
) -> None:
    done = check(text.replace("REASON", REASON), "--strict")
    assert (done.code, done.text) == (0, "my.yaml: ok\n1 file: 0 errors, 0 warnings\n")


def test_all_problems_of_all_files_come_in_one_run(
    check: Callable[..., Wrapped], tmp_path: Path
) -> None:
    (tmp_path / "other.yaml").write_text("name: othr\nextends: my\n")
    text = "extends: no\n" + env(
        A="'${HOSTNAME}'", NCCL_CROSS_NIC="9", MIOPEN_USER_DB="a"
    )
    done = check(text, "other.yaml")
    assert done.code == 1
    places = [
        line.split(": ")[0] for line in done.text.splitlines() if line[0] not in " 2"
    ]
    assert places == ["my.yaml:2:10", "my.yaml:5:20", "my.yaml:6:3", "other.yaml:1:7"]
    assert done.text.endswith("2 files: 4 errors, 0 warnings\n")


def test_json_has_every_field(check: Callable[..., Wrapped]) -> None:
    done = check("sumary: x\n", "--json")
    assert done.code == 1
    document = json.loads(done.text)
    jsonschema.validate(document, SCHEMA)
    (file,) = document["checked"]
    (found,) = file["findings"]
    assert file["name"] == "my.yaml"
    assert found["place"] == {"path": "my.yaml", "line": 2, "column": 1}
    assert (found["rule"], found["severity"]) == ("profile-invalid", "error")
    assert "did you mean 'summary'" in found["fix"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (PROBLEMS["slip"][0], "profile-variable"),
        (PROBLEMS["value"][0], "profile-variable"),
        (PROBLEMS["no YAML"][0], "profile-invalid"),
    ],
)
def test_each_kind_of_problem_has_its_rule(
    check: Callable[..., Wrapped], text: str, rule: str
) -> None:
    (file,) = json.loads(check(text, "--json").text)["checked"]
    assert {each["rule"] for each in file["findings"]} == {rule}


def test_github_is_told_the_place_of_each(check: Callable[..., Wrapped]) -> None:
    done = check("sumary: x\n", "--format", "github")
    assert done.code == 1
    head, _, said = done.text.strip().removeprefix("::").partition("::")
    assert head == "error file=my.yaml,line=2,col=1,title=envcfg profile-invalid"
    assert "unknown key 'sumary'" in said


def test_sarif_names_rules_files_and_places(check: Callable[..., Wrapped]) -> None:
    document = json.loads(check("sumary: x\nextends: [y]\n", "--format", "sarif").text)
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert run["tool"]["driver"]["name"] == "envcfg"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [each["level"] for each in run["results"]] == ["error", "error"]
    for each in run["results"]:
        assert rules[each["ruleIndex"]] == each["ruleId"]
    where = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert [each["artifactLocation"]["uri"] for each in where] == ["my.yaml"] * 2
    assert [each["region"]["startLine"] for each in where] == [2, 3]


def test_junit_has_a_test_for_each_file(check: Callable[..., Wrapped]) -> None:
    good = check("summary: x\n", "--format", "junit")
    assert (good.code, good.err) == (0, "")
    assert ET.fromstring(good.text).get("failures") == "0"  # noqa: S314  # our own
    text = check("sumary: x\n", "--format", "junit").text
    bad = ET.fromstring(text)  # noqa: S314  # our own
    assert (bad.get("tests"), bad.get("failures")) == ("1", "1")
    (failure,) = bad.iter("failure")
    assert failure.get("type") == "profile-invalid"
    assert (failure.text or "").startswith("my.yaml:2:1: ")


def test_a_file_of_a_layer_is_checked_over_those_below_it(
    wrap: Callable[..., Wrapped], tmp_path: Path
) -> None:
    assert callable(wrap)
    folder = tmp_path / ".envcfg/profiles"
    folder.mkdir(parents=True)
    (folder / "lumi-g.yaml").write_text("name: lumi-g\nenv: {AITER_JIT_DIR: null}\n")
    assert run("--strict", str(folder)).code == 0
    (tmp_path / "lumi-g.yaml").write_text("name: lumi-g\nenv: {AITER_JIT_DIR: null}\n")
    assert run("--strict", "lumi-g.yaml").code == 1  # by itself, it takes back nothing


def test_strict_names_limits_that_are_soon_outdated(
    check: Callable[..., Wrapped], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"request:\n  partitions:\n    long: {{nodes: 9, {REASON}}}\n    all: {{default: true, {REASON}}}\n"
    day, end = 86_400, 1_795_046_400  # 2026-11-19, 184 days after the source
    named = "my.yaml:4:11: note: request.partitions.long: was read on 2026-05-19: too old to refuse a job"
    for days, is_named in {-62: False, -61: True, -1: True, 0: True}.items():
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(end + days * day))
        done = check(text, "--strict")
        assert done.code == 0
        assert (f"{named} after 2026-11-18\n" in done.text) == is_named, days
        assert "partitions.all" not in done.text  # it has no limit
        assert check(text).text.startswith("my.yaml: ok")


def test_the_profiles_that_come_with_envcfg_are_right(
    wrap: Callable[..., Wrapped],
) -> None:
    from envcfg.profile.folders import built_in_folder

    assert callable(wrap)
    done = run("--strict", built_in_folder())
    assert done.code == 0, done.text


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("container", "a*"), ("container", "!a*"), True),
        (("container", "a*"), ("container", "b*"), False),
        (("rocm", "<7"), ("rocm", ">=7"), True),
        (("rocm", "<7"), ("rocm", ">=6"), False),
        (("rocm", "<7"), ("cuda", ">=7"), False),
        (("nodes", "<2"), ("nodes", ">=2"), False),  # both stand in one script
    ],
)
def test_conditions_that_never_hold_together(
    one: tuple[str, str], other: tuple[str, str], expected: bool
) -> None:
    first, second = tuple(parse_tests(*one)), tuple(parse_tests(*other))
    assert exclude_each_other(first, second) is expected
    assert exclude_each_other(second, first) is expected
