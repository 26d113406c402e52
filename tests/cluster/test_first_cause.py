"""Who ended first: real jobs that die, judged by what stands in Slurm's output file.

All jobs run at once, as many as the machine bears; the tests read their logs. Without
``gloo`` a job's ranks import no PyTorch, and only wait until the launcher ends them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cluster import Cluster
from suites import NIGHTLY
from support import envcfg

FULL = "/tmp/envcfg-full"
ONE, TWO = ("-N1", "--ntasks-per-node=1"), ("-N2", "--ntasks-per-node=1")
# Four at a time on each node.
OPTIONS = ("--partition=small-g", "--mem=120G", "--time=3")
# ulimit is what a rank hits that takes 1 TB; PyTorch needs some GB of addresses.
BEGIN = """\
#!/bin/bash
set -u
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
export MASTER_ADDR=${hosts[0]} MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
export GLOO_SOCKET_IFNAME=hsn0 OMP_NUM_THREADS=1 DS_ACCELERATOR=cpu
ulimit -v 16777216
"""
RANK = "sh -c 'RANK=$SLURM_PROCID WORLD_SIZE=4 exec python3 $PROGRAM"
TORCHRUN = (
    "torchrun --nnodes $SLURM_NNODES --nproc-per-node $((4 / SLURM_NNODES)) --rdzv-id 1 "
    "--rdzv-backend c10d --rdzv-endpoint $MASTER_ADDR:$MASTER_PORT $PROGRAM"
)
ACCELERATE = (
    "sh -c 'exec accelerate launch --multi_gpu --num_processes 4 --num_machines $SLURM_NNODES "
    "--machine_rank $SLURM_NODEID --main_process_ip $MASTER_ADDR "
    "--main_process_port $MASTER_PORT $PROGRAM"
)
DEEPSPEED = (
    "sh -c 'exec deepspeed --no_ssh --hostfile hosts$SLURM_NNODES --node_rank $SLURM_NODEID "
    "--master_addr $MASTER_ADDR --master_port $MASTER_PORT $PROGRAM"
)
# what starts the ranks, up to the words for the program; where it runs; sbatch's options
LAUNCHERS = {
    "srun": (RANK, "", ("-N2", "--ntasks-per-node=2")),
    "torchrun": (TORCHRUN, "frameworks", ONE),
    "accelerate": (ACCELERATE, "frameworks", ONE),
    "deepspeed": (DEEPSPEED, "frameworks", ONE),
}
# What is said of rank 3 in each case.
ENDS = {
    "raise": r" ended: ValueError: corrupt shard 1234 \(first_cause.py:\d+\)",
    "kill": r" was killed",
    "memory": r" ended: MemoryError \(first_cause.py:\d+\)",
    "module": r" ended: ModuleNotFoundError: No module named 'tokenizers_of_nobody' \(first_c",
    "disk": r" ended: OSError: \[Errno 28\] No space left on device \(first_cause.py:\d+\)",
    "never": r" never joined the others",
}


class Case(NamedTuple):
    """How one rank ends under a launcher: ``gloo``: the others lose it; else they sleep."""

    launcher: str
    end: str
    two_nodes: bool = False
    gloo: bool = False

    @property
    def name(self) -> str:
        return f"{self.launcher}-{self.end}"


# Each launcher shows its own lines where a rank raises, is killed or never comes; of other
# exceptions, which it shows alike, one.
CASES = [
    *(Case("srun", end, gloo=end in ("kill", "never")) for end in ENDS),
    *(
        Case(launcher, end, gloo=end == "never")
        for launcher, end in (
            ("torchrun", "disk"),
            ("accelerate", "module"),
            ("deepspeed", "memory"),
            *(
                (name, end)
                for name in ("accelerate", "deepspeed")
                for end in ("kill", "never")
            ),
        )
    ),
    Case("torchrun", "raise", two_nodes=True, gloo=True),
    Case("torchrun", "kill", two_nodes=True),
    Case("torchrun", "never", gloo=True),
    Case("accelerate", "raise"),
    Case("deepspeed", "raise", two_nodes=True),
]


def script(cluster: Cluster, program: str, case: Case) -> str:
    """Return the job: the step ends with its first task, unless one never comes."""
    start, image, _ = LAUNCHERS[case.launcher]
    if case.gloo:
        image = image or "pytorch"
    words = f" {case.end}{' gloo' if case.gloo else ''}{chr(39) * (chr(39) in start)}"
    inside = f"apptainer exec {getattr(cluster, f'{image}_image')} " if image else ""
    label = "--label " if (case.launcher, case.end) == ("srun", "never") else ""
    # Rank 0 says who is missing, a second after the others have given up.
    kill = int(case.end != "never")
    return (
        f"{BEGIN}export PROGRAM={program}\n"
        f"srun --kill-on-bad-exit={kill} {label}{inside}{start}{words}\n"
    )


@pytest.fixture(scope="module")
def summaries(
    cluster: Cluster, tool: Path, request: pytest.FixtureRequest
) -> Iterator[dict[Case, str]]:
    """Run the jobs of the selected tests, and judge what they wrote: the first line of each."""
    program = str(tool.parent / "programs" / "first_cause.py")
    folder = cluster.new_folder("first-cause")
    for nodes in (1, 2):
        slots = [f"{node} slots={4 // nodes}\n" for node in cluster.nodes[:nodes]]
        (folder / f"hosts{nodes}").write_text("".join(slots))
    for node in cluster.nodes:
        cluster.node(node, ["mkdir", "-p", FULL])
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=1777", "full", FULL]
        assert cluster.node(node, mount).returncode == 0
    try:
        jobs = {}
        items = request.session.items
        selected = [item for item in items if item.path == request.path]
        for case in (item.callspec.params["case"] for item in selected):
            size = TWO if case.two_nodes else LAUNCHERS[case.launcher][2]
            size = (*size, f"--nodelist={cluster.nodes[0]}") if "-N1" in size else size
            text = script(cluster, program, case)
            jobs[case] = cluster.submit(text, *size, *OPTIONS, cwd=folder)
        found = {}
        for case, job in jobs.items():
            job.wait(timeout=240)
            assert job.state == "FAILED", (case, job.stdout)
            said = envcfg("check-log", str(job.output)).text
            found[case] = said.partition("\n")[0]
        yield found
    finally:
        for node in cluster.nodes:
            cluster.node(node, ["umount", FULL])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if case.launcher == "srun" else NIGHTLY)
        for case in CASES
    ],
    ids=lambda case: case.name,
)
def test_first_line_names_rank_node_and_cause(
    cluster: Cluster, summaries: dict[Case, str], case: Case
) -> None:
    first = summaries[case]
    on_second = case.two_nodes or case.launcher == "srun"
    node = cluster.nodes[1 if on_second else 0]
    expected = rf"rank 3 \({node}\){ENDS[case.end]}"
    if case.end == "never" and case.launcher in ("srun", "accelerate", "torchrun"):
        # srun says nothing of a task that ends with 0; on a busy machine the other two are
        # ended before they name the node.
        expected += f"|rank 3{ENDS['never']}"
    if (case.launcher, case.end) == ("deepspeed", "never"):
        # What its ranks say has no number in front: if rank 0 gives up first, none is named.
        expected += "|the job ended: only 3 of 4 ranks joined in time"
    assert re.match(f"broken: (?:{expected})", first), first
