"""The recipes of examples/, by the tools that they are for, as their pages say.

The files are run as they stand, but for the numbers of ranks (`SMALLER`): each of them loads
PyTorch, and the machine has two cores. This Slurm has no accounting, so Snakemake is told to
ask squeue and to look for no account.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jobs
import pytest

from cluster import UID, Cluster
from forms import CACHE, drop_unused
from job import Job
from tool import PYTHON, ROOT

pytestmark = pytest.mark.nightly

# One environment for all of them: hosts and containers have the same Python.
LOCK = ROOT / "requirements/tools.txt"
BUILD = ROOT / "requirements/build.txt"  # builds what has no wheel
SMALLER = {
    "submitit/submit.py": {
        "ntasks_per_node=8": "ntasks_per_node=2",
        "gpus_per_node=8": "gpus_per_node=2",
    },
    "hydra/conf/config.yaml": {"tasks_per_node: 8": "tasks_per_node: 2"},
    "snakemake/Snakefile": {"tasks=16": "tasks=4"},
    "reframe/network.py": {
        "num_tasks = 16": "num_tasks = 4",
        "num_tasks_per_node = 8": "num_tasks_per_node = 2",
    },
}
# LUMI's own, but for the devices and folders that the nodes do not have.
SITE = """\
name: site
extends: lumi-g
expect: {devices: [/dev/null], why: a test, source: a test, date: 2026-11-22}
"""


@pytest.fixture(scope="module")
def tools(cluster: Cluster) -> Path:
    """Return a virtual environment with the tools; a minute the first time."""
    assert cluster.is_up
    inputs = (LOCK.read_bytes(), BUILD.read_bytes(), PYTHON)
    key = hashlib.sha256(repr(inputs).encode()).hexdigest()
    target = CACHE / f"tools-{key[:16]}"
    drop_unused("tools-*")
    if (target / "complete").exists():
        target.touch()
    else:
        shutil.rmtree(target, ignore_errors=True)
        _run(PYTHON, "-m", "venv", target)
        pip = (target / "bin/pip", "--quiet", "--disable-pip-version-check")
        for lock in (BUILD, LOCK):
            options = ("--require-hashes", "--no-build-isolation", "-r", lock)
            _run(ROOT / "scripts/retry", *pip, "install", *options)
        # Only now, as pip would take what the machine has and no image: torch is the image's.
        _run(PYTHON, "-m", "venv", "--system-site-packages", "--without-pip", target)
        _run("chmod", "-R", "a+rX", target)
        (target / "complete").touch()
    return target


def _run(*argv: str | Path) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (argv, done.stdout[-4000:], done.stderr[-4000:])


@dataclass
class Recipe:
    """A copy of a folder of examples/, with the image and the tools beside it."""

    cluster: Cluster
    folder: Path
    env: dict[str, str]

    def run(
        self, *argv: str | Path, timeout: float = 170
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the login host, in the folder."""
        return self.cluster.run(argv, env=self.env, cwd=self.folder, timeout=timeout)


@pytest.fixture
def recipe(
    cluster: Cluster,
    tool: Path,
    tools: Path,
    workdir: Path,
    request: pytest.FixtureRequest,
) -> Recipe:
    """Copy the folder that the test's parameter or name says."""
    name = re.sub("^test_(.*?)_.*", r"\1", request.function.__name__)
    folder = workdir / name
    shutil.copytree(ROOT / "examples" / name, folder)
    for file, changes in SMALLER.items():
        if file.startswith(f"{name}/"):
            _change(workdir / file, changes)
    (folder / "pytorch.sif").symlink_to(cluster.pytorch_image)
    (folder / "venv").symlink_to(tools)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, UID, UID, follow_symlinks=False)
    path = f"{tool}:{tools}/bin:/usr/local/bin:/usr/bin:/bin"
    # As a site does that shows its own folders in every container.
    return Recipe(cluster, folder, {"PATH": path, "APPTAINER_BIND": str(tools)})


def _change(file: Path, changes: dict[str, str]) -> None:
    text = file.read_text()
    for old, new in changes.items():
        assert text.count(old) >= 1, old
        text = text.replace(old, new)
    file.write_text(text)


def test_submitit_runs_a_function_on_all_ranks(recipe: Recipe) -> None:
    done = recipe.run("venv/bin/python", "submit.py")
    assert done.returncode == 0, done.stdout + done.stderr
    # 1 + rank, added up over four ranks
    assert "each rank: [10.0, 10.0, 10.0, 10.0]" in done.stdout


def test_hydra_sweeps_with_a_job_for_each_value(recipe: Recipe) -> None:
    done = recipe.run("venv/bin/python", "train.py", "--multirun", "lr=0.1,0.5")
    assert done.returncode == 0, done.stdout + done.stderr
    said = "".join(
        file.read_text()
        for file in sorted(recipe.folder.rglob("multirun/**/*_log.out"))
    )
    assert sorted(re.findall(r"^lr=.*$", said, re.M)) == [
        f"lr={rate} rank={rank}/2" for rate in (0.1, 0.5) for rank in (0, 1)
    ]


def test_hydra_has_the_error_of_a_rank_that_fails(recipe: Recipe) -> None:
    _change(recipe.folder / "train.py", {"rank, world =": "1 / 0\n    rank, world ="})
    done = recipe.run("venv/bin/python", "train.py", "--multirun", "lr=0.1")
    assert (done.returncode, "ZeroDivisionError" in done.stderr) == (1, True)


