"""``envcfg jobs`` on real jobs: a sweep with several ends, an array, a requeued job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent

from cluster import Cluster
from job import Job
from suites import NIGHTLY
from support import ROOT, envcfg, wait_until

pytestmark = NIGHTLY
OPTIONS = ("--partition=small-g", "--time=3", "--nodes=1", "--ntasks=1")
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
HEAD = "JobID|JobIDRaw|Cluster|User|JobName|State|ExitCode|Start|End|NNodes|NodeList"


def accounting_of(cluster: Cluster, folder: Path) -> str:
    """Write what accounting would have, from Slurm's own records of jobs."""
    shown = cluster.node("login", ["scontrol", "show", "job"]).stdout
    rows = [HEAD]
    for block in shown.split("\n\n"):
        facts = dict(re.findall(r"(?<!\S)([A-Za-z]+)=(\S*)", block))
        if str(folder) not in facts.get("WorkDir", ""):
            continue
        id_ = facts["JobId"]
        if "ArrayTaskId" in facts:
            id_ = f"{facts['ArrayJobId']}_{facts['ArrayTaskId']}"
        row = [id_, facts["JobId"], "c", "user", facts["JobName"], facts["JobState"]]
        row += [facts[name] for name in ("ExitCode", "StartTime", "EndTime")]
        rows.append("|".join([*row, facts["NumNodes"], facts["NodeList"]]))
    path = folder / "sacct.txt"
    path.write_text("".join(f"{row}\n" for row in rows))
    return str(path)


def submit(cluster: Cluster, name: str, body: str, *options: str) -> Job:
    return cluster.submit(
        f"#!/bin/bash\n{body}",
        *OPTIONS,
        f"--job-name={name}",
        "--output=%x-%j.out",
        *options,
    )


def test_a_sweep_an_array_and_a_requeued_job_have_a_row_each(
    cluster: Cluster, workdir: Path, tool: Path
) -> None:
    jobs = {
        f"{name}{at}": submit(cluster, f"{name}{at}", body.replace("{}", str(at)))
        for name, (body, _, _) in ENDS.items()
        for at in (1, 2)
    }
    again = submit(
        cluster, "again", f'[[ ${{SLURM_RESTART_COUNT-0}} == 0 ]] && {{ echo first; srun sleep 600; }}\n{STEPS}',
        "--requeue", "--open-mode=append",
    )  # fmt: skip
    array = submit(
        cluster, "array", "echo step $SLURM_ARRAY_TASK_ID\nexit $((SLURM_ARRAY_TASK_ID == 2))\n",
        "--array=1-3", "--output=slurm-%A_%a.out",
    )  # fmt: skip
    for name in ("cancelled1", "cancelled2"):
        jobs[name].wait_output("step 3/3").cancel()
    again.wait_output("first")
    cluster.node("login", ["scontrol", "requeue", str(again.id)])
    again.skip_requeue_delay()
    for job in (*jobs.values(), again):
        job.wait(timeout=300)
    wait_until(
        "the array has ended",
        lambda: not cluster.node("login", ["squeue", "--noheader"]).stdout.strip(),
    )

    done = envcfg(
        "jobs", str(workdir), "--accounting", accounting_of(cluster, workdir),
        "--format", "ndjson", "--store", str(workdir / "jobs.db"),
    )  # fmt: skip
    rows = {row["id"]: row for row in map(json.loads, done.text.splitlines())}
    assert len(rows) == len(jobs) + 1 + 3
    for name, job in jobs.items():
        row, (_, state, verdict) = rows[str(job.id)], ENDS[name[:-1]]
        assert (row["name"], row["state"], row["verdict"]) == (name, state, verdict), (
            row
        )
    tasks = [row for row in rows.values() if row["array"] == str(array.id)]
    assert sorted(row["id"] for row in tasks) == [
        f"{array.id}_{at}" for at in (1, 2, 3)
    ]
    assert {row["state"] for row in tasks} == {"COMPLETED", "FAILED"}
    assert rows[str(again.id)]["state"] == "COMPLETED"
    shown = envcfg("jobs", "--store", str(workdir / "jobs.db")).text
    assert "2 jobs broken: ValueError: corrupt shard N" in shown

    # Parts of an array of jobs make the same store.
    parts = cluster.submit(
        "#!/bin/bash\n"
        f"{tool}/envcfg jobs --part $SLURM_ARRAY_TASK_ID/4 {workdir} "
        ">part-$SLURM_ARRAY_TASK_ID.ndjson\n",
        *OPTIONS, "--array=1-4", "--output=part-%a.log.json",
    )  # fmt: skip
    assert parts.id
    wait_until(
        "the parts have ended",
        lambda: not cluster.node("login", ["squeue", "--noheader"]).stdout.strip(),
    )
    files = sorted(map(str, workdir.glob("part-*.ndjson")))
    assert len(files) == 4
    store = str(workdir / "parts.db")
    read = envcfg("jobs", *files, "--store", store, "--format", "ndjson").text
    same = {row["files"][0] for row in map(json.loads, read.splitlines())}
    assert same == {row["files"][0] for row in rows.values()}


def test_the_epilog_of_the_page_adds_one_job(cluster: Cluster, tmp_path: Path) -> None:
    job = submit(cluster, "one", STEPS).wait()
    page = (ROOT / "docs/how-to/many-jobs.md").read_text()
    script = page.partition("# EpilogSlurmctld\n")[2].partition("```")[0]
    store = tmp_path / "jobs.db"
    script = script.replace("/var/lib/envcfg/jobs.db", str(store))
    script = script.replace(" envcfg ", f" {ROOT}/.venv/bin/envcfg ")
    epilog = tmp_path / "epilog"
    epilog.write_text(f"#!/bin/bash\nexport SLURM_JOB_ID={job.id}\n{dedent(script)}")
    epilog.chmod(0o755)
    done = cluster.node("login", [epilog])
    assert done.returncode == 0, done.stderr
    wait_until(
        "the store has the job",
        lambda: (
            store.exists()
            and f"one-{job.id}.out" in envcfg("jobs", "--store", str(store)).text
        ),
    )
