"""Options as the scheduler's own parser reads them; sbatch itself is asked where it is."""

import random
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envcfg.lint.directive import ScriptDirectives
from envcfg.lint.traced_text import Flat, plain

# What sbatch refuses, and the beginning of what it says.
REFUSED = {
    "--node=2": "sbatch: option '--node=2' is ambiguous; possibilities: '--nodefile' '",
    "--gpu-per-node=8": "sbatch: unrecognized option '--gpu-per-node=8'",
    "--ntask-per-node 8": "sbatch: unrecognized option '--ntask-per-node'",
    "--job_name=a": "sbatch: unrecognized option '--job_name=a'",
    "--x11": "sbatch: unrecognized option '--x11'",
    "-gres=gpu:1": "sbatch: invalid option -- 'g'",
    "--time 24h": "sbatch: error: Invalid --time specification",
    "-time=1:00:00": "sbatch: error: Invalid --time specification",
    "--time=1:00:00:00": "sbatch: error: Invalid --time specification",
    "--time=1-00:": "sbatch: error: Invalid --time specification",
    "--time=1.5": "sbatch: error: Invalid --time specification",
    "--mem=64 GB": "sbatch: error: Invalid directive found in batch script: GB",
    "--mem=1.5G": "sbatch: error: Invalid --mem specification",
    "--mem=64GiB": "sbatch: error: Invalid --mem specification",
    "--mem-per-cpu=": "sbatch: error: Invalid --mem-per-cpu specification",
    "--mem=1G --mem-per-cpu=1G": "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per",
    "--ntasks-per-gpu=1 --ntasks-per-node=4": "sbatch: fatal: --ntasks-per-node is mu",
    "--ntasks=0": 'sbatch: error: Invalid numeric value "0" for --ntasks.',
    "--cpus-per-task=7.0": 'sbatch: error: Invalid numeric value "7.0" for --cpus-per-',
    "--ntasks-per-node=2-4": 'sbatch: error: Invalid numeric value "2-4" for --ntasks-',
    "--nodes=two": 'sbatch: error: "two" is not a valid node count',
    "-N=2": 'sbatch: error: "=2" is not a valid node count',
    "--nodes=4-2": "sbatch: error: Maximum node count 2 is less than minimum node cou",
    "--nodes 2 two": "sbatch: error: Invalid directive found in batch script: two",
    "\u2013nodes=2": "sbatch: error: Invalid directive found in batch script: \u2013no",
    "nodes=2": "sbatch: error: Invalid directive found in batch script: nodes=2",
    "--exclusive=1": "sbatch: error: Invalid --exclusive specification",
    "--signal=B:USR1@60s": "sbatch: error: Invalid --signal specification",
    "--mail-type=BEGIN|END": "sbatch: error: Invalid --mail-type specification",
    "--open-mode=x": "sbatch: error: Invalid --open-mode specification",
    "--hint=none": 'sbatch: error: unrecognized --hint argument "none", see --hint=he',
    "--distribution=foo": "sbatch: error: Invalid --distribution specification",
    "--account": "sbatch: option '--account' requires an argument",
    "--contiguous=1": "sbatch: option '--contiguous' doesn't allow an argument",
    "--wait=10": "sbatch: option '--wait' doesn't allow an argument",
    '--job-name="a b': "sbatch: fatal: ",
    "a : --nodes=2": "sbatch: fatal: ",
    "--gres=8": "sbatch: error: Invalid generic resource (gres) specification",
    "-G 1 --gpus-per-task=4 -n1": "sbatch: error: Failed to ensure --gpus >= --gres=",
    "-G 2 --gpus-per-node=4": "sbatch: error: Failed to ensure --gpus >= --gres=gpu/",
    "-G a:2 --gpus-per-node=a:4": "sbatch: error: Failed to ensure --gpus >= --gres=",
    "-G 4 -N 8": "sbatch: error: Failed to validate job spec, --gpus < -N",
    "-G 5 --gres=gpu:4": "sbatch: error: Failed to validate job spec, --gpus is not m",
    "-G 8 --gres=gpu:4 -N 4": "sbatch: error: Failed to validate job spec. Based on -",
    "-G 3 --gpus-per-task=2 -n 2": "sbatch: error: Failed to validate job spec, --gpu",
    "-G 8 --gpus-per-task=2 -n 2": "sbatch: error: Failed to validate job spec. Based",
    "-G 8 --gpus-per-task=1 -N 2": "sbatch: error: Failed to validate job spec. Based",
    "-n 2 --gpus-per-task=4 --gres=gpu:2": "sbatch: error: Failed to ensure --gpus >=",
    "-N 2 --ntasks-per-node=4 --gpus-per-task=2 --gpus-per-node=4": "sbatch: error: F",
    "--gpus-per-task=1": "sbatch: error: Failed to validate job spec. --gpus-per-task",
    "--gpus-per-task=1 --gres=gpu:1": "sbatch: error: Failed to validate job spec. --",
}
TAKEN = [
    *("--time=99:99", "--time=0", "-t 1-", "--time=unlimited", "--mem=64gb", "--mem=0"),
    *("--nodes=2-4", "--nodes=1k", "-N2", "--ntasks=08", "--part=a", "--tasks=2"),
    *("--exclusive", "--exclusive=user", "--signal=R:10@60", "--gres=gpu:a100:2"),
    *("--gpus=a100:4", "--job-name='a b'", "--comment=a#b", "--no-kill=off", "--nice="),
    *("--mail-type=ALL,x", "-m block:cyclic:fcyclic,pack", "--hint=MULTITHREAD"),
    *("--gpus-per-task=1 -N1", "--gpus-per-task=1 -n 2", "--gpus-per-task=1 -G 2"),
    *("-G 4 -N 2-8", "-G 3 -N 2", "-G 8 --gpus-per-node=4 -N 1-2", "-G 0 -N 2"),
    *("-G 8 --gpus-per-task=1 -N 2 --ntasks-per-node=4", "-N 1 --gpus-per-task=1 -G 1"),
    *("-n 2 --gpus-per-task=1 --gres=gpu:4", "-G 8 --gpus-per-task=1 -N 2-4"),
    *("--gpus-per-task=1 --ntasks-per-node=2", "--gpus-per-task=0"),
    *("--nodes=2 # two", "#", "", "--requeue", "--get-user-env=5"),
]
CONFIGURATION = """\
ClusterName=none
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=1
MessageTimeout=2
SelectType=select/cons_tres
GresTypes=gpu
NodeName=n1 Gres=gpu:4
PartitionName=p Nodes=n1
"""
needs_sbatch = pytest.mark.skipif(not shutil.which("sbatch"), reason="no sbatch here")