def test_snakemake_makes_a_model_on_two_nodes(recipe: Recipe) -> None:
    done = recipe.run(
        *("snakemake", "--workflow-profile", "profile", "--quiet", "progress"),
        *("--slurm-status-command", "squeue"),
        *("--slurm-init-seconds-before-status-checks", "1"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (recipe.folder / "model.txt").read_text() == "55 by 4 ranks\n"


def test_nextflow_has_a_script_that_runs(recipe: Recipe) -> None:
    """Nextflow itself cannot be had here: this does by hand what it does with the files."""
    config = (recipe.folder / "nextflow.config").read_text()
    (options,) = re.findall(r"clusterOptions = '(.*)'", config)
    (queue,) = re.findall("queue = '(.*)'", config)
    process = (recipe.folder / "main.nf").read_text()
    (script,) = re.findall(r'"""\n(.*?)\n *"""', process, re.DOTALL)
    image = str(recipe.folder / "pytorch.sif")
    for name, value in {
        "params.image": image,
        "program": "train.py",
        "data": "data.txt",
    }.items():
        script = script.replace(f"${{{name}}}", value)
    work = recipe.folder / "work"
    recipe.run("mkdir", work)
    (recipe.folder / "data.txt").write_text("1\n2\n3\n4\n")
    for name in ("train.py", "data.txt"):
        (work / name).symlink_to(recipe.folder / name)
    (work / ".command.sh").write_text("#!/bin/bash -ue\n" + script.replace(r"\$", "$"))
    job = recipe.cluster.sbatch(
        "#!/bin/bash\n/bin/bash -ue .command.sh\n",
        *(f"--partition={queue}", *options.split()),
        *("--ntasks-per-node=2", "--time=10"),
        env=recipe.env,
        cwd=work,
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert (work / "model.txt").read_text() == "10 by 4 ranks\n"


def test_reframe_judges_nodes_and_network(recipe: Recipe) -> None:
    """The nodes have no GPU, so what NCCL would say is said by a program."""
    say(recipe, "good", jobs.Job(ranks_per_node=2))
    say(recipe, "slow", jobs.Job(ranks_per_node=2, fallen=frozenset({1})))
    (recipe.folder / "site.yaml").write_text(SITE)
    good = judged(recipe, "good")
    assert {name: case["result"] for name, case in good.items()} == {
        "NodesAreFit": "pass",
        "NetworkIsFast": "pass",
    }, good
    assert [each for each in good["NodesAreFit"]["perfvalues"] if "all_reduce" in each]
    slow = judged(recipe, "slow", "--name", "NetworkIsFast")["NetworkIsFast"]
    assert slow["result"] == "fail"
    assert "ranks use TCP sockets" in slow["fail_reason"]


def say(recipe: Recipe, name: str, job: jobs.Job) -> None:
    """Make a program that says what each rank of *job* would."""
    said: dict[int, list[str]] = {rank: [] for rank in range(job.world)}
    for line in jobs.lines(replace(job, hosts=recipe.cluster.nodes)):
        said[line.rank].append(line.text + "\n")
    for rank, texts in said.items():
        (recipe.folder / f"{name}.{rank}").write_text("".join(texts))
    program = f'cat "{recipe.folder}/{name}.$RANK"\n'
    (recipe.folder / f"{name}.sh").write_text(program)


def judged(recipe: Recipe, program: str, *options: str) -> dict[str, dict[str, Any]]:
    """Let ReFrame run the checks on a program; return their cases by name."""
    folder, report = recipe.folder, recipe.folder / f"{program}.json"
    done = recipe.run(
        *("reframe", "-C", "settings.py", "-c", "network.py", "--run", *options),
        *("-S", f"envcfg_profile={folder}/site.yaml"),
        *("-S", f"NetworkIsFast.program=sh {folder}/{program}.sh"),
        *("--report-file", report),
    )
    (run,) = json.loads(report.read_text())["runs"]
    failed = [case["result"] == "fail" for case in run["testcases"]]
    assert done.returncode == any(failed), done.stdout + done.stderr
    return {case["name"]: case for case in run["testcases"]}


def test_jupyter_answers_from_a_compute_node(recipe: Recipe) -> None:
    submitted = recipe.run("./submit.sh")
    assert submitted.returncode == 0, submitted.stderr
    job = Job(recipe.cluster, int(submitted.stdout.split()[1].rstrip(";")))
    told = recipe.folder / f"jupyter-{job.id}.txt"
    deadline = time.monotonic() + 60
    while " is running at:" not in job.refresh().stdout:
        assert time.monotonic() < deadline, job.stdout
        time.sleep(0.2)
    assert told.stat().st_mode & 0o777 == 0o600
    text = told.read_text()
    node, port = re.search(r"-L 8888:(\S+):(\d+)", text).groups()
    token = urlsplit(re.search(r"http\S+", text)[0]).query.removeprefix("token=")
    assert node in recipe.cluster.nodes
    assert token not in job.stdout
    assert not any(
        token in " ".join(process.argv) for process in recipe.cluster.processes(node)
    )
    at = f"http://{node}:{port}/api/"
    curl = ("curl", "--silent", "--noproxy", "*", "--write-out", "%{http_code}")
    assert recipe.run(*curl, f"{at}contents").stdout.endswith("403")
    known = ("--header", f"Authorization: token {token}")
    assert recipe.run(*curl, *known, f"{at}status").stdout.endswith("200")
    recipe.run(*curl, *known, "--request", "POST", f"{at}shutdown")
    job.wait(timeout=30)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
