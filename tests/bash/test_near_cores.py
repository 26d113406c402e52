"""The cores next to each GPU, from trees of /sys and /proc as known systems have them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from support import ROOT, Wrap, bash, zero_separated

MODULES = ROOT / "envcfg/job/script/modules"
ASK = """
set -euo pipefail
envcfg_note() { echo "note: $1"; }
ENVCFG_SRUN=() ENVCFG_ARGS=() ENVCFG_CPU_MASKS='' ENVCFG_CPU_MASKS_UNION='' ENVCFG_CPU_LISTS='' ENVCFG_UNBOUND=''
eval "$3"
envcfg_near_cores "$1" || ENVCFG_CPU_MASKS=''
if [[ -n $ENVCFG_CPU_MASKS$ENVCFG_UNBOUND ]] && envcfg_may_pin "$2"; then
  echo "$ENVCFG_CPU_MASKS"
  envcfg_set_threads
  echo "$ENVCFG_CPU_LISTS ${ENVCFG_ARGS[*]}"
  envcfg_tell_cores
fi
exit 0
"""


class Node(NamedTuple):
    """A node: its cores, its GPUs, and what a job has of both."""

    cores: int  # physical; the second thread of core N is CPU N + cores
    threads: int
    vendor: str
    # PCI address and CPUs next to it, in the order of the GPUs.
    gpus: Sequence[tuple[str, str]]
    job: str  # the CPUs of the job
    expected: Sequence[str]  # the CPUs of each rank; empty: not bound


def spread(text: str) -> set[int]:
    """Return the numbers of a list of ranges."""
    parts = [part.partition("-") for part in text.split(",") if part]
    return {n for a, _, b in parts for n in range(int(a), int(b or a) + 1)}


def pairs(*places: str) -> list[tuple[str, str]]:
    """Return addresses and CPUs of lines ``address CPUs``."""
    return [(a, cpus) for a, cpus in (place.split() for place in places)]


BARDPEAK = pairs(
    *("0000:c1:00.0 48-63,112-127", "0000:c6:00.0 48-63,112-127"),
    *("0000:c9:00.0 16-31,80-95", "0000:ce:00.0 16-31,80-95"),
    *("0000:d1:00.0 0-15,64-79", "0000:d6:00.0 0-15,64-79"),
    *("0000:d9:00.0 32-47,96-111", "0000:de:00.0 32-47,96-111"),
)
ALL_BUT_FIRST = ",".join(f"{first + 1}-{first + 7}" for first in range(0, 64, 8))
BARDPEAK_SHARES = "49-55 57-63 17-23 25-31 1-7 9-15 33-39 41-47".split()
TWO_SOCKETS = [
    *(f"0000:{bus}:00.0 0-55,112-167" for bus in ("1b", "43", "52", "61")),
    *(f"0000:{bus}:00.0 56-111,168-223" for bus in ("9d", "c3", "d1", "df")),
]
PCIE = [
    *(f"0000:{bus}:00.0 0-31,64-95" for bus in ("01", "25", "41", "61")),
    *(f"0000:{bus}:00.0 32-63,96-127" for bus in ("81", "a1", "c1", "e1")),
]
NODES = {
    # docs.lumi-supercomputer.eu, "Distribution and binding": table of GCDs and CCDs;
    # the first core of each CCD is reserved
    "LUMI": Node(64, 2, "amd", BARDPEAK, ALL_BUT_FIRST, BARDPEAK_SHARES),
    # docs.olcf.ornl.gov, Frontier User Guide, "Frontier Compute Nodes"; --threads-per-core=2
    "Frontier": Node(
        *(64, 2, "amd", BARDPEAK),
        ALL_BUT_FIRST + "," + ",".join(f"{f + 65}-{f + 71}" for f in range(0, 64, 8)),
        [
            f"{share},{int(share.split('-')[0]) + 64}-{int(share.split('-')[1]) + 64}"
            for share in BARDPEAK_SHARES
        ],
    ),
    # docs.nersc.gov, "Perlmutter affinity": nvidia-smi topo -m
    "Perlmutter": Node(
        *(64, 2, "nvidia"),
        pairs(
            *("0000:03:00.0 48-63,112-127", "0000:41:00.0 32-47,96-111"),
            *("0000:82:00.0 16-31,80-95", "0000:c1:00.0 0-15,64-79"),
        ),
        "0-127",
        ["48-63,112-127", "32-47,96-111", "16-31,80-95", "0-15,64-79"],
    ),
    # docs.cscs.ch, "GH200 node": NUMA nodes 0 to 3, each with 72 cores and one GPU
    "GH200": Node(
        *(288, 1, "nvidia"),
        [
            (f"{domain}:01:00.0", f"{72 * n}-{72 * n + 71}")
            for n, domain in enumerate(("0009", "0019", "0029", "0039"))
        ],
        "0-287",
        ["0-71", "72-143", "144-215", "216-287"],
    ),
    # https://github.com/ishandhanani/srt-slurm/pull/164: two GPUs on each of two CPUs
    "GB200": Node(
        *(144, 1, "nvidia"),
        pairs(
            *("0008:01:00.0 0-71", "0009:01:00.0 0-71"),
            *("0018:01:00.0 72-143", "0019:01:00.0 72-143"),
        ),
        "0-143",
        ["0-35", "36-71", "72-107", "108-143"],
    ),
    # docs.nvidia.com, DGX H100 User Guide: two CPUs of 56 cores, four GPUs on each
    "DGX H100": Node(
        *(112, 2, "nvidia", pairs(*TWO_SOCKETS), "0-223"),
        [f"{14 * n}-{14 * n + 13},{14 * n + 112}-{14 * n + 125}" for n in range(8)],
    ),
    # two CPUs of 32 cores, GPUs in PCIe slots; the job has only the first threads
    "PCIe server": Node(
        *(64, 2, "nvidia", pairs(*PCIE), "0-63"),
        [f"{8 * n}-{8 * n + 7}" for n in range(8)],
    ),
    # a VM shows one NUMA node: equal shares, no nearness
    "VM": Node(
        *(48, 2, "nvidia"),
        [(f"0000:00:{n + 4:02x}.0", "0-95") for n in range(8)],
        "0-95",
        [f"{6 * n}-{6 * n + 5},{6 * n + 48}-{6 * n + 53}" for n in range(8)],
    ),
    # docs.alcf.anl.gov, Aurora: GPUs of Intel, which no file here names
    "Aurora": Node(104, 2, "intel", [], "1-51,53-103", []),
}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def build(root: Path, node: Node) -> None:
    """Write the files of /sys, /proc and /dev of *node*."""
    system = root / "sys/devices/system/cpu"
    write(system / "online", f"0-{node.cores * node.threads - 1}")
    for cpu in range(node.cores * node.threads):
        both = [cpu % node.cores + n * node.cores for n in range(node.threads)]
        place = system / f"cpu{cpu}/topology/thread_siblings_list"
        write(place, ",".join(map(str, both)))
    for number, (address, near) in enumerate(node.gpus):
        write(root / f"sys/bus/pci/devices/{address}/local_cpulist", near)
        if node.vendor == "nvidia":
            facts = f"Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-x\nDevice Minor: \t {number}"
            write(root / f"proc/driver/nvidia/gpus/{address}/information", facts)
            write(root / f"dev/nvidia{number}", "")
        else:
            bus = int(address[5:7], 16) << 8
            facts = f"cpu_cores_count 0\nsimd_count 440\nlocation_id {bus}\ndomain 0"
            place = root / f"sys/class/kfd/kfd/topology/nodes/{number + 4}/properties"
            write(place, f"{facts}\ngfx_target_version 90010")
    if node.vendor == "amd":
        for number in range(4):
            place = root / f"sys/class/kfd/kfd/topology/nodes/{number}/properties"
            write(place, "cpu_cores_count 32\nsimd_count 0\nlocation_id 0\ndomain 0")
    cgroup = "/system.slice/slurmstepd.scope/job_7"
    write(root / "proc/self/cgroup", f"0::{cgroup}/step_batch/user/task_0")
    write(root / f"sys/fs/cgroup{cgroup}/cpuset.cpus.effective", node.job)


def ask(root: Path, tasks: int, **env: str) -> str:
    """Return the masks, or the note."""
    return ask_all(root, tasks, **env)[0]


def ask_all(root: Path, tasks: int, **env: str) -> list[str]:
    """Return the masks, the lists with the threads of a rank, and the note on them."""
    files = [MODULES / "cpu_lists.sh", MODULES / "srun/cores.sh"]
    text = "".join(path.read_text() for path in files)
    text = text.replace('"/sys/devices', f'"{root}/sys/devices')
    known = {"SLURM_JOB_ID": "7", "ENVCFG_JOB_NODES": "1", "ENVCFG_NODE_CORES": ""}
    done = subprocess.run(
        ["/bin/bash", "-c", ASK, "ask", str(root), str(tasks), text],
        env={"PATH": "", **known, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.splitlines() or [""]


def cpus_of(masks: str) -> list[set[int]]:
    """Return the CPUs of each mask."""
    bits = [int(mask, 16) for mask in masks.split(",") if mask]
    return [{n for n in range(mask.bit_length()) if mask >> n & 1} for mask in bits]


@pytest.mark.parametrize("name", NODES)
def test_each_rank_gets_its_share_next_to_its_gpu(name: str, tmp_path: Path) -> None:
    node = NODES[name]
    build(tmp_path, node)
    masks = ask(tmp_path, len(node.gpus))
    assert cpus_of(masks) == [spread(share) for share in node.expected]


THREADS = {"LUMI": 7, "Frontier": 7, "GH200": 72, "DGX H100": 14, "VM": 6}


@pytest.mark.parametrize("name", THREADS)
def test_openmp_has_a_thread_for_each_core_of_a_rank(name: str, tmp_path: Path) -> None:
    node = NODES[name]
    build(tmp_path, node)
    _, text, note = ask_all(tmp_path, len(node.gpus))
    assert text == f"{':'.join(node.expected)} OMP_NUM_THREADS={THREADS[name]}"
    assert f"0: {node.expected[0]}; 1: {node.expected[1]}; 2: " in note
    own = ask_all(tmp_path, len(node.gpus), OMP_NUM_THREADS="3")[1]
    assert own == f"{':'.join(node.expected)} "


def test_lumis_masks_are_those_of_its_documentation(tmp_path: Path) -> None:
    text = (ROOT / "profiles/lumi-g.yaml").read_text().partition("cpu_masks:")[2]
    known = [line.split()[1] for line in text.splitlines()[2:10]]
    build(tmp_path, NODES["LUMI"])
    assert cpus_of(ask(tmp_path, 8)) == cpus_of(",".join(known))


CHOOSE = """
set -euo pipefail
envcfg_note() { echo "note: $1"; }
ENVCFG_SRUN=() ENVCFG_UNBOUND='' ENVCFG_CPU_LISTS=0:1 ENVCFG_CPU_MASKS=0x1,0x2 ENVCFG_CPU_MASKS_UNION=3
eval "$1"
envcfg_owns_cores() { [[ $OWNS == yes ]]; }
envcfg_near_cores() { ENVCFG_CPU_MASKS=0x4 ENVCFG_CPU_LISTS=2; [[ $READABLE == yes ]]; }
envcfg_find_cores
envcfg_find_cores # a second step of the job
if envcfg_may_pin "$TASKS"; then echo "$ENVCFG_CPU_MASKS $ENVCFG_CPU_LISTS"; fi
"""


@pytest.mark.parametrize(
    ("owns", "readable", "tasks", "expected"),
    [
        ("yes", "yes", "2", "0x1,0x2 0:1"),
        ("no", "yes", "1", "0x4 2"),
        (*("no", "yes", "2"), "note: ranks are not bound to the cores next to their GPUs: 2 ranks per node, but 1 GPUs"),
        (*("no", "no", "2"), "note: ranks are not bound to the cores next to their GPUs: this job does not own all of these cores"),
    ],
)  # fmt: skip
def test_a_part_of_the_node_gets_the_cores_of_its_own_gpus(
    owns: str, readable: str, tasks: str, expected: str
) -> None:
    files = ("cpu_lists.sh", "masks.sh", "srun/cores.sh")
    text = "".join((MODULES / file).read_text() for file in files)
    env = {"OWNS": owns, "READABLE": readable, "TASKS": tasks, "SLURMD_NODENAME": "n1"}
    done = subprocess.run(
        ["/bin/bash", "-c", CHOOSE, "choose", text],
        env={"PATH": "", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", f"{expected}\n")


WHOLE = {"ENVCFG_JOB_NODES": "2", "SLURM_JOB_CPUS_PER_NODE": "224(x2)"}
UNSURE: dict[str, tuple[dict[str, str], str]] = {
    "part of two nodes": (
        {**WHOLE, "SLURM_JOB_CPUS_PER_NODE": "224,64"},
        "several nodes",
    ),
    "a mask of UUIDs": (
        {"CUDA_VISIBLE_DEVICES": "GPU-1,GPU-2"},
        "CUDA_VISIBLE_DEVICES",
    ),
    "other GPUs": ({"CUDA_VISIBLE_DEVICES": "4,5,6,7"}, "CUDA_VISIBLE_DEVICES"),
    "a GPU for each task": ({"SLURM_GPUS_PER_TASK": "1"}, "its own GPUs"),
    "a GPU among what each task has": (
        {"SLURM_TRES_PER_TASK": "cpu=14,gres/gpu=1"},
        "its own GPUs",
    ),
    "a bound GPU": ({"SLURM_TRES_BIND": "gres/gpu:single:1"}, "its own GPUs"),
}


@pytest.mark.parametrize("case", UNSURE)
def test_without_certainty_ranks_stay_unbound(case: str, tmp_path: Path) -> None:
    env, reason = UNSURE[case]
    build(tmp_path, NODES["DGX H100"])
    note = ask(tmp_path, 8, **env)
    assert note.startswith(
        "note: ranks are not bound to the cores next to their GPUs: "
    )
    assert reason in note


@pytest.mark.parametrize("cores", ["cpu=14", "cpu:14"])
def test_cores_of_a_task_alone_leave_ranks_bound(cores: str, tmp_path: Path) -> None:
    # Slurm 23.11 and newer sets this for --cpus-per-task, too.
    build(tmp_path, NODES["DGX H100"])
    assert len(cpus_of(ask(tmp_path, 8, SLURM_TRES_PER_TASK=cores))) == 8


def test_whole_nodes_are_bound(tmp_path: Path) -> None:
    build(tmp_path, NODES["DGX H100"])
    assert len(cpus_of(ask(tmp_path, 8, **WHOLE))) == 8
    # The profile knows that these are all cores that jobs can have.
    build(tmp_path / "lumi", NODES["LUMI"])
    some = {**WHOLE, "SLURM_JOB_CPUS_PER_NODE": "112(x2)"}
    assert "several nodes" in ask(tmp_path / "lumi", 8, **some)
    assert len(cpus_of(ask(tmp_path / "lumi", 8, **some, ENVCFG_NODE_CORES="56"))) == 8


def test_gpus_outside_of_the_cgroup_do_not_count(tmp_path: Path) -> None:
    build(tmp_path, NODES["DGX H100"]._replace(job="56-111"))
    for number in range(6):
        (tmp_path / f"dev/nvidia{number}").unlink()
    shares = [set(range(56, 84)), set(range(84, 112))]
    assert cpus_of(ask(tmp_path, 2, CUDA_VISIBLE_DEVICES="0,1")) == shares
    assert "2 GPUs" in ask(tmp_path, 4)


def test_too_few_cores_or_unequal_gpus(tmp_path: Path) -> None:
    build(tmp_path, NODES["DGX H100"]._replace(job="0-2,56-111"))
    assert "too few cores" in ask(tmp_path, 8)
    # Cores that the scheduler took from one side: near cores would cost most of them.
    build(tmp_path, NODES["DGX H100"]._replace(job="0-7,56-111"))
    assert "too few cores" in ask(tmp_path, 8)
    build(tmp_path, NODES["DGX H100"])
    place = tmp_path / "proc/driver/nvidia/gpus/0000:1b:00.0/information"
    place.write_text("Model: NVIDIA T4\nDevice Minor: 0\n")
    assert "not equal" in ask(tmp_path, 8)


def test_cores_of_a_narrowed_task_are_not_those_of_the_job(tmp_path: Path) -> None:
    build(tmp_path, NODES["DGX H100"])
    write(tmp_path / "proc/self/cgroup", "0::/")
    write(tmp_path / "proc/self/status", "Cpus_allowed_list:\t0-223")
    assert len(cpus_of(ask(tmp_path, 8))) == 8
    assert "cores on this node are unknown" in ask(tmp_path, 8, SLURM_STEP_ID="0")


def test_the_first_version_of_cgroups(tmp_path: Path) -> None:
    build(tmp_path, NODES["DGX H100"])
    write(
        tmp_path / "proc/self/cgroup",
        "4:cpuset,cpu:/slurm/uid_0/job_7/step_batch\n0::/",
    )
    write(tmp_path / "sys/fs/cgroup/cpuset/slurm/uid_0/job_7/cpuset.cpus", "0-111")
    assert cpus_of(ask(tmp_path, 8))[0] == set(range(14))


def on_node(text: str, root: Path) -> str:
    """Return a script that reads the files of a node below *root*, in the job of the fakes."""
    build(root, NODES["DGX H100"])
    job = os.environ["SLURM_JOB_ID"]
    place = root / "proc/self/cgroup"
    place.write_text(place.read_text().replace("job_7", f"job_{job}"))
    groups = root / "sys/fs/cgroup/system.slice/slurmstepd.scope"
    (groups / "job_7").rename(groups / f"job_{job}")
    text = text.replace("envcfg_near_cores ''", f"envcfg_near_cores {root}")
    text = text.replace('"/sys/devices', f'"{root}/sys/devices')
    return f"set -euo pipefail\n{text}"


ONE_NODE = {"SLURMD_NODENAME": "n1", "SLURM_GPUS_ON_NODE": "8", "SLURM_NNODES": "1"}


@pytest.mark.parametrize(
    ("env", "bound"),
    [
        ({}, True),
        ({"SLURM_CPU_BIND": "none"}, False),
        ({"SLURM_NTASKS_PER_NODE": "2"}, False),
        ({"SLURMD_NODENAME": ""}, False),  # the shell of salloc, on a login node
    ],
    ids=str,
)
def test_srun_gets_the_masks(
    wrap: Wrap, fakes: Path, tmp_path: Path, env: dict[str, str], bound: bool
) -> None:
    program = ("bash", "-c", 'echo "threads ${OMP_NUM_THREADS-}"')
    made = wrap("--profile", "infiniband-cuda", "--container", "none", "--", *program)
    done = bash(on_node(made.text, tmp_path / "node"), **{**ONE_NODE, **env})
    assert done.returncode == 0, done.stderr.decode()
    words = [word.decode() for word in zero_separated(fakes / "srun")]
    given = [word for word in words if word.startswith("--cpu-bind")]
    assert len(given) == bound
    for word in given:
        masks = word.removeprefix("--cpu-bind=mask_cpu:")
        shares = NODES["DGX H100"].expected
        assert cpus_of(masks) == [spread(share) for share in shares]
    threads = "threads 14" if bound else "threads "
    assert set(done.stdout.decode().splitlines()) == {threads}


@pytest.mark.parametrize(
    ("command", "env", "note"),
    [
        (("vllm", "serve", "m"), {}, "0: 0-13,112-125; 1: 14-27,126-139; 2: "),
        (("accelerate", "config"), {}, ""),  # it runs once, and needs no cores
        (("vllm", "serve", "m"), {"SLURM_CPU_BIND": "none"}, ""),
    ],
    ids=str,
)
def test_a_program_that_starts_its_processes_gets_a_note_with_the_cores(
    wrap: Wrap,
    fakes: Path,
    tmp_path: Path,
    command: Sequence[str],
    env: dict[str, str],
    note: str,
) -> None:
    launcher = () if command[0] == "vllm" else ("--launcher", "once")
    options = ("--profile", "infiniband-cuda", "--container", "none", *launcher)
    made = wrap(*options, "--", *command)
    done = bash(on_node(made.text, tmp_path / "node"), **{**ONE_NODE, **env})
    assert ("next to each GPU" in done.stderr.decode()) is bool(note)
    assert note in done.stderr.decode()
    assert not [word for word in zero_separated(fakes / "srun") if b"bind" in word]
