"""The nodes of real jobs, as a login node and the job itself see them.

Load, memory and network are real. The nodes have no GPU: where a test is about them, a
rocm-smi on PATH says what that of a node with eight would.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster import LOGIN, Cluster
from job import Job

TWO = ("-N2", "--ntasks-per-node=1", "--partition=small-g")
HSN = {f"hsn{k}" for k in range(4)}
LUMI = ("--profile", "lumi-g")
ROCM = """\
#!/bin/sh
[ "$*" = '--showuse --showmeminfo vram --showpower --showmaxpower --showclocks --json' ] || exit 2
printf '{'
for card in 0 1 2 3 4 5 6 7; do
  use=97
  [ "$card" != 3 ] || use=0
  printf '"card%s": {"GPU use (%%)": "%s", "VRAM Total Memory (B)": "68702699520", "VRAM Total Used Memory (B)": "1048576", "Average Graphics Package Power (W)": "%s"}, ' \\
    "$card" "$use" "$([ $((card % 2)) = 0 ] && echo 400.0 || echo 'N/A (Secondary die)')"
done
printf '"system": {"Driver version": "6.3.6"}}\\n'
"""


class Said:
    """What envcfg monitor said."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def document(self) -> dict[str, list[dict[str, object]]]:
        assert self.code == 0, self.err
        found: dict[str, list[dict[str, object]]] = json.loads(self.out)
        return found

    @property
    def rules(self) -> set[tuple[object, object]]:
        return {(each["rule"], each["subject"]) for each in self.document["findings"]}

    def rates(self, node: int) -> dict[object, tuple[float, float]]:
        """Return by interface what came in and what went out, in bytes per second."""
        return {
            each["name"]: (
                each["received_bytes_per_second"],
                each["sent_bytes_per_second"],
            )
            for each in self.document["nodes"][node]["interfaces"]  # type: ignore[attr-defined]
        }


Monitor = Callable[..., Said]


@pytest.fixture
def monitor(cluster: Cluster, tool: Path) -> Monitor:
    """Run envcfg monitor on the login node."""

    def run(*words: object, before: tuple[str, ...] = (), path: str = "") -> Said:
        argv = [*before, str(tool / "envcfg"), "monitor", *map(str, words)]
        env = {"PATH": f"{path}:/usr/bin:/bin"} if path else None
        done = cluster.run(argv, env=env)
        return Said(done.returncode, done.stdout, done.stderr)

    return run


def flow(cluster: Cluster, programs: Path, interface: str) -> Job:
    """Start a job that sends from its first node to its second over *interface*."""
    job = cluster.submit(
        f"#!/bin/bash\nsrun python3 {programs}/flow.py {interface}\n", *TWO
    )
    return job.wait_output("flows")


def left(cluster: Cluster) -> list[str]:
    """Return the processes of the monitor that are anywhere."""
    words = (
        " ".join(process.argv)
        for host in (LOGIN, *cluster.nodes)
        for process in cluster.processes(host)
    )
    return [each for each in words if "envcfg_host" in each or "envcfg-monitor" in each]


def test_both_nodes_are_shown_with_the_traffic_of_each_interface(
    cluster: Cluster, programs: Path, monitor: Monitor
) -> None:
    job = flow(cluster, programs, "hsn0")
    said = monitor("--once", "--json", *LUMI, job.id)
    nodes = said.document["nodes"]
    assert [node["name"] for node in nodes] == list(cluster.nodes)
    for node in nodes:
        assert node["answers"]
        assert float(str(node["load"])) > 0
        assert int(str(node["cores"])) > 0
        used, total = node["memory_used_bytes"], node["memory_total_bytes"]
        assert 0 < int(str(used)) < int(str(total))
        assert 0 < float(str(node["processor_use_percent"])) <= 100
    first, second = said.rates(0), said.rates(1)
    assert {"nmn0", *HSN} <= first.keys()
    assert {"nmn0", *HSN} <= second.keys()
    assert first["hsn0"][1] > 5e6
    assert second["hsn0"][0] > 5e6
    assert first["hsn0"][1] == pytest.approx(second["hsn0"][0], rel=0.5)
    for name in ("nmn0", "hsn1", "hsn2", "hsn3"):
        assert max(first[name]) < 1e6, name
    assert "wrong-interface" not in {rule for rule, _ in said.rules}
    assert job.refresh().state == "RUNNING"
    assert left(cluster) == []


@pytest.mark.nightly
def test_traffic_on_the_management_network_is_marked(
    cluster: Cluster, programs: Path, monitor: Monitor
) -> None:
    job = flow(cluster, programs, "nmn0")
    said = monitor("--once", *LUMI, job.id)
    assert said.code == 0, said.err
    mark = r"^warning: nid001000\b.*: nmn0 transfers \d+ MB/s, hsn0, hsn1, hsn2, hsn3 0 MB/s"
    assert re.search(mark, said.out, re.MULTILINE), said.out
    assert "(profile lumi-g)  [wrong-interface]\n  fix: envcfg check-log" in said.out


def test_the_end_of_the_job_ends_it(cluster: Cluster, monitor: Monitor) -> None:
    job = cluster.submit("#!/bin/bash\nsrun sleep 6\n", *TWO).wait_running()
    said = monitor("--json", "--interval", "0.5", job.id)
    assert said.code == 0, said.err
    assert said.err == f"envcfg: job {job.id} has ended: COMPLETED\n"
    looks = [json.loads(line) for line in said.out.splitlines()]
    assert len(looks) >= 4
    assert all(node["answers"] for look in looks for node in look["nodes"])
    assert job.wait().state == "COMPLETED"
    again = monitor("--once", job.id)
    assert (again.code, again.out) == (4, "")
    assert f"job {job.id} no longer runs: COMPLETED" in again.err
    assert "hint: scontrol show job" in again.err


