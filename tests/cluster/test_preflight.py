"""Nodes and network of real jobs, looked at before the program: good ones, and ill ones.

The nodes have no GPU: a rocm-smi on PATH says what that of a node with four would. What
makes a node ill is real: a link, a filter, a full file system, a limit, a slow queue.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from cluster import LOGIN, Cluster
from job import Job

FIRST, SECOND = "nid001000", "nid001001"
JOB = ("-N2", "--gpus-per-node=4", "--partition=standard-g")
WHY = "why: a test, source: a test, date: 2026-11-22"
SCRATCH = "/tmp/preflight"
PROFILE = f"""\
name: site
summary: the cluster of the tests
node: {{gpus: 4, nics: [hsn0, hsn1, hsn2, hsn3], {WHY}}}
rendezvous: {{interface: hsn0, {WHY}}}
scratch: {{root: {SCRATCH}, {WHY}}}
env:
  NCCL_SOCKET_IFNAME: {{value: "hsn0,hsn1,hsn2,hsn3", {WHY}}}
  GLOO_SOCKET_IFNAME: {{value: hsn0, {WHY}}}
expect: {{devices: [/dev/null, "/dev/zer*"], {WHY}}}
container: {{runtimes: [apptainer]}}
"""
SMI = """\
#!/bin/sh
[ "$1" = --showuse ] || exit 0
count=4
[ ! -e "${0%/*}/lost-$SLURMD_NODENAME" ] || count=3
card=0
printf '{'
while [ "$card" -lt "$count" ]; do
  printf '"card%s": {"GPU use (%%)": "0", "VRAM Total Used Memory (B)": "1048576"}, ' "$card"
  card=$((card + 1))
