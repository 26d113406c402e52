"""``envcfg submit`` on the real Slurm: a job to its end, a start time, a refusal."""

from __future__ import annotations

import re
from pathlib import Path

from cluster import Cluster
from job import Job

LUMI = (
    *("--profile", "lumi-g", "--container", "none", "--partition", "small-g"),
    *("--nodes", "2", "--gpus-per-node", "1", "--time", "5", "--inline"),
)
ACCOUNT = ("--account", "project_465000001")
COMMAND = ("--", "sh", "-c", 'echo "rank $RANK of $WORLD_SIZE"')


def test_a_job_is_submitted_and_followed_to_its_end(
    cluster: Cluster, tool: Path
) -> None:
    envcfg = tool / "envcfg"
    sent = cluster.run([envcfg, "submit", *LUMI, *ACCOUNT, *COMMAND], check=True)
    number = int(re.findall(r"^job: (\d+) \(sh\.sh\)$", sent.stdout, re.M)[0])
    log = f"sh-{number}.out"
    assert f"log: {log}\nlook: envcfg check-log --follow {log}\n" in sent.stdout
    job = Job(cluster, number).wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert job.output == cluster.workdir / log
    assert "rank 1 of 2\n" in job.stdout
    again = cluster.run([envcfg, "submit", "sh.sh", "--dry-run"])
    assert again.returncode == 0, again.stderr
    assert re.match(r"would start: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d \(", again.stdout)
    assert " to start at " in again.stderr


def test_a_dry_run_writes_and_submits_nothing(cluster: Cluster, tool: Path) -> None:
    before = set(cluster.workdir.iterdir())
    asked = [tool / "envcfg", "submit", "--dry-run", *LUMI, *ACCOUNT, *COMMAND]
    done = cluster.run(asked, check=True)
    assert re.match(r"would start: \d{4}-", done.stdout), done.stderr
    assert set(cluster.workdir.iterdir()) == before
    waiting = cluster.run(["squeue", "--me", "--noheader"], check=True)
    assert waiting.stdout.strip() == ""


def test_what_slurm_refuses_has_its_words_and_code(
    cluster: Cluster, tool: Path
) -> None:
    (cluster.workdir / "job.sh").write_text(
        "#!/bin/bash\n#SBATCH --nodes=1 --time=5 --partition=absent\nset -e\nhostname\n"
    )
    asked = ["sbatch", "job.sh"]
    own = cluster.run(asked)
    done = cluster.run([tool / "envcfg", "submit", "job.sh"])
    assert (done.returncode, done.stdout) == (own.returncode, "")
    assert own.returncode != 0
    for line in own.stderr.splitlines():
        assert line in done.stderr
    assert "hint: sinfo --summarize lists the partitions\n" in done.stderr
