"""Versions that do not go together: the data, and when it is said."""

from __future__ import annotations

import pytest

from envcfg.profile.version_conflicts import KnownJob, known_faults, load_stacks

STACKS = load_stacks()
GH200 = {"nccl": "2.27.7", "architecture": "aarch64", "nodes": "4"}
LUMI = {"rocm": "7.0.2", "container": "lumi-multitorch-x.sif"}

FAULTS = {
    "NCCL 2.28.9 over the plugin of its time": (KnownJob({"nccl": "2.28.9", "plugin": "1.17.2"}), "stack-nccl-ofi-2.28.9"),
    "the old plugin of RCCL over libfabric 1.22": (KnownJob({"plugin": "1.4.0", "libfabric": "1.22.0"}), "stack-rccl-ofi-1.4"),
    "GPU RDMA by level on LUMI": (KnownJob(LUMI, profile="lumi-g", env={"NCCL_NET_GDR_LEVEL": "PHB", "FI_MR_CACHE_MONITOR": "userfaultfd"}), "stack-gdr-level-rocm-7"),
    "the default monitor on LUMI": (KnownJob(LUMI, profile="lumi-g", env={}), "stack-monitor-rocm-7"),
    "LL128 on Slingshot with GH200": (KnownJob({**GH200, "nccl": "2.30.4"}, provider="cxi", env={}), "stack-ll128-gh200"),
    "LL128 asked for": (KnownJob({**GH200, "nccl": "2.30.4"}, provider="cxi", env={"NCCL_PROTO": "LL128"}), "stack-ll128-gh200"),
    "LL128 of 2.18.1": (KnownJob({"nccl": "2.18.1"}, env={}), "stack-ll128-hgx-2.18.1"),
    "the proxy on ARM": (KnownJob({"nccl": "2.28.9", "architecture": "aarch64"}), "stack-nccl-arm-proxy"),
}  # fmt: skip

SOUND = {
    "nothing is known": KnownJob({}),
    "the plugin is not known": KnownJob({"nccl": "2.28.9"}),
    "NCCL before it": KnownJob({"nccl": "2.27.7", "plugin": "1.17.2"}),
    "the plugin after it": KnownJob({"nccl": "2.28.9", "plugin": "1.19.0"}),
    "not precise enough": KnownJob({"nccl": "2.28", "plugin": "1.17.2"}),
    "an older libfabric": KnownJob({"plugin": "1.4", "libfabric": "1.15.2"}),
    "ROCm 6": KnownJob({"rocm": "6.2.4"}, profile="lumi-g", env={"NCCL_NET_GDR_LEVEL": "PHB"}),
    "another image": KnownJob({"rocm": "7.0.2", "container": "my.sif"}, profile="lumi-g", env={}),
    "another site": KnownJob(LUMI, profile="frontier", env={"NCCL_NET_GDR_LEVEL": "PHB"}),
    "one node": KnownJob({**LUMI, "nodes": "1"}, profile="lumi-g", env={"NCCL_NET_GDR_LEVEL": "PHB"}),
    "LUMI as its profile has it": KnownJob(LUMI, profile="lumi-g", env={"FI_MR_CACHE_MONITOR": "userfaultfd"}),
    "LL128 switched off": KnownJob({**GH200, "nccl": "2.30.4"}, provider="cxi", env={"NCCL_PROTO": "^LL128"}),
    "LL128 switched off with others": KnownJob({**GH200, "nccl": "2.30.4"}, provider="cxi", env={"NCCL_PROTO": "^ll128,LL"}),
    "LL128 over C2C switched off": KnownJob({**GH200, "nccl": "2.30.4"}, provider="cxi", env={"NCCL_LL128_C2C": "0"}),
    "another network": KnownJob({**GH200, "nccl": "2.30.4"}, provider="efa", env={}),
    "x86_64": KnownJob({"nccl": "2.28.9", "architecture": "x86_64", "nodes": "4"}, provider="cxi", env={}),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_a_stack_that_fails_is_named(case: str) -> None:
    job, rule = FAULTS[case]
    assert [each.rule for each in known_faults(job)] == [rule]


@pytest.mark.parametrize("case", SOUND)
def test_of_others_nothing_is_said(case: str) -> None:
    assert known_faults(SOUND[case]) == []


def test_what_hangs_on_a_variable_that_nobody_knows_is_a_note() -> None:
    job = KnownJob({**GH200, "nccl": "2.30.4"}, provider="cxi")
    assert [(each.rule, each.severity) for each in known_faults(job)] == [
        ("stack-ll128-gh200", "note")
    ]


def test_a_finding_names_what_fits_and_who_says_so() -> None:
    (found,) = known_faults(KnownJob({"nccl": "2.28.9", "plugin": "1.17.2"}))
    assert found.subject == "nccl 2.28.9, plugin 1.17.2"
    assert "https://" in (found.source or "")
    assert found.fix


def test_every_stack_has_a_case_that_fails() -> None:
    assert {each.id for each in STACKS} == {rule for _, rule in FAULTS.values()}
    assert all(each.id.startswith("stack-") for each in STACKS)
