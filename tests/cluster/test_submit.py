"""``envcfg submit`` on the real Slurm: a job to its end, a start time, a refusal."""

from __future__ import annotations

import re
from pathlib import Path

from cluster import Cluster
from job import Job

LUMI = (
    *("--profile", "lumi-g", "--container", "none", "--partition", "small-g"),
    *("--nodes", "2", "--gpus-per-node", "1", "--time", "5"),
)
ACCOUNT = ("--account", "project_465000001")
COMMAND = ("--", "sh", "-c", 'echo "rank $RANK of $WORLD_SIZE"')


def test_a_job_is_submitted_and_followed_to_its_end(
    cluster: Cluster, tool: Path
) -> None:
    envcfg = tool / "envcfg"
    sent = cluster.run([envcfg, "submit", *LUMI, *ACCOUNT, *COMMAND], check=True)
    number = int(re.findall(r"^job: (\d+) \(sh-\1\.sh\)$", sent.stdout, re.M)[0])
    log = f"sh-{number}.out"
    assert "\nstart: about 20" in sent.stdout
    assert f"log: {log}\nlook: envcfg check-log --follow {log}\n" in sent.stdout
    job = Job(cluster, number).wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert job.output == cluster.workdir / log
    assert "rank 1 of 2\n" in job.stdout
    again = cluster.run([envcfg, "submit", f"sh-{number}.sh", "--dry-run"])
    assert again.returncode == 0, again.stderr
    assert re.match(r"would start: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d \(", again.stdout)
    assert " to start at " in again.stderr


def test_two_submissions_of_a_project_need_its_options_once(
    cluster: Cluster, tool: Path
) -> None:
    project = cluster.workdir / "project"
    cluster.run(["mkdir", project], check=True)  # others may write the folder above
    cluster.workdir.chmod(0o755)
    enter = f"cd {project} && {tool}/envcfg submit"
    first = " ".join(["--save-defaults", *LUMI[:-2], *ACCOUNT, "--time", "5"])
    command = "-- sh -c 'echo rank $RANK'"
    sent = cluster.run(["bash", "-c", f"{enter} {first} {command}"], check=True)
    assert re.search(r"^start: about \d{4}-\d\d-\d\dT", sent.stdout, re.M), sent.stderr
    assert (
        "note: request: --account=project_465000001 --partition=small-g" in sent.stderr
    )
    assert "has profile, account, partition, container" in sent.stderr
    rest = "-N 2 --gpus-per-node 1 --time 5"
    sent = cluster.run(["bash", "-c", f"{enter} {rest} {command}"], check=True)
    number = int(re.findall(r"^job: (\d+) ", sent.stdout, re.M)[0])
    job = Job(cluster, number).wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert "rank 1\n" in job.stdout


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


def test_a_job_runs_without_the_bad_nodes(cluster: Cluster, tool: Path) -> None:
    one = [word if word != "2" else "1" for word in LUMI]
    bad = cluster.workdir / "bad.txt"
    (cluster.workdir / "job.sh").write_text(
        "#!/bin/bash\n#SBATCH --nodes=1 --time=5 --partition=small-g\n"
        "#SBATCH --account=project_465000001 -o job-%j.out\nset -e\nhostname\n"
    )
    made = [*("submit", *one, *ACCOUNT, "--exclude-from", "bad.txt"), "--", "hostname"]
    for left_out, other in (("nid001000", "nid001001"), ("nid001001", "nid001000")):
        bad.write_text(f"{left_out}\n$(touch pwned)\n")
        for words in (made, ["submit", "job.sh", "--exclude-from", "bad.txt"]):
            sent = cluster.run([tool / "envcfg", *words], check=True)
            number = int(re.findall(r"^job: (\d+)", sent.stdout, re.M)[0])
            job = Job(cluster, number).wait(timeout=120)
            assert job.state == "COMPLETED", job.stdout
            nodes = cluster.run(["scontrol", "show", "job", str(number)]).stdout
            assert f" ExcNodeList={left_out}\n" in nodes
            assert f"   NodeList={other}\n" in nodes
    bad.write_text("no-such-node\n")
    refused = cluster.run([tool / "envcfg", *made])
    assert refused.returncode != 0
    assert "hint: a node of --exclude, --exclude-from" in refused.stderr
    assert not (cluster.workdir / "pwned").exists()


def test_jobs_submitted_at_once_are_different_jobs(
    cluster: Cluster, tool: Path
) -> None:
    asked = " ".join((*LUMI, *ACCOUNT))
    loop = (
        f"for i in $(seq 20); do {tool}/envcfg submit {asked}"
        " -- sh -c 'echo seed $0' $i & done; wait"
    )
    sent = cluster.run(["bash", "-c", loop], check=True)
    numbers = [int(n) for n in re.findall(r"^job: (\d+) ", sent.stdout, re.M)]
    assert len(set(numbers)) == 20, sent.stderr
    seeds = []
    for number in numbers:
        job = Job(cluster, number).wait(timeout=300)
        assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
        seeds += [*set(re.findall(r"^seed (\d+)$", job.stdout, re.M))]
    assert sorted(map(int, seeds)) == [*range(1, 21)]


def test_a_job_that_starts_again_runs_the_script_that_was_submitted(
    cluster: Cluster, tool: Path
) -> None:
    path = cluster.workdir / "again.sh"
    path.write_text(
        "#!/bin/bash\n#SBATCH --nodes=1 --time=5 --requeue --open-mode=append\nset -e\n"
        'echo "start ${SLURM_RESTART_COUNT:-0} of $SLURM_JOB_NAME"\n'
        'if [[ -z ${SLURM_RESTART_COUNT-} ]]; then scontrol requeue "$SLURM_JOB_ID"; sleep 60; fi\n'
    )
    sent = cluster.run([tool / "envcfg", "submit", "again.sh"], check=True)
    path.write_text("#!/bin/bash\necho another script\n")
    number = int(re.findall(r"^job: (\d+) ", sent.stdout, re.M)[0])
    job = Job(cluster, number).refresh()
    job.wait_output("start 0 of again.sh")
    job.skip_requeue_delay()
    job.wait(timeout=60)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert "start 0 of again.sh\n" in job.stdout
    assert "start 1 of again.sh\n" in job.stdout
    assert "another" not in job.stdout
