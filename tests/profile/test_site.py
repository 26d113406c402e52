"""What a machine says of itself, as the entries of a profile: tables, hostile names."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.draft import starter
from envcfg.profile.node_kinds import with_kinds
from envcfg.profile.profile_model import Profile
from envcfg.profile.read.profile_loader import load_profile
from envcfg.site.machine_facts import (
    NodeGroup,
    SeenPartition,
    Site,
    family_of,
    main_shape,
)
from envcfg.site.profile_entries import Draft, scalar
from envcfg.site.queue_reader import read_nodes, read_site
from envcfg.site.slurm_answers import (
    read_accounts,
    read_config,
    read_partitions,
)

PARTITIONS = """\
PartitionName=cpu AllowGroups=ALL Default=NO MaxNodes=UNLIMITED MaxTime=UNLIMITED OverSubscribe=NO State=UP
PartitionName=gpu AllowGroups=ALL Default=YES MaxNodes=64 MaxTime=2-00:00:00 OverSubscribe=EXCLUSIVE State=UP TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=16
PartitionName=long Default=NO MaxNodes=8 MaxTime=7-00:00:00 OverSubscribe=NO State=UP TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=16
PartitionName=down Default=NO MaxNodes=8 MaxTime=7-00:00:00 OverSubscribe=NO State=DOWN
PartitionName=old Default=NO MaxTime=1:00:00 State=UP
"""
# Partitions, gres, CPUs, memory, how many, what else is said of the node.
NODES = [
    ("cpu", "(null)", 256, 250000, 9, ""),
    ("gpu,long", "gpu:a100:4(S:0-1),nvme:1", 128, 516024, 3, "MemSpecLimit=1024"),
    (
        "gpu",
        "gpu:a100:4(S:0-1)",
        128,
        515000,
        2,
        "Sockets=2 Reason=CPUTot=7 Gres=gpu:9 [a@b]",
    ),
    ("down", "gpu:4", 128, 515000, 2, "AvailableFeatures=fast,a100"),
    ("old", "gpu:v100:2,gpu:t4:1", 40, 190000, 2, "CPUEfctv=40"),
    ("off", "(null)", 0, 0, 1, ""),
]
SHOWN = "".join(
    f"NodeName=n{at}-{n} Arch=x86_64 CPUTot={cpus} Gres={gres} OS=Linux 5.14 #1 SMP "
    f"RealMemory={memory} Partitions={partitions} {rest}\n"
    for at, (partitions, gres, cpus, memory, number, rest) in enumerate(NODES)
    for n in range(number)
)
CONFIG = """\
Configuration data as of 2026-11-22T14:00:00
ClusterName             = mine
PriorityFlags           =
SelectType              = select/cons_tres
"""


def site(**changed: object) -> Site:
    partitions = read_site(SCHEDULERS["slurm"], "", PARTITIONS, SHOWN)
    known = Site(
        host="login1",
        cluster=read_config(CONFIG)["ClusterName"],
        scheduler="slurm",
        gpus="--gpus-per-node",
        partitions=tuple(partitions),
        adapters={"mlx5_0": "InfiniBand", "mlx5_1": "InfiniBand", "mlx5_2": "Ethernet"},
        runtimes=("apptainer",),
        modules=("nccl/2.28", "apptainer/1.4"),
    )
    return known._replace(**changed)


def drafted(
    seen: Site, built_in: Catalog, claimed_by: str | None = None
) -> tuple[str, Profile]:
    """Return the text, and what it says alone, with the default kind of node; it is valid."""
    sections = Draft(seen, claimed_by=claimed_by, today="2026-11-22").sections()
    family = built_in.load("infiniband-cuda")
    text = starter(
        "mine", "infiniband-cuda", family, "2026-11-22", why="w", sections=sections
    )
    problems: list[Finding] = []
    profile = load_profile(
        text.encode(), path="mine.yaml", stem="mine", problems=problems
    )
    assert problems == []
    assert profile is not None
    return text, with_kinds(profile)


def test_what_the_family_sets_is_listed() -> None:
    reason = "why: w, source: s, date: 2026-11-22"
    given = (
        f"name: fam\nenv: {{A: {{value: x, {reason}}}, "
        f"B: {{cases: [{{value: null, when: {{nodes: 1}}, {reason}}}]}}}}\n"
        f"bundles: {{b: {{env: {{C: y}}, srun: [--x], {reason}}}}}\n"
    )
    family = load_profile(given.encode(), path="fam.yaml", stem="fam", problems=[])
    assert family
    text = starter("mine", "fam", family, "2026-11-22")
    assert text.endswith(
        "says why:\n#   A: x\n#   B: unset  # in some cases\n#   C: y  # in the bundle b\n"
    )


def test_a_cluster_s_words_become_a_valid_profile(built_in: Catalog) -> None:
    text, profile = drafted(site(), built_in)
    assert profile.detect
    assert profile.detect.clusters == ("mine",)
    assert profile.node
    assert profile.request
    assert profile.billing
    assert profile.expect
    assert profile.node[1:4] == (4, 32, "128750M")
    assert profile.node.nics == ("mlx5_0", "mlx5_1")
    assert (profile.request.scheduler, profile.request.gpus) == (
        "slurm",
        "--gpus-per-node",
    )
    assert list(profile.partitions) == ["gpu", "long", "old"]
    gpu = profile.partitions["gpu"]
    assert gpu
    assert (gpu.nodes, gpu.time, gpu.exclusive) == (64, "2-00:00:00", True)
    assert profile.billing.charge == "sum"
    assert (profile.billing.per_gpu, profile.billing.per_core, profile.billing.per_gib) == (
        "16", "1", "0.25",
    )  # fmt: skip
    assert profile.expect.nics == 2
    assert profile.modules == {}
    for said in (
        "# Built on infiniband-cuda: w.\n",
        "  a100:\n    select: {partitions: [gpu, long], gres: [a100]}\n",
        "  v100+t4:\n    select: {partitions: [old]}\n",
        "# A module that may be wanted: nccl/2.28\n",
        'source: "scontrol show partition, on login1"\n',
        "# Check: ",
    ):
        assert said in text, said


LIST = "PartitionName={} Default={} State=UP\n"
NODE = (
    "NodeName={} CPUTot={} RealMemory={} Gres={} Partitions={} AvailableFeatures={}\n"
)


@pytest.mark.parametrize(
    ("nodes", "selects"),
    [
        (  # by the type of GPU in one partition
            [("a", 64, 500000, "gpu:h100:4", "gpu", "x"), ("b", 72, 480000, "gpu:a100:4", "gpu", "x")],
            {"h100": {"gres": ["h100"]}, "a100": {"gres": ["a100"]}},
        ),
        (  # by partition
            [("a", 64, 500000, "gpu:a100:4", "gpu", "x"), ("b", 64, 900000, "gpu:a100:8", "big", "x")],
            {"a100x4": {"partitions": ["gpu"]}, "a100x8": {"partitions": ["big"]}},
        ),
        (  # by a feature: two memories of one type in one partition
            [("a", 64, 250000, "gpu:a100:4", "gpu", "rack1,m40"), ("b", 64, 250000, "gpu:a100:4", "gpu", "rack2,m40"),
             ("c", 64, 500000, "gpu:a100:4", "gpu", "rack1,m80")],
            {"a100x4-64c-244G": {"constraints": ["m40"]}, "a100x4-64c-488G": {"constraints": ["m80"]}},
        ),
        (  # nothing tells them apart
            [("a", 64, 250000, "gpu:a100:4", "gpu", ""), ("b", 64, 250000, "gpu:a100:4", "gpu", ""),
             ("c", 96, 250000, "gpu:a100:4", "gpu", "")],
            {"a100x4-64c": {}, "a100x4-96c": {}},
        ),
        (  # a little less memory is no other kind
            [("a", 64, 250000, "gpu:a100:4", "gpu", ""), ("b", 64, 249000, "gpu:a100:4", "gpu", "")],
            {},
        ),
        (  # nodes without GPUs are no kind
            [("a", 64, 250000, "gpu:a100:4", "gpu", ""), ("b", 64, 249000, "(null)", "gpu,cpu", "")],
            {},
        ),
        (  # types by features only: a job cannot request them by GRES
            [("a", 64, 250000, "gpu:4", "gpu", "a100"), ("b", 64, 250000, "gpu:4", "gpu", "h100")],
            {"a100": {"constraints": ["a100"]}, "h100": {"constraints": ["h100"]}},
        ),
    ],
)  # fmt: skip
def test_each_kind_of_node_is_selected_by_what_only_it_has(
    built_in: Catalog,
    nodes: list[tuple[str, int, int, str, str, str]],
    selects: dict[str, dict[str, list[str]]],
) -> None:
    names = dict.fromkeys(name for node in nodes for name in node[4].split(","))
    listed = "".join(
        LIST.format(name, "NO" if number else "YES")
        for number, name in enumerate(names)
    )
    shown = "".join(NODE.format(*node) for node in nodes)
    seen = tuple(read_site(SCHEDULERS["slurm"], "", listed, shown))
    text, profile = drafted(site(partitions=seen), built_in)
    found = {
        name: {key: list(getattr(kind, key)) for key in ("partitions", "constraints", "gres") if getattr(kind, key)}
        for name, kind in profile.nodes.items() if kind
    }  # fmt: skip
    assert found == selects
    assert profile.node
    assert ("# Check: Slurm shows nothing that selects" in text) == (
        {} in selects.values()
    )


@pytest.mark.parametrize(
    ("weights", "most", "expected"),
    [
        ("CPU=1,Mem=0.5G,GRES/gpu=32", False, ("sum", "32", "1", "0.5", None, None)),
        (
            "CPU=1,Mem=0.5G,GRES/gpu=32",
            True,
            ("largest share", "32", None, None, 32, 64),
        ),
        ("GRES/gpu:a100=2.5", False, ("sum", "2.5", None, None, None, None)),
        ("CPU=1,Mem=0.001", False, ("sum", None, "1", "1.024", None, None)),
        ("CPU=3,GRES/gpu=32", True, None),  # no whole share of cores
        ("CPU=1", True, None),
        ("CPU=nan,GRES/gpu=-3,Mem=1e99G", False, None),
        ("", False, None),
    ],
)
def test_weights_become_a_bill_where_the_format_can_say_it(
    built_in: Catalog, weights: str, most: bool, expected: tuple[object, ...] | None
) -> None:
    line = f"PartitionName=gpu Default=YES State=UP TRESBillingWeights={weights}"
    seen = tuple(
        read_site(
            SCHEDULERS["slurm"],
            "",
            line,
            "CPUTot=64 RealMemory=1000 Gres=gpu:4 Partitions=gpu",
        )
    )
    _, profile = drafted(site(partitions=seen, takes_most=most), built_in)
    bill = profile.billing
    found = bill and (
        bill.charge, bill.per_gpu, bill.per_core, bill.per_gib,
        bill.cores_per_share, bill.memory_per_share,
    )  # fmt: skip
    assert found == expected


def test_weights_that_differ_are_only_told(built_in: Catalog) -> None:
    first, *others = site().partitions
    seen = (first, *(each._replace(weights={"gpu": each.name[:1]}) for each in others))
    text, profile = drafted(site(partitions=seen), built_in)
    assert profile.billing is None
    assert "#   gpu: gpu g\n    #   long: gpu l\n" in text


@pytest.mark.parametrize(
    ("changed", "family"),
    [
        ({}, "infiniband-cuda"),
        ({"interfaces": ("hsn0", "hsn1")}, "slingshot-cuda"),
        ({"interfaces": ("hsn0",), "devices": ("/dev/kfd",)}, "slingshot-rocm"),
        ({"interfaces": ("hsn0",), "partitions": ()}, "slingshot"),
        ({"adapters": {"efa0": "EFA"}}, "efa"),
        ({"adapters": {"bnxt0": "Ethernet"}, "devices": ("/dev/kfd",)}, "roce-rocm"),
        ({"adapters": {"mlx5_0": "Ethernet"}}, "roce-cuda"),
        ({"adapters": {"mlx5_0": "Ethernet"}, "partitions": ()}, "infiniband-cuda"),
        ({"adapters": {}, "interfaces": ("ib0", "lo")}, "infiniband-cuda"),
        ({"adapters": {"a": "InfiniBand"}, "devices": ("/dev/kfd",)}, "roce-rocm"),
        ({"adapters": {}}, "infiniband-cuda"),
        ({"adapters": {}, "devices": ("/dev/kfd",)}, "roce-rocm"),
        ({"adapters": {}, "scheduler": None}, "workstation"),
    ],
)
def test_the_family_is_told_by_network_and_gpus(
    changed: dict[str, object], family: str
) -> None:
    found, why = family_of(site(**changed))
    assert found == family
    assert why


def test_a_module_is_loaded_where_no_runtime_is_on_path(built_in: Catalog) -> None:
    _, profile = drafted(site(runtimes=()), built_in)
    assert list(profile.modules) == ["apptainer/1.4"]


def test_a_cluster_that_another_profile_takes_is_only_a_comment(
    built_in: Catalog,
) -> None:
    text, profile = drafted(site(), built_in, claimed_by="lumi-g")
    assert profile.detect is None
    assert "# lumi-g takes this cluster already" in text
    assert "#   clusters: [mine]\n" in text


def test_without_gpus_all_partitions_are_told(built_in: Catalog) -> None:
    seen = site(partitions=tuple(read_partitions(PARTITIONS)))
    assert main_shape(seen) is None
    _, profile = drafted(seen, built_in)
    assert profile.node is None
    assert list(profile.partitions) == ["cpu", "gpu", "long", "old"]


def test_a_partition_must_be_named_where_none_is_the_default(built_in: Catalog) -> None:
    seen = site(
        partitions=tuple(each._replace(is_default=False) for each in site().partitions)
    )
    _, profile = drafted(seen, built_in)
    rule = profile.rules["--partition"]
    assert rule
    assert (rule.rule, rule.default) == ("must", "gpu")


def test_the_partition_with_gpus_is_taken_where_the_default_has_none(
    built_in: Catalog,
) -> None:
    changed = {"cpu": True, "gpu": False}
    seen = tuple(
        each._replace(is_default=changed.get(each.name, False))
        for each in site().partitions
    )
    _, profile = drafted(site(partitions=seen), built_in)
    rule = profile.rules["--partition"]
    assert rule
    assert rule.default == "gpu"


def test_nodes_are_counted_by_partition_and_what_a_job_can_have() -> None:
    shapes = read_nodes("slurm", SHOWN)
    assert shapes["gpu"] == (
        NodeGroup(3, 4, ("a100",), 128, 515000, is_typed=True),
        NodeGroup(2, 4, ("a100",), 128, 515000, sockets=2, is_typed=True),
    )
    features = ("fast", "a100")
    assert shapes["down"] == (NodeGroup(2, 4, ("a100",), 128, 515000, 0, features),)
    old = NodeGroup(2, 3, ("v100", "t4"), 40, 190000, is_typed=True)
    assert shapes["old"] == (old,)
    assert "off" not in shapes


def test_accounts_are_those_of_this_cluster_the_default_first() -> None:
    text = "b|a|mine\nb|b|mine\nb|c|other\nodd\n||mine\nb|$(x)|mine\n"
    assert read_accounts(text, "mine") == ("b", "a")
    assert read_accounts("", "mine") == ()


def test_where_no_network_is_seen_nothing_is_expected(built_in: Catalog) -> None:
    text, profile = drafted(site(adapters={}), built_in)
    assert profile.expect is None
    assert "expect" in profile.dropped
    assert "# No network between nodes was seen on login1" in text


@pytest.mark.parametrize("name", ["pbs", "flux"])
def test_another_scheduler_starts_ranks_by_itself(built_in: Catalog, name: str) -> None:
    _, profile = drafted(site(scheduler=name, gpus=None), built_in)
    assert profile.launchers
    assert profile.launchers[0] == name
    assert "local" in profile.launchers


TEXT = st.text(max_size=30) | st.sampled_from(
    ['"', "a: b", "# x", "null", "a\nenv: {A: 1}", "\x1b[2J", "\u202e", "$(touch x)", "\udcff", "- a"]
)  # fmt: skip


@given(TEXT, TEXT, TEXT)
def test_hostile_names_never_say_anything_else(one: str, two: str, three: str) -> None:
    partition = SeenPartition(
        one, is_default=True, shapes=(NodeGroup(1, 2, (two, three), 8, 1000),)
    )
    seen = Site(
        host=two,
        cluster=three or None,
        scheduler="slurm",
        partitions=(partition,),
        interfaces=(one, "hsn0"),
        adapters={two: "InfiniBand"},
        modules=(three, f"apptainer/{one}"),
    )
    sections = Draft(seen, claimed_by=None, today="2026-11-22").sections()
    text = "name: mine\n" + "".join(sections.values())
    assert text.replace("\n", "").isprintable()
    problems: list[Finding] = []
    profile = load_profile(
        text.encode(), path="mine.yaml", stem="mine", problems=problems
    )
    assert profile is not None
    assert [each.message for each in problems] == []
    assert profile.env == {}
    assert set(profile.modules) <= {f"apptainer/{one}"}


@given(TEXT)
def test_a_scalar_is_one_text_on_one_line(text: str) -> None:
    written = scalar(text)
    assert written.isprintable()
    assert isinstance(yaml.safe_load(f"a: {written}")["a"], (str, int))


@given(st.text())
def test_whatever_slurm_says_can_be_read(text: str) -> None:
    read_config(text)
    read_site(SCHEDULERS["slurm"], "", f"PartitionName=a {text}", f"CPUTot=1 {text}")
    for name in ("pbs", "flux"):
        read_site(SCHEDULERS[name], text, f"Queue: a\n{text}", f"a\n     {text}")
    read_accounts(text, text)
