"""Real jobs whose nodes have an exporter of the site, or GPUs that are throttled or have errors."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster import HERE, Cluster
from job import Job
from test_minute import SHAPE

# As nvidia-smi: use, clock, uncorrected errors and reasons of two GPUs are in a file of the node.
NVIDIA = """\
#!/bin/bash
cd "${0%/*}" || exit
: >"asked.$SLURMD_NODENAME.$EPOCHREALTIME"
card=0
while read -r use clock errors reasons; do
  printf '%s, %s, 40960, 81920, 600.00, 700.00, %s, 0, %s, %s, NVIDIA H100 80GB HBM3\\n' \\
    "$card" "$use" "$clock" "$errors" "$reasons"
  ((card += 1))
done <"gpus.$SLURMD_NODENAME"
"""
# As DCGM-exporter, from the file of the same form, by HTTP on the node itself.
EXPORTER = """\
import http.server, random, sys

NAMES = ("GPU_UTIL", "SM_CLOCK", "ECC_DBE_VOL_TOTAL")

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        lines = []
        for card, row in enumerate(open(sys.argv[1]).read().splitlines()):
            values = dict(zip(NAMES, row.split()))
            values |= {"FB_USED": 40960, "FB_FREE": 40960, "XID_ERRORS": row.split()[4]}
            values["POWER_USAGE"] = 600 + random.random()
            lines += [
                f'DCGM_FI_DEV_{name}{{gpu="{card}",Hostname="{sys.argv[2]}"}} {value}'
                for name, value in values.items()
            ]
        self.send_response(200)
        self.end_headers()
        self.wfile.write("\\n".join([*lines, ""]).encode())
        open(f"{sys.argv[1]}.asked", "a").write(".")

http.server.ThreadingHTTPServer(("127.0.0.1", 9400), Handler).serve_forever()
"""
FINE = "97 1980 0 0x0 0"
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
    def submit(*options: str) -> Job:
        folder = cluster.workdir
        for file, text in (("nvidia-smi", NVIDIA), ("program", PROGRAM)):
            (folder / file).write_text(text)
            (folder / file).chmod(0o755)
        for node in cluster.nodes:
            put(cluster, f"gpus.{node}", *[FINE.rpartition(" ")[0]] * 2)
        return cluster.submit(
            f"#!/bin/bash\nPATH={folder}:{tool}:$PATH\n"
            "source <(envcfg wrap --profile lumi-g --no-modules --fact rocm=6.2.4 "
            f"--container none --verify --verify-after 10s {' '.join(options)} "
            "-- ./program || echo exit $?)\n",
            *SHAPE,
        )

    return submit


@pytest.fixture
def exporters(cluster: Cluster) -> Iterator[None]:
    """Start an exporter on each node."""
    (cluster.workdir / "exporter.py").write_text(EXPORTER)
    running = []
    for node in cluster.nodes:
        name = f"exported.{node}"
        put(cluster, name, FINE, FINE)
        words = [
            "python3",
            cluster.workdir / "exporter.py",
            cluster.workdir / name,
            node,
        ]
        running.append(subprocess.Popen([HERE / "node", node, *words]))
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


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


@pytest.mark.usefixtures("exporters")
def test_the_exporter_of_the_site_is_read(cluster: Cluster, start: Start) -> None:
    job = start("--exporter", "dcgm-exporter")
    job.wait_output("GPUs busy", timeout=120)
    for node in cluster.nodes:
        assert (cluster.workdir / f"exported.{node}.asked").exists()
    second = cluster.nodes[1]
    put(cluster, f"exported.{second}", FINE, "97 1980 0 0x0 79")
    job.wait_output("[gpu-xid]", timeout=120)
    out = end(cluster, job)
    line = f"{second}: the driver reports an error of GPU 1: Xid 79, rank 3  [gpu-xid]"
    assert f"envcfg: warning: {line}" in out, out
    # The tool of the GPUs is asked less often.
    questions = len(list(cluster.workdir.glob(f"asked.{second}.*")))
    assert (
        questions < len((cluster.workdir / f"exported.{second}.asked").read_text()) + 3
    )


@pytest.mark.usefixtures("exporters")
def test_an_exporter_that_lies_is_not_believed(cluster: Cluster, start: Start) -> None:
    job = start("--exporter", "dcgm-exporter")
    second = cluster.nodes[1]
    job.wait_output("GPUs busy", timeout=120)
    put(cluster, f"gpus.{second}", "0 1980 0 0x0", "0 1980 0 0x0")
    job.wait_output("[gpu-idle]", timeout=180)
    out = end(cluster, job)
    assert (
        f"envcfg: warning: {second}: GPUs 0-1 (of 2) are idle (below 5 %), ranks 2-3"
        in out
    ), out


def test_a_dead_exporter_leads_to_the_tool(cluster: Cluster, start: Start) -> None:
    job = start("--exporter", "omnistat")
    job.wait_output("GPUs busy", timeout=120)
    time.sleep(5)
    out = end(cluster, job)
    assert "unknown" not in out, out
