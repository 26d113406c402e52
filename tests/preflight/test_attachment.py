"""Which NIC each GPU is attached to: from a tree of devices to the report."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from envcfg.nodes.preflight.attachment import attached_nics, attachment_text
from envcfg.nodes.preflight.node_judge import judge_nodes
from envcfg.nodes.preflight.preflight_records import Requirements
from envcfg.nodes.preflight.preflight_rows import node_facts
from envcfg.nodes.probe.node_answer import NodeAnswer, NodeReader
from envcfg.nodes.probe.probes import PREFLIGHT, SITE
from support import require

HOST = "nid001000"
# An MI250X node as RCCL has it (rome_model_63): PCI buses of GPUs and NICs, and their NUMA
# nodes. Each NIC is behind a bridge of its own; the root complex is that of its NUMA node.
GPUS = {"c1": 3, "c6": 3, "c9": 1, "ce": 1, "d1": 0, "d6": 0, "d9": 2, "de": 2}
NICS = {"c5": 3, "cd": 1, "d5": 0, "dd": 2}
ROOTS = {3: "c0", 1: "c8", 0: "d0", 2: "d8"}
NAMES = ("hsn0", "hsn0", "hsn1", "hsn1", "hsn2", "hsn2", "hsn3", "hsn3")
BUSES = tuple(GPUS)


class Tree:
    """A tree like /sys, with PCI devices at their places."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "sys/bus/pci/devices").mkdir(parents=True)
        (root / "sys/class/net/lo").mkdir(parents=True)

    def device(self, *path: str, numa: int | str, kind: str, vendor: str) -> Path:
        """Make a PCI device at the end of a *path* of addresses, and return its folder."""
        folder = self.root.joinpath("sys/devices", *path)
        folder.mkdir(parents=True)
        for name, text in {"class": kind, "vendor": vendor, "numa_node": numa}.items():
            (folder / name).write_text(f"{text}\n")
        (self.root / "sys/bus/pci/devices" / path[-1]).symlink_to(folder)
        return folder

    def gpu(self, *path: str, numa: int | str = -1, vendor: str = "0x1002") -> None:
        self.device(*path, numa=numa, kind="0x038000", vendor=vendor)

    def nic(
        self, *path: str, numa: int | str = -1, adapter: str = "", interface: str = ""
    ) -> None:
        folder = self.device(*path, numa=numa, kind="0x020000", vendor="0x17db")
        kind = "infiniband" if adapter.startswith("mlx") else "cxi"
        for place in (f"{kind}/{adapter}", f"net/{interface}"):
            if not place.endswith("/"):
                (self.root / "sys/class" / place).mkdir(parents=True)
                (self.root / "sys/class" / place / "device").symlink_to(folder)

    def answer(
        self, shell: str = "sh", script: str | None = None, *words: str
    ) -> NodeAnswer:
        """Return what the probe reports of this tree."""
        text = (script or PREFLIGHT.script()).replace("/sys/", f"{self.root}/sys/")
        argv = [*shell.split(), "-c", text, "envcfg-preflight", *words]
        env = {"PATH": "/usr/bin:/bin", "SLURMD_NODENAME": HOST}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
        reader = NodeReader((HOST,))
        for line in done.stdout.splitlines():
            assert reader.feed(line), line
        return reader.answers[HOST]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def fill_mi250x(tree: Tree, numa: bool = True) -> None:
    for bus, node in GPUS.items():
        root = f"pci0000:{ROOTS[node]}"
        tree.gpu(root, f"0000:{bus}:00.0", numa=node if numa else -1)
    for number, (bus, node) in enumerate(NICS.items()):
        root = f"pci0000:{ROOTS[node]}"
        tree.nic(
            root, f"0000:{ROOTS[node]}:05.1", f"0000:{bus}:00.0",
            numa=node if numa else -1, adapter=f"cxi{number}", interface=f"hsn{number}",
        )  # fmt: skip


@pytest.mark.parametrize("shell", ["bash", "dash", "busybox sh"])
def test_each_gcd_of_an_mi250x_has_the_nic_of_its_package(
    tree: Tree, shell: str
) -> None:
    require(shell.split(maxsplit=1)[0])
    fill_mi250x(tree)
    found = attached_nics(tree.answer(shell))
    assert [(gpu.number, gpu.address, gpu.nics) for gpu in found] == [
        (number, f"0000:{bus}:00.0", (f"{NAMES[number]} (cxi{NAMES[number][-1]})",))
        for number, bus in enumerate(BUSES)
    ]
    assert attachment_text(found) == (
        "GPU 0-1 hsn0 (cxi0), GPU 2-3 hsn1 (cxi1), GPU 4-5 hsn2 (cxi2), GPU 6-7 hsn3 (cxi3)"
    )


def test_the_tree_of_bridges_is_enough_without_numa_nodes(tree: Tree) -> None:
    fill_mi250x(tree, numa=False)
    assert [gpu.nics[0][:4] for gpu in attached_nics(tree.answer())] == list(NAMES)


def test_the_nearest_bridge_counts_before_the_numa_node(tree: Tree) -> None:
    """Two NICs on one NUMA node: that behind the GPU's own switch."""
    root, switch = "pci0000:00", "0000:00:01.0"
    tree.gpu(root, switch, "0000:01:00.0", "0000:02:00.0", numa=0, vendor="0x10de")
    tree.nic(root, "0000:00:03.0", "0000:08:00.0", numa=0, adapter="mlx5_0")
    tree.nic(root, switch, "0000:01:01.0", "0000:03:00.0", numa=0, adapter="mlx5_1")
    (gpu,) = attached_nics(tree.answer())
    assert gpu.nics == ("mlx5_1",)
    assert gpu.reason == "bridge"


