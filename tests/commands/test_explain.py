"""``envcfg explain`` of variables; of rules in tests/log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg.lint.lint_rule import load_rules
from envcfg.log.verdict import WORST_FIRST
from envcfg.profile.conditions import FACTS
from support import ROOT, Wrapped, envcfg


@pytest.fixture
def explain(wrap: Callable[..., Wrapped]) -> Callable[..., Wrapped]:
    """Run ``envcfg explain`` without layers but the built-in."""
    assert callable(wrap)
    return lambda *arguments: envcfg("explain", *arguments)


def test_help_has_examples() -> None:
    done = envcfg("explain", "--help")
    assert (done.code, done.err) == (0, "")
    assert "examples:\n" in done.text


TEXTS = {
    "NCCL_NET_GDR_LEVEL": ["\n  meaning: how far", "LOC|PIX|PXB", "0 for LOC", "since 2.4", "read by: nccl, rccl", "related: NCCL_NET_GDR_READ", "NCCL_IB_GDR_LEVEL", "gdr-missing", "unsets NCCL_NET_GDR_LEVEL  if rocm >=7\n    profiles: lumi-g\n"],
    "NCCL_CROSS_NIC": ["integer; from 0 to 2", "default: 2", "removed by: lumi-g"],
    "NCCL_DMABUF_ENABLE": ["on: 1", "default 1 since 7.12", "rccl known to: ROCm 10.1"],
    "NCCL_ALLGATHERV_ENABLE": ["RCCL of ROCm: default 0 since 10.1", "NCCL: default 1 since 2.29.2"],
    "HSA_NO_SCRATCH_RECLAIM": ["sets HSA_NO_SCRATCH_RECLAIM=1  if rocm >=7.13\n    profiles: crusher, frontier\n"],
    "FI_CXI_RDZV_PROTO": ["sets FI_CXI_RDZV_PROTO=alt_read  if nodes >1  (bundle alternate-rendezvous)"],
    "MIOPEN_USER_DB": ["MIOPEN_USER_DB: no program reads this name", "instead: MIOPEN_USER_DB_PATH", "\n\nMIOPEN_USER_DB_PATH\n", "takes: path"],
    "NCCL_IB_CUDA_SUPPORT": ["\n\nNCCL_NET_GDR_LEVEL\n"],
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_variable_is_explained(explain: Callable[..., Wrapped], name: str) -> None:
    done = explain(name)
    assert (done.code, done.err) == (0, "")
    for text in TEXTS[name]:
        assert text in done.text
    assert "\x1b" not in done.text


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("NCCL_NETT", "did you mean NCCL_NET?"),
        ("nccl_net", "did you mean 'NCCL_NET'?"),
        ("socket-falback", "did you mean 'socket-fallback'?"),
        ("nothing-like-it-at-all", "envcfg explain lists all"),
        ("QQQQQQQQQQ", "envcfg explain lists all"),
    ],
)
def test_an_unknown_name_gets_a_suggestion(
    explain: Callable[..., Wrapped], name: str, hint: str
) -> None:
    done = explain(name)
    assert (done.code, done.text) == (2, "")
    assert hint in done.err


def test_one_profile_can_be_asked_for(explain: Callable[..., Wrapped]) -> None:
    text = explain("NCCL_NET_GDR_LEVEL", "--profile", "frontier").text
    assert "profiles: frontier\n" in text
    assert "lumi-g" not in text
    wrong = explain("NCCL_NET_GDR_LEVEL", "--profile", "fronteir")
    assert (wrong.code, "did you mean 'frontier'" in wrong.err) == (2, True)


def test_a_variable_with_its_value_is_that_variable(
    explain: Callable[..., Wrapped],
) -> None:
    meant = explain("NCCL_P2P_LEVEL").text
    assert explain("NCCL_P2P_LEVEL=NVL").text == meant
    assert explain("export", "NCCL_P2P_LEVEL=NVL").text == meant


def test_json_has_rules_and_variables(explain: Callable[..., Wrapped]) -> None:
    done = explain("--json", "socket-fallback", "MIOPEN_USER_DB", "NCCL_NET_GDR_LEVEL")
    rule, slip, right, level = json.loads(done.text)
    assert (rule["kind"], rule["id"]) == ("rule", "socket-fallback")
    assert (slip["kind"], slip["read"], slip["instead"]) == (
        "variable",
        False,
        right["name"],
    )
    assert right["misspellings"] == ["MIOOPEN_USER_DB_PATH", "MIOPEN_USER_DB"]
    uses = [use for use in level["set_by"] if "lumi-g" in use["profiles"]]
    assert [(use["value"], use["when"]) for use in uses] == [
        (None, "rocm >=7"),
        ("PHB", "rocm <7"),
    ]
    assert uses[0].keys() == {
        "value",
        "when",
        "otherwise",
        "bundle",
        "profiles",
        "why",
        "source",
        "date",
        "place",
    }
    assert level.keys() >= {
        "meaning",
        "type",
        "values",
        "default",
        "since",
        "read_by",
        "related",
        "rules",
        "taken_back_by",
        "source",
    }


def test_a_variable_of_which_only_a_profile_speaks(
    explain: Callable[..., Wrapped], tmp_path: Path
) -> None:
    folder = tmp_path / ".envcfg/profiles"
    folder.mkdir(parents=True)
    (folder / "my.yaml").write_text(
        "name: my\nenv: {MY_OWN: {value: 1, why: mine, source: s, date: 2026-01-01}}\n"
    )
    (folder / "bad.yaml").write_text("name: bad\nx: y\n")
    done = explain("MY_OWN")
    assert done.code == 0
    assert "MY_OWN: profiles set it; nothing else is known about it" in done.text
    assert "sets MY_OWN=1\n    profiles: my\n    mine\n    [" in done.text
    assert f"warning: {folder}/bad.yaml: cannot be used" in done.err


@pytest.mark.parametrize("form", [(), ("--json",)], ids=str)
@pytest.mark.parametrize("name", sorted(load_rules()))
def test_what_a_rule_fills_in_has_a_name_in_capitals(
    explain: Callable[..., Wrapped], name: str, form: tuple[str, ...]
) -> None:
    done = explain(*form, name)
    assert done.code == 0
    told = done.text.partition("\n  found in")[0]
    assert not re.search(r"(?<!\$)\{\w+\}|\{\{", told), told


@pytest.mark.parametrize(
    ("words", "first", "title"),
    [
        ("TCP sockets", "socket-fallback", "traffic over TCP"),
        ("time limit", "slurm-time-limit", "what ended the job"),
        ("batch shell", "EC101", "lint: scope and quoting"),
    ],
)
def test_words_are_searched_for(
    explain: Callable[..., Wrapped], words: str, first: str, title: str
) -> None:
    done = explain(*words.split())
    assert done.code == 0
    assert title in done.text.splitlines()
    assert f"\n  {first} " in done.text
    assert len(done.text.splitlines()) < 60
    found = json.loads(explain(*words.split(), "--json").text)
    assert first in {each["id"] for each in found}


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("nid001:12:13 [0] NCCL INFO Using network Socket", "network-in-use"),
        ("Using network Socket", "network-in-use"),
        ("srun: error: nid1: task 3: Out Of Memory", "slurm-task-memory"),
    ],
)
def test_a_line_of_a_log_is_explained_by_its_rule(
    explain: Callable[..., Wrapped], line: str, rule: str
) -> None:
    done = explain(line)
    assert (done.code, done.err) == (0, "")
    assert done.text.startswith(f"{rule} ")


@pytest.mark.parametrize(
    ("line", "helps"),
    [
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified", "sacctmgr show assoc"),
        ("qsub: Unknown queue", "qstat -Q"),
        ("flux-batch: ERROR: unsatisfiable request", "ask for less"),
    ],
)  # fmt: skip
def test_an_answer_of_a_scheduler_is_explained(
    explain: Callable[..., Wrapped], line: str, helps: str
) -> None:
    done = explain(line)
    assert (done.code, done.err) == (0, "")
    assert f"what helps: {helps}" in done.text


def test_other_words_get_the_nearest_entries(
    explain: Callable[..., Wrapped],
) -> None:
    done = explain("why is my network so slow")
    assert "these are the nearest" in done.err
    assert done.text.count("\n  ") <= 3
    assert "slow" in done.text
    assert explain("qqq zzz").code == 2
    assert "timeout" in explain("timeout").text
    assert "billing-unit" in explain("billing unit").text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("billing-unit", "meaning: the billing unit, in which a system counts"),
        ("degraded", "meaning: the job can run, and a rank uses TCP"),
        ("rocm", "meaning: ROCm of the image"),
        ("nodes", "meaning: Nodes of the job"),
        ("ENVCFG_PROFILE", "meaning: the profile that counts"),
    ],
)
def test_words_that_are_no_findings_are_explained(
    explain: Callable[..., Wrapped], name: str, said: str
) -> None:
    done = explain(name)
    assert (done.code, done.err) == (0, "")
    assert said in " ".join(done.text.split())
    (kind,) = {each["kind"] for each in json.loads(explain(name, "--json").text)}
    assert kind in {"fact", "word"}


def test_every_fact_and_verdict_and_variable_of_envcfg_is_known() -> None:
    listed = json.loads(envcfg("explain", "--json").text)
    ids = {each["id"] for each in listed}
    assert FACTS.keys() <= ids
    assert set(WORST_FIRST) <= ids
    page = (ROOT / "docs/command-line.md").read_text()
    rows = re.findall(r"^\| (`ENVCFG_[A-Z_`, ]+`) \|", page, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"\w+", row)} <= ids


def test_without_a_name_there_is_an_index_of_groups(
    explain: Callable[..., Wrapped],
) -> None:
    lines = explain().text.splitlines()
    assert len(lines) < 70
    row = next(each for each in lines if each.startswith("  traffic over TCP"))
    assert "fastsocket" in row
    group = explain("traffic", "over", "TCP").text
    assert group.startswith("traffic over TCP\n")
    assert "\n  socket-fallback " in group
    assert f" {len(group.splitlines()) - 1} " in row
    assert explain("ROCm").text.startswith("ROCm\n")


@pytest.mark.parametrize("name", ["nccl", "rccl", "gcd", "GCD", "NCCL", "fsdp"])
def test_words_of_the_courses_have_a_page(
    explain: Callable[..., Wrapped], name: str
) -> None:
    done = explain(name)
    assert done.code == 0
    assert "docs/explanation/words.md#words-of-the-courses" in done.text
    assert done.text.startswith(f"{name.lower()}\n")
