"""Real jobs whose nodes have GPUs that are throttled or have errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster import Cluster
from job import Job
from test_minute import SHAPE

pytestmark = pytest.mark.nightly

# As nvidia-smi: use, clock, uncorrected errors and reasons of two GPUs are in a file of the node.
NVIDIA = """\
#!/bin/bash
cd "${0%/*}" || exit
card=0
while read -r use clock errors reasons; do
  printf '%s, %s, 40960, 81920, 600.00, 700.00, %s, 0, %s, %s, NVIDIA H100 80GB HBM3\\n' \\
    "$card" "$use" "$clock" "$errors" "$reasons"
  ((card += 1))
done <"gpus.$SLURMD_NODENAME"
"""
FINE = "97 1980 0 0x0"
PROGRAM = """\
#!/bin/bash
exec 9<> <(:) # to wait without a process
until [[ -e end ]]; do read -r -t 0.5 -u 9; done
exit 0
"""
Start = Callable[..., Job]


def put(cluster: Cluster, name: str, *rows: str) -> None:
    new = cluster.workdir / "rows.new"
    new.write_text("".join(f"{row}\n" for row in rows))
    new.rename(cluster.workdir / name)


@pytest.fixture
def start(cluster: Cluster, tool: Path) -> Start:
    def submit() -> Job:
        folder = cluster.workdir
        for file, text in (("nvidia-smi", NVIDIA), ("program", PROGRAM)):
            (folder / file).write_text(text)
            (folder / file).chmod(0o755)
        for node in cluster.nodes:
            put(cluster, f"gpus.{node}", FINE, FINE)
        return cluster.submit(
            f"#!/bin/bash\nPATH={folder}:{tool}:$PATH\n"
            "source <(envcfg wrap --profile lumi-g --no-modules --fact rocm=6.2.4 "
            "--container none --verify --verify-after 10s -- ./program || echo exit $?)\n",
            *SHAPE,
        )

    return submit


def end(cluster: Cluster, job: Job) -> str:
    (cluster.workdir / "end").touch()
    ended = job.wait(timeout=90)
    assert (ended.state, ended.exit_code) == ("COMPLETED", 0), ended.stdout
    return ended.stdout


def test_a_throttled_gpu_and_new_errors_are_named(
    cluster: Cluster, start: Start
) -> None:
    job = start()
    job.wait_output("GPUs busy", timeout=120)
    second = cluster.nodes[1]
    put(cluster, f"gpus.{second}", "97 1980 2 0x0", "98 900 0 0x0000000000000040")
    job.wait_output("[gpu-memory-errors]", timeout=120)
    job.wait_output("[gpu-unlike]", timeout=120)
    out = end(cluster, job)
    for line in (
        (
            f"{second}: the memory of GPU 0 has had 2 uncorrected errors since the first look, "
            "rank 2  [gpu-memory-errors]"
        ),
        (
            f"{second}: the clock of GPU 1 is 900 MHz, that of the others 1980 MHz: throttled by "
            "heat (hardware), rank 3  [gpu-unlike]"
        ),
    ):
        assert f"envcfg: warning: {line}" in out, out