def test_numa_nodes_decide_if_no_bridge_is_common(tree: Tree) -> None:
    for number in (0, 1):
        tree.gpu(f"pci0000:{number}0", f"0000:{number}1:00.0", numa=number)
        tree.nic(
            f"pci0000:{number}8",
            f"0000:{number}9:00.0",
            numa=number,
            adapter=f"cxi{number}",
        )
    found = attached_nics(tree.answer())
    assert [(gpu.nics, gpu.reason) for gpu in found] == [
        (("cxi0",), "NUMA node"),
        (("cxi1",), "NUMA node"),
    ]


@pytest.mark.parametrize("numa", [-1, "x"])
def test_nothing_is_said_if_nothing_shows_it(tree: Tree, numa: int | str) -> None:
    tree.gpu("pci0000:00", "0000:01:00.0", numa=numa)
    for number in (0, 1):
        tree.nic(
            f"pci0000:{number}8",
            f"0000:{number}9:00.0",
            numa=numa,
            adapter=f"cxi{number}",
        )
    (gpu,) = attached_nics(tree.answer())
    assert (gpu.nics, gpu.reason) == ((), "unknown")
    assert attachment_text([gpu]) == ""


def test_several_that_are_equally_near_are_all_named(tree: Tree) -> None:
    tree.gpu("pci0000:00", "0000:01:00.0", numa=0)
    for number in (0, 1):
        tree.nic(
            "pci0000:08", f"0000:0{number + 8}:00.0", numa=0, adapter=f"mlx5_{number}"
        )
    (gpu,) = attached_nics(tree.answer())
    assert gpu.nics == ("mlx5_0", "mlx5_1")


def test_a_node_without_adapters_or_gpus_has_none(tree: Tree) -> None:
    assert attached_nics(tree.answer()) == []
    tree.gpu("pci0000:00", "0000:01:00.0", numa=0)
    tree.nic("pci0000:00", "0000:02:00.0", numa=0, interface="eth0")  # no RDMA
    assert [gpu.nics for gpu in attached_nics(tree.answer())] == [()]


def wanted(nics: Sequence[str] = NAMES, buses: Sequence[str] = BUSES) -> Requirements:
    table = dict(zip(buses, nics, strict=False))
    return Requirements((HOST,), profile="lumi-g", nics=table)


def unexpected(answer: NodeAnswer, want: Requirements) -> list[str]:
    found = judge_nodes(want, {HOST: answer}, {})[HOST]
    return [each.message for each in found if each.rule == "attachment-unexpected"]


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ((0xFE, 0xFE0000), []),
        ((), []),  # the profile has none
        ((0xFE,), []),  # which GPU is it?
        (
            (0xFE0000, 0xFE00),
            [
                (
                    "masks of profile lumi-g bind ranks of GPU 0 to other CPUs than those next "
                    "to it: 0-15,64-79 for GPU 0"
                )
            ],
        ),
    ],
    ids=str,
)
def test_masks_of_the_profile_are_compared_with_the_node(
    tree: Tree, masks: tuple[int, ...], message: list[str]
) -> None:
    for bus, cpus in (("d1", "0-15,64-79"), ("d9", "0-31")):
        tree.gpu("pci0000:00", f"0000:{bus}:00.0")
        place = tree.root / f"sys/bus/pci/devices/0000:{bus}:00.0/local_cpulist"
        place.write_text(f"{cpus}\n")
    required = Requirements((HOST,), profile="lumi-g", masks=masks)
    found = judge_nodes(required, {HOST: tree.answer()}, {})[HOST]
    assert [f.message for f in found if f.rule == "masks-unexpected"] == message


def test_a_node_like_the_table_of_its_profile_has_no_finding(tree: Tree) -> None:
    fill_mi250x(tree)
    answer = tree.answer()
    assert unexpected(answer, wanted()) == []
    assert unexpected(answer, wanted((), ())) == []


def test_a_gpu_with_another_nic_than_in_the_table_is_a_warning(tree: Tree) -> None:
    fill_mi250x(tree)
    answer = tree.answer()
    other = ("hsn1", "hsn1", "hsn0", *NAMES[3:])
    (message,) = unexpected(answer, wanted(other))
    assert message == (
        "NICs of GPUs: GPU 0-1 hsn0, GPU 2 hsn1; profile lumi-g has hsn1 and hsn0"
    )


def test_an_unknown_or_unclear_attachment_is_no_finding(tree: Tree) -> None:
    tree.gpu("pci0000:00", "0000:c1:00.0", numa=-1)
    tree.nic("pci0000:08", "0000:09:00.0", numa=-1, adapter="cxi9", interface="hsn9")
    assert unexpected(tree.answer(), wanted()) == []


def test_gpus_at_other_buses_than_in_the_table_are_no_finding(tree: Tree) -> None:
    """A part of a node, or another kind of node: their numbers mean nothing."""
    tree.gpu("pci0000:00", "0000:41:00.0", numa=0)
    tree.nic("pci0000:00", "0000:42:00.0", numa=0, adapter="cxi3", interface="hsn3")
    assert unexpected(tree.answer(), wanted()) == []


def test_a_probe_of_a_system_has_a_row_for_each_gpu(tree: Tree) -> None:
    fill_mi250x(tree)
    facts = node_facts(tree.answer("sh", SITE.script(), "system"), {})
    assert facts["attached"][:2] == (
        ("0", "0000:c1:00.0", "hsn0 (cxi0)", "NUMA node"),
        ("1", "0000:c6:00.0", "hsn0 (cxi0)", "NUMA node"),
    )
    assert "pci" not in facts