done
printf '"system": {"Driver version": "6.3.6"}}\\n'
"""


class Said(NamedTuple):
    """What envcfg preflight said in a job."""

    code: int
    document: dict[str, object]
    text: str
    seconds: float

    @property
    def failed(self) -> str:
        return str(self.document["failed"])

    @property
    def rules(self) -> set[tuple[object, object]]:
        nodes: list[dict[str, object]] = self.document["nodes"]  # type: ignore[assignment]
        found: list[dict[str, object]] = [
            each
            for node in nodes
            for each in node["findings"]  # type: ignore[attr-defined]
        ]
        return {
            (each["rule"], each["subject"])
            for each in found
            if each["severity"] == "error"
        }


@pytest.fixture
def site(cluster: Cluster, workdir: Path) -> Iterator[Path]:
    """A profile of this cluster, and a tool of the GPUs, in the folder of the test."""
    (workdir / "site.yaml").write_text(PROFILE)
    (workdir / "bin").mkdir()
    (workdir / "bin/rocm-smi").write_text(SMI)
    (workdir / "bin/rocm-smi").chmod(0o755)
    for node in cluster.nodes:
        cluster.node(node, ["mkdir", "-p", "-m", "1777", SCRATCH])
    yield workdir
    for node in cluster.nodes:
        cluster.node(node, ["rm", "-rf", SCRATCH])


@pytest.fixture
def options(cluster: Cluster, site: Path) -> str:
    """The options of a step, for wrap and for preflight."""
    return (
        f"--profile ./site.yaml --container {cluster.pytorch_image} --ranks 1 "
        f"--set 'PATH={site}/bin:${{PATH}}'"
    )


@pytest.fixture
def preflight(cluster: Cluster, tool: Path, options: str) -> Callable[..., Said]:
    """Run envcfg preflight in a job on two nodes."""

    def run(*more: str) -> Said:
        script = (
            f"#!/bin/bash\nPATH={tool}:$PATH\nbegin=$EPOCHREALTIME\n"
            f"envcfg preflight {options} {' '.join(more)} --json >said.json\n"
            'echo "code $?"\necho "$begin $EPOCHREALTIME"\n'
        )
        job = cluster.sbatch(script, *JOB)
        lines = job.stdout.splitlines()
        assert "code" in "".join(lines[-2:-1]), job.stdout
        begin, end = map(float, lines[-1].split())
        text = (cluster.workdir / "said.json").read_text()
        assert text, job.stdout
        return Said(int(lines[-2][5:]), json.loads(text), job.stdout, end - begin)

    return run


def left(cluster: Cluster) -> list[str]:
    """Return what of a preflight still runs on the nodes."""
    return [
        " ".join(process.argv)[:80]
        for node in cluster.nodes
        for process in cluster.processes(node)
        if re.search("envcfg-(preflight|rank|node)", " ".join(process.argv))
    ]


# What makes the second node ill, and what makes it well again; run by root.
@contextmanager
def no_link(cluster: Cluster) -> Iterator[None]:
    """Pull the cable of an interface, at its other end: routes stay."""
    port = f"{SECOND.removeprefix('nid')}-hsn3"
    with done(cluster, LOGIN, "ip link set", port, ("down", "up")):
        yield


@contextmanager
def done(
    cluster: Cluster, host: str, do: str, what: str, words: tuple[str, str]
) -> Iterator[None]:
    for word in words[:1]:
        ran = cluster.node(host, [*do.split(), *what.split(), *word.split()])
        assert ran.returncode == 0, ran.stderr
    try:
        yield
    finally:
        cluster.node(host, [*do.split(), *what.split(), *words[1].split()])


@contextmanager
def lost_gpu(cluster: Cluster) -> Iterator[None]:
    (cluster.workdir / f"bin/lost-{SECOND}").touch()
    yield


@contextmanager
def full_scratch(cluster: Cluster) -> Iterator[None]:
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=1777", "tmpfs", SCRATCH]
    assert cluster.node(SECOND, mount).returncode == 0
    try:
        yield
    finally:
        cluster.node(SECOND, ["umount", SCRATCH])


@contextmanager
def closed_port(cluster: Cluster) -> Iterator[None]:
    rule = ["INPUT", "-i", "hsn0", "-p", "tcp", "--dport", "10000:29999", "-j", "DROP"]
    assert cluster.node(FIRST, ["iptables", "-A", *rule]).returncode == 0
    try:
        yield
    finally:
        cluster.node(FIRST, ["iptables", "-D", *rule])


@contextmanager
def slow_link(cluster: Cluster) -> Iterator[None]:
    """Let what the second node sends wait in a queue; not every kernel has netem."""
    queue = ["root", "tbf", "rate", "200mbit", "burst", "64kb", "latency", "50ms"]
    add = ["tc", "qdisc", "add", "dev", "hsn0", *queue]
    assert cluster.node(SECOND, add).returncode == 0
    try:
        yield
    finally:
        cluster.node(SECOND, ["tc", "qdisc", "del", "dev", "hsn0", "root"])


@contextmanager
def nothing(_: Cluster) -> Iterator[None]:
    yield


def on_second(commands: str) -> str:
    return f"""--setup '[ "$SLURMD_NODENAME" != {SECOND} ] || {commands}'"""


def test_two_good_nodes_pass_and_the_network_is_measured(
    cluster: Cluster, preflight: Callable[..., Said]
) -> None:
    said = preflight("--exclude-from", "bad.txt")
    assert (said.code, said.failed) == (0, ""), said.text
    assert said.document["passed"] == "nid[001000-001001]"
    nodes: list[dict[str, float]] = said.document["nodes"]  # type: ignore[assignment]
    assert [(node["gpus"], node["gpus_wanted"]) for node in nodes] == [(4, 4)] * 2
    for node in nodes:
        assert node["sends_bytes_per_second"] > 1e7
        assert node["receives_bytes_per_second"] > 1e7
    collective: dict[str, object] = said.document["collective"]  # type: ignore[assignment]
    assert (collective["ranks"], collective["backend"]) == (2, "gloo")
    assert not (cluster.workdir / "bad.txt").exists()
    assert left(cluster) == []


FAULTS: Sequence[tuple[str, Callable[[Cluster], object], tuple[str, ...], str]] = (
    ("link", no_link, (), "interface-down"),
    ("gpus", lost_gpu, (), "gpu-missing"),
    ("scratch", full_scratch, (), "folder-unwritable"),
    ("memlock", nothing, (on_second("ulimit -l 64"),), "memlock-small"),
    ("port", closed_port, (), "rendezvous-unreachable"),
    ("slow", slow_link, (), "node-slow"),
    ("hangs", nothing, (on_second("sleep 1000"), "--patience 3"), "node-silent"),
)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("fault", "more", "rule"),
    [each[1:] for each in FAULTS],
    ids=[each[0] for each in FAULTS],
)
def test_a_bad_node_is_named_within_a_minute(
    cluster: Cluster,
    preflight: Callable[..., Said],
    fault: Callable[..., object],
    more: tuple[str, ...],
    rule: str,
) -> None:
    with fault(cluster):  # type: ignore[attr-defined]
        said = preflight(*more)
    assert (said.code, said.failed) == (1, SECOND), said.text
    assert said.rules == {(rule, SECOND)}
    assert said.seconds < 60
    assert left(cluster) == []


def wrapped(cluster: Cluster, tool: Path, options: str, more: str) -> Job:
    """Run a program behind a preflight, with the time at which it begins."""
    script = (
        f"#!/bin/bash\nset -euo pipefail\nPATH={tool}:$PATH\n"
        f"source <(envcfg wrap {options} --preflight {more} -- "
        "sh -c 'echo program runs' || echo exit $?)\n"
    )
    return cluster.sbatch(script, *JOB)


def test_wrap_starts_the_program_behind_good_nodes_only(
    cluster: Cluster, tool: Path, options: str
) -> None:
    good = wrapped(cluster, tool, options, "")
    assert (good.state, good.exit_code) == ("COMPLETED", 0), good.stdout
    assert good.stdout.index("2 passed, 0 failed") < good.stdout.index("program runs")
    with lost_gpu(cluster):
        bad = wrapped(cluster, tool, options, "")
    assert (bad.state, bad.exit_code) == ("FAILED", 1), bad.stdout
    assert f"error: {SECOND}: rocm-smi shows 3 of 4 GPUs" in bad.stdout
    assert "program runs" not in bad.stdout


def test_wrap_starts_no_program_where_the_fast_network_is_not_proven(
    cluster: Cluster, tool: Path, options: str
) -> None:
    done = wrapped(cluster, tool, options, "--require fast")
    assert (done.state, done.exit_code) == ("FAILED", 1), done.stdout
    assert "error: the fast network is not proven: NCCL was not used" in done.stdout
    assert "program runs" not in done.stdout


@pytest.mark.nightly
def test_wrap_needs_envcfg_where_the_job_runs(
    cluster: Cluster, tool: Path, options: str, site: Path
) -> None:
    wrap = f"{tool}/envcfg wrap {options} --preflight -- echo program runs"
    made = cluster.run(["bash", "-c", f"{wrap} >job.sh"])
    assert made.returncode == 0, made.stderr
    done = cluster.sbatch(f"#!/bin/bash\nsource {site}/job.sh\n", *JOB)
    assert (done.state, done.exit_code) == ("FAILED", 4), done.stdout
    assert "--preflight needs envcfg" in done.stdout
    assert "program runs" not in done.stdout


@pytest.mark.nightly
def test_a_rank_that_hangs_is_named(
    cluster: Cluster, preflight: Callable[..., Said], site: Path
) -> None:
    """Its Python never begins, as on a node whose file system does not answer."""
    (site / "bin/python3").write_text(
        f'#!/bin/sh\n[ "$SLURMD_NODENAME" != {SECOND} ] || exec sleep 1000\n'
        'exec /usr/bin/python3 "$@"\n'
    )
    (site / "bin/python3").chmod(0o755)
    said = preflight("--patience 3")
    assert (said.code, said.failed) == (1, SECOND), said.text
    assert said.rules == {("collective-stuck", SECOND)}
    assert left(cluster) == []
