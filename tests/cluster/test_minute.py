"""Real jobs that look at their GPUs after some seconds, and print what is wrong with them.

The nodes have no GPU: a stand-in of rocm-smi or nvidia-smi shows two, whose values are
in a file for each node, which a test changes while the job runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jobs
import pytest

from cluster import Cluster
from job import Job

pytestmark = pytest.mark.nightly

SHAPE = ("-N2", "--ntasks-per-node=2", "--gpus-per-node=2", "--partition=small-g")
ROCM = """\
#!/bin/bash
cd "${0%/*}" || exit
read -ra uses <"uses.$SLURMD_NODENAME" || exit 1
printf '{'
for card in "${!uses[@]}"; do
  printf '"card%s": {"GPU use (%%)": "%s", "VRAM Total Memory (B)": "68702699520", ' "$card" "${uses[card]}"
  printf '"VRAM Total Used Memory (B)": "34351349760", "Average Graphics Package Power (W)": "400.0"}, '
done
printf '"system": {"Driver version": "6.3.6"}}\\n'
"""
NVIDIA = """\
#!/bin/bash
cd "${0%/*}" || exit
read -ra uses <"uses.$SLURMD_NODENAME" || exit 1
for card in "${!uses[@]}"; do
  printf '%s, %s, 40000, 81920, 400.00, NVIDIA H100\\n' "$card" "${uses[card]}"
done
"""
# Each rank writes NCCL's lines, and runs until the file "end" is there.
PROGRAM = """\
#!/bin/bash
name=${NCCL_DEBUG_FILE//%h/$HOSTNAME}
[[ ! -e said.$RANK ]] || cp "said.$RANK" "${name//%p/$$}"
[[ $RANK != "${SLOW-}" ]] || while [[ ! -e end ]]; do :; done & # a worker that loads its data
exec 9<> <(:) # to wait without a process
until [[ -e end ]]; do read -r -t 0.5 -u 9; done
exit 0
"""
BUSY = "97 98"
Start = Callable[..., Job]


def set_uses(cluster: Cluster, node: str, uses: str) -> None:
    new = cluster.workdir / "uses.new"
    new.write_text(f"{uses}\n")
    new.rename(cluster.workdir / f"uses.{node}")


@pytest.fixture
def start(cluster: Cluster, tool: Path) -> Start:
    """Start a job on two nodes that looks after five seconds, each second."""

    def submit(
        smi: str = ROCM,
        name: str = "rocm-smi",
        *,
        network: str = "cxi",
        slow: int = -1,
        before: str = "",
    ) -> Job:
        folder = cluster.workdir
        for file, text in ((name, smi), ("program", PROGRAM)):
            (folder / file).write_text(text)
            (folder / file).chmod(0o755)
        job = replace(jobs.Job(nodes=2, ranks_per_node=2), hosts=cluster.nodes)
        if network:
            said: dict[int, list[str]] = {rank: [] for rank in range(job.world)}
            for line in jobs.lines(job):
                said[line.rank].append(line.text)
            for rank, texts in said.items():
                (folder / f"said.{rank}").write_text("\n".join(texts) + "\n")
        for node in cluster.nodes:
            if not (folder / f"uses.{node}").exists():
                set_uses(cluster, node, BUSY)
        return cluster.submit(
            f"#!/bin/bash\nPATH={folder}:{tool}:$PATH\nexport SLOW={slow}\n"
            "source <(envcfg wrap --profile lumi-g --no-modules --fact rocm=6.2.4 "
            "--container none --verify --verify-after 5s "
            f"-- {before}./program || echo exit $?)\n",
            *SHAPE,
        )

    return submit


def end(cluster: Cluster, job: Job) -> list[str]:
    """End the program; return envcfg's lines in the output of the job."""
    (cluster.workdir / "end").touch()
    ended = job.wait(timeout=90)
    print(ended.stdout)
    assert (ended.state, ended.exit_code) == ("COMPLETED", 0), ended.stdout
    left = [each.argv for node in cluster.nodes for each in cluster.processes(node)]
    assert not [argv for argv in left if "envcfg-monitor" in argv], left
    # All hosts of the cluster share two cores, which other tests may use as well.
    other = re.compile(r"envcfg: note: |.*\[(load-high|memory-grows)\]")
    lines = [line for line in ended.stdout.splitlines() if line.startswith("envcfg:")]
    return [line for line in lines if not other.match(line)]


def test_each_change_is_one_line(cluster: Cluster, start: Start) -> None:
    _, second = cluster.nodes
    job = start()
    job.wait_output("GPUs busy", timeout=120)
    job.wait_output("verified after", timeout=60)
    set_uses(cluster, second, "97 0")
    job.wait_output("[gpu-idle]", timeout=120)
    (cluster.workdir / "rocm-smi").write_text(
        "#!/bin/sh\necho 'Unable to talk'\nexit 1\n"
    )
    job.wait_output("[gpu-tool-fails]", timeout=120)
    lines = end(cluster, job)
    states = [line for line in lines if "verified after" not in line]
    assert states == [
        "envcfg: all 4 GPUs busy, network fast",
        f"envcfg: warning: {second}: GPU 1 (of 2) is idle (below 5 %), rank 3  [gpu-idle]",
        *states[2:],
    ]
    assert states[-1].startswith(
        "envcfg: unknown: nid001000, nid001001: rocm-smi: Unable"
    )


def test_a_node_that_does_not_report_is_unknown(cluster: Cluster, start: Start) -> None:
    job = start()
    job.wait_output("GPUs busy", timeout=120)
    with cluster.cut_off(cluster.nodes[1]):
        job.wait_output("[node-silent]", timeout=120)
    assert re.search(
        rf"^envcfg: unknown: {cluster.nodes[1]}: did not answer for \d+ s  \[node-silent\]$",
        job.stdout,
        re.M,
    ), job.stdout
    assert job.refresh().state == "RUNNING"
    job.cancel()
    job.wait(timeout=90)


def test_a_loader_that_holds_its_rank_up_is_named(
    cluster: Cluster, start: Start
) -> None:
    set_uses(cluster, cluster.nodes[1], "97 0")
    job = start(NVIDIA, "nvidia-smi", network="", slow=3, before="taskset -c 0 ")
    job.wait_output("[gpu-idle]", timeout=120)
    # On a core of all ranks, the worker may get little time.
    named = re.compile(
        r"(the loader holds rank 3 up|rank 3 waits while its GPU waits): 1 worker"
    )
    job.wait_until(lambda job: bool(named.search(job.stdout)), timeout=120)
    job.wait_output("[cores-shared]", timeout=60)
    end(cluster, job)
    assert "ranks 2-3 share 1 core in all  [cores-shared]" in job.stdout