@pytest.mark.nightly
def test_a_job_that_is_cancelled_ends_it_too(
    cluster: Cluster, tool: Path, monitor: Monitor
) -> None:
    assert tool
    job = cluster.submit("#!/bin/bash\nsrun sleep 60\n", *TWO).wait_running()
    soon = ("sh", "-c", f'(sleep 4; scancel {job.id}) & exec "$@"', "sh")
    said = monitor("--interval", "0.5", job.id, before=soon)
    assert said.code == 0, said.err
    assert f"envcfg: job {job.id} has ended: CANCELLED\n" in said.err


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("signal", "code"), [("INT", 130), ("TERM", 143), ("KILL", 137)]
)
def test_whatever_ends_it_nothing_is_left_and_the_job_goes_on(
    cluster: Cluster, monitor: Monitor, signal: str, code: int
) -> None:
    job = cluster.submit("#!/bin/bash\nsrun sleep 60\n", *TWO).wait_running()
    ended = ("timeout", "--foreground", "--preserve-status", f"--signal={signal}", "4")
    said = monitor("--json", "--interval", "0.5", job.id, before=ended)
    assert (said.code, len(said.out.splitlines()) >= 2) == (code, True), said.err
    deadline = time.monotonic() + 10
    while left(cluster):
        assert time.monotonic() < deadline, left(cluster)
        time.sleep(0.1)
    assert job.refresh().state == "RUNNING"


def test_a_job_that_is_unknown_waits_or_is_another_s_is_said(
    cluster: Cluster, monitor: Monitor
) -> None:
    unknown = monitor(4711)
    assert (unknown.code, "Slurm knows no job 4711" in unknown.err) == (4, True)
    late = cluster.submit("#!/bin/bash\nsleep 60\n", *TWO, "--begin=now+1hour")
    waiting = monitor(late.id)
    assert waiting.code == 4
    assert "does not run yet: PENDING (BeginTime)" in waiting.err
    argv = [
        "sbatch",
        "--parsable",
        "--output=/dev/null",
        "--chdir=/",
        "--wrap=sleep 60",
    ]
    number = cluster.node(LOGIN, argv).stdout.strip()
    try:
        Job(cluster, int(number)).wait_running()
        foreign = monitor(number)
    finally:
        cluster.node(LOGIN, ["scancel", number])
    assert foreign.code == 4
    assert f"job {number} belongs to root, and you are envcfg" in foreign.err


@pytest.mark.nightly
def test_an_array_is_named_by_its_tasks(cluster: Cluster, monitor: Monitor) -> None:
    job = cluster.submit(
        "#!/bin/bash\nsleep 60\n", "--array=0-1", "--partition=small-g"
    )
    deadline = time.monotonic() + 20
    while "is 2 jobs" not in (said := monitor("--once", job.id)).err:
        assert time.monotonic() < deadline, said.err
        time.sleep(0.2)
    assert said.code == 2
    one = monitor("--once", "--json", f"{job.id}_1")
    assert one.document["job"]["id"] == f"{job.id}_1"  # type: ignore[call-overload]


def test_the_job_itself_can_look(cluster: Cluster, tool: Path) -> None:
    job = cluster.sbatch(
        f"#!/bin/bash\nPATH={tool}:$PATH\nexport SLURM_CPUS_PER_TASK=2\n"
        "srun sleep 30 &\nsleep 1\nenvcfg monitor --once --json >look.json\ncode=$?\n"
        "kill %1\nexit $code\n",
        *TWO,
        "--mem-per-cpu=100M",
        "--cpus-per-task=2",
    )
    assert job.exit_code == 0, job.stdout
    look = json.loads((cluster.workdir / "look.json").read_text())
    assert [node["answers"] for node in look["nodes"]] == [True, True]


def with_gpus(cluster: Cluster) -> str:
    tool = cluster.workdir / "rocm-smi"
    tool.write_text(ROCM)
    tool.chmod(0o755)
    return str(cluster.workdir)


def test_a_gpu_that_idles_is_marked_on_its_node(
    cluster: Cluster, monitor: Monitor
) -> None:
    job = cluster.submit(
        "#!/bin/bash\nsrun sleep 60\n",
        *("-N2", "--gpus-per-node=8", "--partition=standard-g"),
    ).wait_running()
    said = monitor("--once", "--json", job.id, path=with_gpus(cluster))
    for node in said.document["nodes"]:
        gpus = node["gpus"]
        assert isinstance(gpus, list)
        assert [gpu["idle"] for gpu in gpus] == [n == 3 for n in range(8)]
        assert [gpu["power_watts"] for gpu in gpus] == [400.0, None] * 4
    assert {("gpu-idle", node) for node in cluster.nodes} <= said.rules
    text = monitor("--once", job.id, path=with_gpus(cluster)).out
    assert "16 GPUs used 85 %, 2 idle, 3.2 kW" in text
    assert "nid001000, nid001001: GPU 3 (of 8) is idle" in text


@pytest.mark.nightly
def test_gpus_that_the_job_does_not_have_do_not_count(
    cluster: Cluster, monitor: Monitor
) -> None:
    job = cluster.submit(
        "#!/bin/bash\nsrun sleep 60\n", *TWO, "--gpus-per-node=2"
    ).wait_running()
    said = monitor("--once", "--json", *LUMI, job.id, path=with_gpus(cluster))
    for node in said.document["nodes"]:
        assert len(node["gpus"]) == 2  # type: ignore[arg-type]
        assert node["gpus_of_others"] == 6
    assert not {rule for rule, _ in said.rules} & {"gpu-idle", "gpu-missing"}
