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
    "Blackwell": (KnownJob({"nccl": "2.24.3"}, profile="oci-b200"), "stack-nccl-blackwell"),
    "all-to-all over NVLink": (KnownJob({"nccl": "2.26.3", "nodes": "32"}, profile="oci-gb200"), "stack-nccl-mnnvl-alltoall"),
    "shared resources": (KnownJob({"nccl": "2.26.6"}, env={"NCCL_COMM_SPLIT_SHARE_RESOURCES": "1"}), "stack-nccl-split-memory"),
    "the order of operations": (KnownJob({"nccl": "2.28.7", "nodes": "64"}), "stack-nccl-order-2.28"),
    "no GPU RDMA on GB300": (KnownJob({"nccl": "2.28.9"}, profile="google-a4x-max", env={"NCCL_NET_GDR_LEVEL": "LOC"}), "stack-nccl-gb300-gdr"),
    "RoCE": (KnownJob({"nccl": "2.25.1", "nodes": "2"}, profile="oci-h200"), "stack-nccl-roce-ece"),
    "host memory in podman": (KnownJob({"nccl": "2.25.1", "runtime": "podman-hpc"}, env={}), "stack-nccl-host-memory"),
    "a path of the plugin": (KnownJob({"nccl": "2.27.3"}, env={"NCCL_NET_PLUGIN": "/opt/libnccl-net.so"}), "stack-nccl-plugin-path"),
    "two H100": (KnownJob({"nccl": "2.14.3"}, profile="azure-ndh100", env={"NCCL_PROTO": "Simple"}), "stack-nccl-h100-2.15"),
    "receives at a time": (KnownJob({"plugin": "1.19.1"}), "stack-ofi-multirecv-1.19.1"),
    "progress on Slingshot": (KnownJob({"plugin": "1.19.2", "nodes": "2"}, provider="cxi"), "stack-ofi-progress-slingshot"),
    "the tuner and an algorithm": (KnownJob({"plugin": "1.19.2", "nodes": "2"}, provider="efa", env={"NCCL_ALGO": "Ring"}), "stack-ofi-tuner-algo"),
    "the tuner and a protocol": (KnownJob({"plugin": "1.19.2", "nodes": "2"}, provider="efa", env={"NCCL_PROTO": "Simple"}), "stack-ofi-tuner-proto"),
    "eager receives": (KnownJob({"plugin": "1.20.0", "nodes": "2"}, provider="efa"), "stack-ofi-eager-1.20"),
    "a leak on EFA": (KnownJob({"plugin": "1.16.3", "nodes": "2"}, provider="efa"), "stack-ofi-leak-1.17"),
    "ROCm 7 on MI300": (KnownJob({"plugin": "1.16.3", "rocm": "7.0"}, profile="tuolumne"), "stack-ofi-dmabuf-rocm-7"),
    "CUDA 13": (KnownJob({"plugin": "1.17.0", "cuda": "13.0"}), "stack-ofi-cuda-13"),
    "libfabric for EFA": (KnownJob({"plugin": "1.18.0", "libfabric": "1.21"}, provider="efa"), "stack-ofi-libfabric-1.22"),
    "a very old libfabric": (KnownJob({"plugin": "1.21.1", "libfabric": "1.10"}), "stack-ofi-libfabric-1.11"),
    "an old NCCL": (KnownJob({"plugin": "1.21.1", "nccl": "2.16.5"}), "stack-ofi-nccl-2.17"),
    "scratch memory of ROCm 7.13": (KnownJob({"rocm": "7.13"}, profile="frontier", env={}), "stack-rocm-7.13-scratch"),
    "memhooks": (KnownJob({"nodes": "2"}, provider="cxi", env={"FI_MR_CACHE_MONITOR": "memhooks"}), "stack-memhooks-slingshot"),
}  # fmt: skip

SOUND = {
    "memhooks, perhaps": KnownJob({"nodes": "2"}, provider="cxi"),
    "Hopper": KnownJob({"nccl": "2.24.3"}, profile="azure-ndh100"),
    "aws-ofi-nccl as it should be": KnownJob({"nccl": "2.31.2", "plugin": "1.21.1", "libfabric": "2.6.0", "cuda": "13.0", "nodes": "64"}, provider="efa", env={"NCCL_PROTO": "Simple"}),
    "ROCm 7.13 with its variable": KnownJob({"rocm": "7.13"}, profile="frontier", env={"HSA_NO_SCRATCH_RECLAIM": "1"}),
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
    assert rule in [each.rule for each in known_faults(job)]


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
