"""Job scripts as files to read in a review; each is also checked and executed.

After a change: ``pytest --update-golden``, then read the diff.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from asking import NEEDED, asking
from envcfg.profile.catalog import Catalog
from golden_text import compare_digest, compare_text
from suites import DAILY, FEW, mark_systems
from support import (
    ACROSS,
    JOB,
    ROOT,
    Wrapped,
    bash,
    envcfg,
    environment,
    lint_script,
    lint_shell,
    zero_separated,
)

GOLDEN = ROOT / "tests/golden/jobs"
DUMP = ROOT / "tests/cluster/programs/dump.py"
STEP = ("--container", "none", "--", "python3", "dump.py", "out", "a b")
# Two nodes of each system; families, and what extends one without a word of its own, as
# one of theirs.
SYSTEMS = [
    name
    for name in NEEDED
    if not name.startswith(("slingshot", "roce", "efa", "crusher", "aws-p4d"))
]
CASES = {
    **{name: asking(name, 2) for name in SYSTEMS},
    "lumi-one-node": (*asking("lumi-g"), "--fact", "rocm=6.2.4"),
    "lumi-one-gpu": (
        *("--profile", "lumi-g", "--account", "project_465000001", "--gpus", "1"),
        *("--partition", "small-g", "--time", "1:00:00"),
    ),
    "lumi-whole-small": (*asking("lumi-g"), "--partition", "small-g"),
    "lumi-torchrun": (*asking("lumi-g", 2), "--launcher", "torchrun"),
    "mahti-requeue": (
        *(*asking("mahti"), "--requeue=2", "--signal", "USR2@300", "--array", "0-9%2"),
        *("--set", "WORDS=a 'b' ${RANK}", "--unset", "NCCL_DEBUG"),
    ),
    "derecho-shared": (
        *("--profile", "derecho", "--account", "U1", "--partition", "develop"),
        *("--gpus", "2", "--time", "1:30:00", "--array", "0-9%2", "--log", "logs/%x.out"),
        *("--request-arg=--job_priority=economy", "--request-arg=-r=y", "--exclusive"),
    ),
    "puhti-disk": (*asking("puhti"), "--nvme", "100", "--request-arg=--mail-type=END"),
}  # fmt: skip

# All variants are daily, and of the systems the archetypes.
MARKED = [*mark_systems(SYSTEMS), *list(CASES)[len(SYSTEMS) :]]


def settled(text: str) -> str:
    """Return *text* without its folder, and the hashes, which any change changes."""
    text = text.replace(str(Path.cwd()), "/home/me")
    return re.sub(r"\b[0-9a-f]{16,64}\b", "HASH", text)


def made(name: str, *more: str) -> str:
    """Return the script; with ``--split`` the machinery is in another file."""
    done = envcfg("sbatch", *CASES[name], *more, "-o", "job.sh", "--force", *STEP)
    assert done.code == 0, done.err
    return Path("job.sh").read_text()


@pytest.mark.parametrize("name", MARKED)
def test_the_job_script_is_as_reviewed(
    name: str, wrap: Callable[..., Wrapped], request: pytest.FixtureRequest
) -> None:
    assert callable(wrap)  # the fixture keeps other layers away
    text = settled(made(name, "--split"))
    if name in {*SYSTEMS} - DAILY:
        compare_digest(name, text, GOLDEN / "digests.txt", request)
    else:
        compare_text(text, GOLDEN / f"{name}.sh", request)
    assert lint_shell(text.encode(), "bash", exclude=ACROSS) == ""


def test_every_system_with_a_scheduler_is_asked(built_in: Catalog) -> None:
    schedulers = {name: built_in.load(name).request for name in built_in.names()}
    asked = {
        name for name, each in schedulers.items() if each and each.scheduler != "none"
    }
    assert set(NEEDED) == asked, "NEEDED of tests/asking.py has what a request needs"


@pytest.mark.parametrize("name", mark_systems(NEEDED, FEW))
def test_every_system_gets_a_clean_script(
    name: str, wrap: Callable[..., Wrapped]
) -> None:
    assert callable(wrap)
    done = envcfg("sbatch", *asking(name), *STEP)
    assert done.code == 0, done.err
    assert re.search(r"--nodes=1\n|select=1[:\n]", done.text)
    text = done.text
    assert bash("bash -n", stdin=text.encode()).returncode == 0
    assert lint_script(text) == ""


@pytest.fixture
def folder(
    tmp_path: Path,
    fakes: Path,
    monkeypatch: pytest.MonkeyPatch,
    wrap: Callable[..., Wrapped],
) -> Path:
    """A folder with the program, and envcfg on PATH."""
    assert fakes.is_dir()
    assert callable(wrap)
    (tmp_path / "dump.py").write_bytes(DUMP.read_bytes())
    tool = tmp_path / "tool/envcfg"
    tool.parent.mkdir()
    tool.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m envcfg "$@"\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("ENVCFG_TOOL", str(tool.parent))
    return tmp_path


def run(text: str, folder: Path, **env: str) -> tuple[int, str]:
    """Run *text* as Slurm does: as a file, outside the folder."""
    script = folder / "slurm_script"
    script.write_text(text)
    done = bash(f'PATH=$ENVCFG_TOOL:$PATH exec bash "{script}"', **env)
    return done.returncode, done.stdout.decode() + done.stderr.decode()


@pytest.mark.parametrize("split", [("--split",), ()], ids=["two files", "one"])
@pytest.mark.parametrize(
    "name",
    ["lumi-g", "setonix", "mahti", "perlmutter", "tuolumne", "polaris", "derecho"],
)
def test_the_job_script_runs_its_program_on_every_rank(
    name: str,
    split: tuple[str, ...],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = made(name, *split)  # here, not in / where PBS starts it
    tasks = 8 if name in {"lumi-g", "setonix"} else 4
    env = {"FAKE_NODES": "2", "FAKE_TASKS": str(tasks), "SLURM_NNODES": "2"}
    if name == "tuolumne":
        env["FLUX_URI"] = "local:///run/flux/local"
    if name in {"polaris", "derecho"}:
        (folder / "nodes").write_text("n1\nn2\n")
        env |= {"PBS_JOBID": "1.pbs", "PBS_NODEFILE": f"{folder}/nodes"}
        env["PBS_O_WORKDIR"] = str(folder)  # PBS starts its jobs in the home folder
        monkeypatch.chdir("/")
    code, said = run(script, folder, **env)
    assert code == 0, said
    ranks = range(2 * tasks)
    assert len(list((folder / "out").glob("*.env"))) == len(ranks)
    for rank in ranks:
        assert zero_separated(folder / f"out/{rank}.args") == [b"a b"]
        seen = environment(folder / f"out/{rank}.env")
        assert seen[b"WORLD_SIZE"] == str(len(ranks)).encode()
        if name == "setonix":  # where srun takes nothing over
            assert seen[b"SLURM_GPUS_PER_NODE"] == b"8"
            assert seen[b"SRUN_CPUS_PER_TASK"] == b"8"
    if name == "setonix":
        options = zero_separated(folder / "notes/srun")
        assert b"--ntasks=16" in options
        assert b"--ntasks-per-node=8" in options


@pytest.mark.parametrize("split", [("--split",), ()], ids=["two files", "one"])
def test_the_job_ends_with_the_code_of_its_program(
    split: tuple[str, ...], folder: Path
) -> None:
    done = envcfg(
        "sbatch",
        *asking("lumi-g"),
        *split,
        "--container",
        "none",
        "--",
        "sh",
        "-c",
        "exit 7",
    )
    assert run(done.text, folder)[0] == 7


WARNED = """\
#!/bin/bash
# Stands for a program that saves when it is warned, as a program does.
trap 'echo saved; exit CODE' USR1
kill -USR1 "$SHELL_OF_JOB"
while :; do sleep 0.05; done
"""


@pytest.mark.parametrize("split", [("--split",), ()], ids=["two files", "one"])
@pytest.mark.parametrize(
    ("ends", "code", "says", "again"),
    [
        ("0", 0, "the job starts again", True),
        ("3", 3, "the program ended with 3", False),
    ],
)
def test_a_warned_program_saves_and_the_job_starts_again(
    ends: str, code: int, says: str, again: bool, split: tuple[str, ...], folder: Path
) -> None:
    program = folder / "train"
    program.write_text(WARNED.replace("CODE", ends))
    program.chmod(0o755)
    (folder / "tool/scontrol").write_text(
        '#!/bin/sh\necho "$@" >"$FAKE_NOTES/scontrol"\n'
    )
    (folder / "tool/scontrol").chmod(0o755)
    # The real srun passes the signal on to the tasks; this one becomes its only task.
    (folder / "tool/srun").write_text(
        "#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\n"
        "export SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_ID=0\n"
        "export SLURM_STEP_NUM_NODES=1 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_NODELIST=node1\n"
        'export SLURM_STEP_TASKS_PER_NODE=1 SLURMD_NODENAME=node1\nexec "$@"\n'
    )
    (folder / "tool/srun").chmod(0o755)
    options = (*asking("lumi-g"), "--requeue", *split, "--container", "none")
    done = envcfg("sbatch", *options, "--", "./train")
    assert done.code == 0, done.err
    text = done.text.replace(
        "# --- The step", "export SHELL_OF_JOB=$$\n# --- The step", 1
    ).replace("# --- What this job", "export SHELL_OF_JOB=$$\n# --- What this job", 1)
    assert text.count("SHELL_OF_JOB") == 1
    found = run(text, folder)
    assert found[0] == code, found
    assert "saved" in found[1]
    assert says in found[1]
    noted = folder / "notes/scontrol"
    assert noted.exists() == again
    if again:
        assert noted.read_text() == f"requeue {JOB}\n"


def test_a_program_that_ends_by_itself_is_not_started_again(folder: Path) -> None:
    done = envcfg(
        "sbatch",
        *asking("lumi-g"),
        "--requeue",
        "--container",
        "none",
        "--",
        "sh",
        "-c",
        "exit 5",
    )
    code, said = run(done.text, folder)
    assert code == 5, said
    assert "again" not in said
