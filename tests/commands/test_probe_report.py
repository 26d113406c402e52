"""``envcfg profiles probe``: nodes' recorded answers, held against a profile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_new import bin_folder, program, slurm

from envcfg.core.profiles import show
from envcfg.core.selection import open_catalog
from envcfg.nodes.preflight.preflight_records import Facts
from envcfg.nodes.preflight.preflight_rows import node_facts
from envcfg.nodes.probe.node_answer import NodeReader, Rows
from envcfg.report.probe_report import probe_json, probe_lines
from envcfg.site.machine_facts import Site
from envcfg.site.measurement import measured, probe_document
from envcfg.site.observations import Observations
from envcfg.site.profile_comparison import Comparison, hold
from envcfg.site.unknown_cluster import draft
from schemas import errors
from support import envcfg

__all__ = ["bin_folder"]  # a fixture
HOSTS = ("nid000001", "nid000002")
WHY = "why: a test, source: a test, date: 2026-11-22"
# As a node with two GPUs and two adapters says it.
NODE = """\
memlock unlimited
network lo up -
network hsn0 up 10.253.0.1/16
network hsn1 up 10.253.1.1/16
network nmn0 up 10.120.0.1/16
kernel 6.4.0
driver nvidia 550.54.15
memory 527433728
cpus 0-63
numa 0 0-31
numa 1 32-63
rate hsn0 200000
rate hsn1 200000
adapter mlx5_0 InfiniBand ACTIVE 0 0-31 400 Gb/sec (4X NDR)
adapter mlx5_1 InfiniBand ACTIVE 1 32-63 400 Gb/sec (4X NDR)
card 0000:03:00.0 0x10de 0 0-31
card 0000:83:00.0 0x10de 1 32-63
runtime apptainer apptainer version 1.4.5
device 4 /dev/cxi*
device 0 /dev/kfd
device 2 /opt/site
device 1 /dev/nvidiactl
device 0 /dev/cxi0
folder yes 99999999 /tmp
kind xfs /tmp
speed 268435456 100.00 100.50 /tmp
variable CUDA_VISIBLE_DEVICES 0,1
end
"""
JOB = {
    "starter": (("srun",),),
    "cluster": (("mine",),),
    "scheduler": (("slurm", "slurm 24.05.3"),),
    "shape": (("2", "2", "64", "512000", "h100"),),
    "partition": (("gpu", "-", "2-00:00:00", "exclusive"), ("short", "4", "1:00:00", "shared")),
    "collective": (("nccl", "2.6.0", "12.4", "4"),),
    "sum": (("65536", "0.000100", "1.00"), ("536870912", "0.005000", "90.50")),
    "carried": (("IB", "4"),),
    "gdr": (("yes",),),
}  # fmt: skip


def node(host: str, *changes: tuple[str, str]) -> Facts:
    text = NODE
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    reader = NodeReader(HOSTS)
    for line in text.splitlines():
        assert reader.feed(f"envcfg-node {host} {line}\n"), line
    return node_facts(reader.answers[host], {"scratch": "/tmp", "TMPDIR": "/tmp"})


def seen(*changes: tuple[str, str], **job: Rows) -> Observations:
    """Two nodes, of which the second says what *changes* make of it."""
    return Observations({**JOB, **job}, (node(HOSTS[0]), node(HOSTS[1], *changes)))


def held(
    folder: Path, text: str, what: Observations
) -> Mapping[tuple[str, str], Comparison]:
    path = folder / "x.yaml"
    path.write_text(f"name: x\n{text}\n")
    view = show(open_catalog(), str(path), facts={}, image="none")
    return {(each.section, each.name): each for each in hold(view, what)}


NODE_BLOCK = f"node: {{gpus: 2, cores_per_gpu: 30, memory_per_gpu: 240G, nics: [hsn0, hsn1], {WHY}}}"
LANE = f"expect: {{networks: [IB], nics: 2, gdr: true, bandwidth: 100, interfaces: [hsn0], devices: [/dev/cxi*], {WHY}}}"
IFNAME = f"env: {{NCCL_SOCKET_IFNAME: {{value: '%s', {WHY}}}}}"
DOWN = ("network hsn1 up", "network hsn1 down")
MASKS = f"launch: {{cpu_masks: {{masks: [%s], {WHY}}}}}"
YES, NO, OPEN = "confirmed", "contradicted", "not seen"


@pytest.mark.parametrize(
    ("text", "what", "key", "verdict", "said"),
    [
        (NODE_BLOCK, seen(), "node gpus", YES, "2 in a node"),
        (NODE_BLOCK.replace("gpus: 2", "gpus: 4"), seen(), "node gpus", NO, "2 in a node"),
        (NODE_BLOCK, seen(shape=()), "node gpus", OPEN, ""),
        (NODE_BLOCK, seen(), "node cores_per_gpu", YES, "64 cores in a node, 32 for each"),
        (NODE_BLOCK.replace("30", "33"), seen(), "node cores_per_gpu", NO, "32 for each"),
        (NODE_BLOCK.replace("30", "3"), seen(), "node cores_per_gpu", NO, "32 for each"),
        (NODE_BLOCK, seen(), "node memory_per_gpu", YES, "512000 MiB"),
        (NODE_BLOCK.replace("240G", "300G"), seen(), "node memory_per_gpu", NO, "256000 for"),
        (NODE_BLOCK, seen(), "node nics", YES, "up on every node"),
        (NODE_BLOCK, seen(DOWN), "node nics", NO, "hsn1 not up on every node"),
        (NODE_BLOCK.replace("hsn0, hsn1", "mlx5_0"), seen(), "node nics", YES, "up on"),
        (NODE_BLOCK.replace("hsn0, hsn1", "mlx5_0"), seen(("_0 InfiniBand ACTIVE", "_0 InfiniBand DOWN")), "node nics", NO, "mlx5_0"),
        ("detect: {clusters: ['m*e']}", seen(), "detect clusters", YES, "mine"),
        ("detect: {clusters: [other]}", seen(), "detect clusters", NO, "mine"),
        ("detect: {interfaces: ['hsn*', 'ib*']}", seen(), "detect interfaces", NO, "hsn0"),
        ("detect: {hosts: ['login*']}", seen(), "detect hosts", OPEN, ""),
        (f"request: {{scheduler: flux, {WHY}}}", seen(), "request scheduler", NO, "slurm"),
        (f"request: {{partitions: {{gpu: {{time: 48:00:00, {WHY}}}}}}}", seen(), "partitions gpu", YES, "time 2-"),
        (f"request: {{partitions: {{gpu: {{nodes: 8, {WHY}}}}}}}", seen(), "partitions gpu", OPEN, "nodes -"),
        (f"request: {{partitions: {{short: {{nodes: 8, {WHY}}}}}}}", seen(), "partitions short", NO, "nodes 4"),
        (f"request: {{partitions: {{short: {{exclusive: true, {WHY}}}}}}}", seen(), "partitions short", NO, "shared"),
        (f"request: {{partitions: {{old: {{nodes: 8, {WHY}}}}}}}", seen(), "partitions old", NO, "no such partition"),
        (MASKS % "0xffff, 0xffff00000000", seen(), "cpu_masks masks", YES, "next to its GPU"),
        (MASKS % "0xffff00000000, 0xffff", seen(), "cpu_masks masks", NO, "next to GPU 0 are the CPUs 0-31"),
        (MASKS % "0xff0000000000000000, 0xf", seen(), "cpu_masks masks", NO, "no CPU 64: a node has 64"),
        (MASKS % "0xf", seen(), "cpu_masks masks", OPEN, "shows 2 GPUs"),
        (f"visibility: {{variable: CUDA_VISIBLE_DEVICES, clear: [], {WHY}}}", seen(), "visibility variable", YES, "CUDA"),
        (f"visibility: {{variable: ROCR_VISIBLE_DEVICES, clear: [], {WHY}}}", seen(), "visibility variable", NO, "CUDA"),
        (f"rendezvous: {{interface: hsn1, {WHY}}}", seen(), "rendezvous interface", YES, "10.253.0.0/16"[:3]),
        (f"rendezvous: {{interface: hsn1, {WHY}}}", seen(DOWN), "rendezvous interface", NO, "every node"),
        (f"scratch: {{root: /tmp, {WHY}}}", seen(), "scratch root", YES, "537 MB/s; xfs"),
        (f"scratch: {{root: /tmp, {WHY}}}", seen(("folder yes", "folder no")), "scratch root", NO, "no file"),
        (f"scratch: {{root: /tmp, in_memory: true, {WHY}}}", seen(), "scratch in_memory", NO, "xfs"),
        ("container: {runtimes: [singularity, apptainer]}", seen(), "runtimes ", YES, "apptainer"),
        ("container: {runtimes: [podman-hpc]}", seen(), "runtimes ", NO, "apptainer"),
        (f"container: {{binds: {{/opt/site: {{{WHY}}}}}}}", seen(), "binds /opt/site", YES, "every node"),
        (f"container: {{binds: {{/dev/kfd: {{{WHY}}}}}}}", seen(), "binds /dev/kfd", NO, "not on every"),
        (f"container: {{binds: {{/dev/kfd: {{if_exists: true, {WHY}}}}}}}", seen(), "binds /dev/kfd", OPEN, "not on"),
        (IFNAME % "hsn", seen(), "env NCCL_SOCKET_IFNAME", YES, "hsn0"),
        (IFNAME % "hsn0,hsn9", seen(), "env NCCL_SOCKET_IFNAME", OPEN, "hsn0"),
        (IFNAME % "=hsn", seen(), "env NCCL_SOCKET_IFNAME", NO, "hsn0"),
        (IFNAME % "^nmn0", seen(), "env NCCL_SOCKET_IFNAME", OPEN, ""),
        (LANE, seen(), "expect networks", YES, "IB"),
        (LANE, seen(carried=(("Socket", "4"),)), "expect networks", NO, "Socket"),
        (LANE, seen(carried=()), "expect networks", OPEN, ""),
        (LANE, seen(gdr=(("no",),)), "expect gdr", NO, "no"),
        (LANE, seen(gdr=(("unknown",),)), "expect gdr", OPEN, ""),
        (LANE, seen(), "expect bandwidth", YES, "90.5 GB/s"),
        (LANE.replace("bandwidth: 100", "bandwidth: 200"), seen(), "expect bandwidth", NO, "90.5"),
        (LANE, seen(collective=(("gloo", "2.6.0", "cpu", "4"),)), "expect bandwidth", OPEN, ""),
        (LANE, seen(collective=(("nccl", "2.6.0", "12.4", "2"),)), "expect bandwidth", OPEN, ""),
        (LANE, seen(), "expect nics", YES, "2"),
        (LANE.replace("nics: 2", "nics: 4"), seen(), "expect nics", NO, "2"),
        (LANE, seen(), "expect devices", YES, "every node"),
        (LANE.replace("cxi*", "kfd"), seen(), "expect devices", NO, "/dev/kfd"),
        (LANE, Observations(JOB, ()), "expect devices", OPEN, ""),
    ],
)  # fmt: skip
def test_a_value_is_held_against_what_nodes_say(
    tmp_path: Path, text: str, what: Observations, key: str, verdict: str, said: str
) -> None:
    section, _, name = key.partition(" ")
    found = held(tmp_path, text, what)[section, name]
    assert (found.verdict, said in found.seen) == (verdict, True), found


def test_a_value_whose_condition_does_not_hold_is_not_seen(tmp_path: Path) -> None:
    text = (
        f"env: {{NCCL_SOCKET_IFNAME: {{value: ib, when: {{container: 'a*'}}, {WHY}}}}}"
    )
    found = held(tmp_path, text, seen())["env", "NCCL_SOCKET_IFNAME"]
    assert (found.verdict, found.place.line) == ("not seen", 2)


def test_torn_answers_say_nothing(tmp_path: Path) -> None:
    reader = NodeReader(HOSTS)
    lines = ("card", "card 0000", "cpus", "cpus x", "adapter a b", "memory x", "speed 1", "speed a b c /tmp", "rate x", "network a up 10.0.0.1/99", "folder yes", "device 1", "end")  # fmt: skip
    for line in lines:
        reader.feed(f"envcfg-node {HOSTS[0]} {line}\n")
    facts = node_facts(reader.answers[HOSTS[0]], {"scratch": "/tmp"})
    assert facts["network"] == (("a", "up", "unknown", "-"),)
    assert {"folder", "card", "adapter"} & facts.keys() == set()
    text = f"{NODE_BLOCK}\nlaunch: {{cpu_masks: {{masks: ['0xf'], {WHY}}}}}"
    found = held(tmp_path, text, Observations({}, (facts,)))
    assert {each.verdict for each in found.values()} == {"not seen", "contradicted"}
    assert measured(Site("x"), Observations({}, (facts,))).masks == ()


@pytest.mark.usefixtures("bin_folder")
def test_what_nodes_say_makes_a_profile_that_they_confirm(tmp_path: Path) -> None:
    site = measured(Site("login1", cluster="mine", scheduler="slurm"), seen())
    assert site.masks == ("0xffffffff", "0xffffffff00000000")
    text = draft(open_catalog(), "here-mine", None, site)
    path = tmp_path / "here-mine.yaml"
    path.write_text(text)
    assert envcfg("profiles", "validate", str(path)).code == 0
    for line in (
        "extends: slingshot-cuda",
        "masks: [0xffffffff, 0xffffffff00000000]",
        'root: "${TMPDIR:-/tmp}"\n  in_memory: false',
        "why: \"256 MiB were written at 537 MB/s; the file system is xfs\"",
        "bandwidth: 90",
        "runtimes: [apptainer]",
        'source: "stat -f, measured here"',
    ):  # fmt: skip
        assert line in text, line
    view = show(open_catalog(), str(path), facts={}, image="none")
    what = seen(carried=(("AWS Libfabric", "4"),))
    wrong = [each for each in hold(view, what) if each.verdict == "contradicted"]
    assert wrong == []


def report(
    folder: Path, text: str, what: Observations, **private: str
) -> dict[str, Any]:
    """Write x.yaml, and what a probe says of it to x.json; return the document."""
    found = held(folder, text, what)
    catalog = open_catalog()
    catalog.load(str(folder / "x.yaml"))
    document = probe_document(
        ("x", catalog.digest()), {}, what, [*found.values()], private
    )
    (folder / "x.json").write_text(probe_json(document))
    return document


def test_a_report_names_nobody(tmp_path: Path) -> None:
    private = {"/home/ada": "~", "nid000001": "node 1", "/ada": "/user", "p_465": "account", "root": "user"}  # fmt: skip
    rows = (("/home/ada/x", "at nid000001:1", "/scratch/p_465/ada/y", "p_465", "snid000001", "rooted"),)  # fmt: skip
    document = report(tmp_path, NODE_BLOCK, seen(odd=rows), **private)
    assert document["job"]["odd"] == [["~/x", "at node 1:1", "/scratch/account/user/y", "account", "snid000001", "rooted"]]  # fmt: skip
    assert "/home/ada" not in probe_json(document)
    lines = [line for _, line in probe_lines(document)]
    assert lines[0] == "profile x: 0 contradicted, 4 confirmed, 0 not seen"


def test_on_a_login_node_a_job_is_submitted(bin_folder: Path) -> None:
    slurm(bin_folder)
    program(bin_folder, "sbatch", "echo Submitted batch job 7")
    sent = envcfg("profiles", "probe", "--account", "p1")
    assert sent.code == 0, sent.err
    text = (bin_folder.parent / "envcfg-probe-7.sh").read_text()
    assert "#SBATCH --nodes=2\n" in text
    assert "#SBATCH --time=10\n" in text or "#SBATCH --time=00:10:00\n" in text
    path = bin_folder.parent / "probe-here-mine.json"
    assert f"\nenvcfg profiles probe --no-default all --profile user:here-mine --container none -o {path}\n" in text  # fmt: skip
    assert f"its report is {path}" in sent.err


def test_this_machine_alone_needs_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = envcfg(
        "profiles", "probe", "--profile", "workstation", "--launcher", "local"
    )
    assert done.code in {0, 1}, done.err
    text = (tmp_path / "probe-workstation.json").read_text()
    assert errors("profiles-probe", text) == []
    document = json.loads(text)
    assert document["job"]["starter"] == [["local"]]
    assert document["nodes"][0]["cpus"]
    assert envcfg("profiles", "probe", "--profile", "workstation", "--launcher", "local", "-o", "a.txt").code in {0, 1}  # fmt: skip