def script_of(*directives: str) -> str:
    return "\n".join(["#!/bin/bash", *(f"#SBATCH {d}" for d in directives), "p", ""])


def refusals(script: str) -> list[str]:
    chars = script.encode().decode("latin-1")
    problems = ScriptDirectives(Flat(plain(chars, 0)), "slurm").problems
    return [each.message for each in problems if each.kind == "refused"]


def sbatch(folder: Path, script: str) -> str:
    """Return what the real one says of a script; it finds no controller."""
    (folder / "slurm.conf").write_text(CONFIGURATION)
    (folder / "job.sh").write_text(script)
    done = subprocess.run(
        ["sbatch", "--test-only", str(folder / "job.sh")],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "SLURM_CONF": str(folder / "slurm.conf")},
        timeout=60,
        check=False,
    )
    return done.stderr


@pytest.mark.parametrize("directive", REFUSED)
def test_what_sbatch_refuses_has_its_words(directive: str) -> None:
    said = refusals(script_of(directive))
    assert said
    assert said[0].startswith(REFUSED[directive])


@pytest.mark.parametrize("directive", TAKEN)
def test_what_sbatch_takes_is_not_refused(directive: str) -> None:
    assert refusals(script_of(directive)) == []


@needs_sbatch
@pytest.mark.parametrize("directive", REFUSED)
def test_the_real_sbatch_says_so(directive: str, tmp_path: Path) -> None:
    assert REFUSED[directive] in sbatch(tmp_path, script_of(directive))


@needs_sbatch
def test_the_real_sbatch_takes_them(tmp_path: Path) -> None:
    said = sbatch(tmp_path, script_of(*TAKEN))
    assert "nable to contact slurm controller" in said


FILES = {
    "# x\n#!/bin/bash\n#SBATCH -N2\np\n": "This does not look like a batch script.",
    "\ufeff#!/bin/bash\n#SBATCH -N2\np\n": "This does not look like a batch script.",
    "#!/bin/bash\n#SBATCH--time=24h\np\n": "Invalid --time specification",
    "#!/bin/bash\n#SBATCH -N2\n#SBATCH hetjob\n#SBATCH -N x\np\n": "not a valid node cou",
}


@pytest.mark.parametrize("script", FILES)
def test_a_file_that_sbatch_refuses_is_refused(script: str) -> None:
    assert FILES[script] in "".join(refusals(script))


@needs_sbatch
@pytest.mark.parametrize("script", FILES)
def test_the_real_sbatch_refuses_the_file(script: str, tmp_path: Path) -> None:
    assert FILES[script] in sbatch(tmp_path, script)


@pytest.mark.parametrize("option", ["nodes", "ntasks", "mem", "time", "gres", "array"])
def test_a_number_of_5000_digits_is_read(option: str) -> None:
    refusals(script_of(f"--{option}={'9' * 5000}", f"--{option}={'9' * 5000}-1"))


@needs_sbatch
def test_numbers_of_gpus_agree_with_the_real_sbatch(tmp_path: Path) -> None:
    chance = random.Random(1)
    choices = {
        "gpus": (1, 2, 3, 4, 8), "gpus-per-node": (1, 2, 4), "gpus-per-task": (1, 2, 4),
        "nodes": (1, 2, 4, "1-2"), "ntasks": (1, 2, 4, 8), "ntasks-per-node": (1, 2, 4),
    }  # fmt: skip
    directives = []
    for number in range(60):
        names = [name for name in choices if chance.random() < 0.5]
        given = " ".join(f"--{name}={chance.choice(choices[name])}" for name in names)
        directives.append(given)
        (tmp_path / str(number)).mkdir()
    # A script that sbatch takes waits for a controller, so all are asked at once.
    with ThreadPoolExecutor(20) as pool:
        folders = (tmp_path / str(number) for number in range(60))
        answers = list(pool.map(sbatch, folders, map(script_of, directives)))
    wrong = [
        (given, answer)
        for given, answer in zip(directives, answers, strict=True)
        if ("controller" in answer) == bool(refusals(script_of(given)))
    ]
    assert wrong == []
