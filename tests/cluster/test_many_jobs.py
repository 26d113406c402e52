"""``envcfg jobs`` on real jobs: a sweep with several ends, an array, a requeued job."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import HERE, Cluster
from job import Job
from suites import NIGHTLY
from support import ROOT, envcfg, wait_until

pytestmark = NIGHTLY
OPTIONS = ("--partition=small-g", "--time=3", "--nodes=1", "--ntasks=1", "--mem=1G")
STEPS = "for step in 1 2 3; do echo step $step/3 loss 1.$step; done\n"
PYTHON = "srun python3 -c 'raise ValueError(\"corrupt shard {}\")'\n"
# The ends of jobs: the script, the state that Slurm reports, and the verdict.
ENDS = {
    "good": (STEPS, "COMPLETED", "inconclusive"),
    "shard": (STEPS + PYTHON, "FAILED", "broken"),
    "absent": ("srun no-such-program\n", "FAILED", "broken"),
    "silent": (f"{STEPS}exit 3\n", "FAILED", "inconclusive"),
    "cancelled": (f"{STEPS}srun sleep 600\n", "CANCELLED", "broken"),
}
SETS = 8  # jobs with each end


@pytest.fixture(scope="module")
def store(cluster: Cluster, tool: Path) -> Iterator[Path]:
    """Let slurmdbd keep accounts; the epilog of the page hands each job to this store."""
    folder = cluster.home / "epilog"
    shutil.rmtree(folder, ignore_errors=True)  # of a run before, if the cluster is up
    folder.mkdir()
    page = (ROOT / "docs/how-to/many-jobs.md").read_text()
    _, head, rest = page.partition("#!/bin/bash\n# EpilogSlurmctld\n")
    script = head + rest.partition("```")[0]
    assert "cd /var/lib/envcfg" in script
    script = script.replace("/var/lib/envcfg", str(folder))
    assert " envcfg jobs" in script
    script = script.replace(" envcfg jobs", f" {tool}/envcfg jobs")
    (folder / "epilog").write_text(script)
    (folder / "epilog").chmod(0o755)
    manage = [HERE / "accounting"]
    subprocess.run([*manage, "start", folder / "epilog"], check=True)
    yield folder / "jobs.db"
    subprocess.run([*manage, "stop"], check=True)


def submit(cluster: Cluster, name: str, body: str, *options: str) -> Job:
    return cluster.submit(
        f"#!/bin/bash\n{body}",
        *OPTIONS,
        "--gpus-per-node=1",
        f"--job-name={name}",
        "--output=%x-%j.out",
        *options,
    )


def rows_of(text: str) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, text.splitlines())}


def test_a_sweep_an_array_and_a_requeued_job_have_a_row_each(
    cluster: Cluster, workdir: Path, tool: Path, store: Path
) -> None:
    jobs = {
        f"{name}{at}": submit(cluster, f"{name}{at}", body.replace("{}", str(at)))
        for at in range(SETS)
        for name, (body, _, _) in ENDS.items()
    }
    again = submit(
        cluster, "again", f'[[ ${{SLURM_RESTART_COUNT-0}} == 0 ]] && {{ echo first; srun sleep 600; }}\n{STEPS}',
        "--requeue", "--open-mode=append",
    )  # fmt: skip
    array = submit(
        cluster, "array", "echo step $SLURM_ARRAY_TASK_ID\nexit $((SLURM_ARRAY_TASK_ID == 2))\n",
        "--array=1-3", "--output=slurm-%A_%a.out",
    )  # fmt: skip
    for name, job in jobs.items():
        if name.startswith("cancelled"):
            job.wait_output("step 3/3").cancel()
    again.wait_output("first")
    cluster.node("login", ["scontrol", "requeue", str(again.id)])
    again.skip_requeue_delay()
    wait_for_all(cluster)
    last = ["sacct", "-nX", "--format=State", f"--jobs={again.id}"]
    # Slurm sends the end of a job to its database later.
    wait_until("accounting", lambda: "COMPLETED" in cluster.node("login", last).stdout)
    read = f"{tool}/envcfg", "jobs", str(workdir), "--format", "ndjson"
    rows = rows_of(cluster.run(read).stdout)
    tasks = [f"{array.id}_{at}" for at in (1, 2, 3)]
    ids = {str(job.id) for job in (*jobs.values(), again)}
    assert rows.keys() == {*ids, *tasks}
    for name, job in jobs.items():
        row, (_, state, verdict) = rows[str(job.id)], ENDS[name[:-1]]
        shown = row["name"], row["state"], row["verdict"], row["cluster"], row["gpus"]
        assert shown == (name, state, verdict, "lumi", 1), row
        assert row["gpu_hours"] is not None
    assert {rows[task]["array"] for task in tasks} == {str(array.id)}
    assert [rows[task]["state"] for task in tasks] == [
        "COMPLETED",
        "FAILED",
        "COMPLETED",
    ]
    assert rows[str(again.id)]["state"] == "COMPLETED"
    assert rows[str(again.id)]["attempts"] > 1
    table = cluster.run(read[:3]).stdout
    assert f"{SETS} jobs broken: ValueError: corrupt shard N" in table

    # The epilog has handed each of them to the store. It may have come before accounting.
    def verdicts(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
        return {row["files"][0]: row["log_verdict"] for row in rows}

    def stored() -> dict[str, str]:
        done = envcfg("jobs", "--store", str(store), "--format", "ndjson")
        return verdicts(map(json.loads, done.text.splitlines()))

    expected = verdicts(rows.values())
    for path, verdict in expected.items():
        wait_until(f"the store has {path}", lambda: stored().get(path) == verdict)  # noqa: B023

    # Parts of an array of jobs make the same store.
    cluster.submit(
        "#!/bin/bash\n"
        f"{tool}/envcfg jobs --part $SLURM_ARRAY_TASK_ID/4 {workdir} "
        ">part-$SLURM_ARRAY_TASK_ID.ndjson\n",
        *OPTIONS, "--array=1-4", "--output=part-%a.log.json",
    )  # fmt: skip
    wait_for_all(cluster)
    files = sorted(map(str, workdir.glob("part-*.ndjson")))
    assert len(files) == 4
    parts = envcfg(
        "jobs", *files, "--store", str(workdir / "parts.db"), "--format", "ndjson"
    )
    assert verdicts(map(json.loads, parts.text.splitlines())) == expected


def wait_for_all(cluster: Cluster) -> None:
    wait_until(
        "all jobs have ended",
        lambda: not cluster.node("login", ["squeue", "--noheader"]).stdout.strip(),
    )
