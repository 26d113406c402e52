"""``wrap --from``: a signal to the batch shell does in the new script what it did in the old one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from compare import JOB, PROFILE, STANDINS, compared
from old_scripts import HEAD, PIECES_LINE, STEP

from support import envcfg

pytestmark = pytest.mark.nightly

# Like srun: hands signals on to its task.
SRUN = """\
#!/usr/bin/env bash
export SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_NODES=1 \\
  SLURM_STEP_NUM_TASKS=1 SLURM_STEP_TASKS_PER_NODE=1 SLURM_STEP_NODELIST=node1 SLURMD_NODENAME=node1
if [[ ${1-} == --help ]]; then exit; fi
while [[ ${1-} == -* ]]; do shift; done
for name in TERM USR1; do trap "kill -$name \\$task" $name; done
"$@" </dev/null &
task=$!
while wait $task; kill -0 $task 2>/dev/null; do :; done
wait $task # a signal cuts the one above short
"""
TASK = """\
#!/usr/bin/env bash
for name in TERM USR1; do trap "echo $name >$NOTES/heard; exit 7" $name; done
: >"$NOTES/ready"
for ((i = 0; i < 10; i++)); do sleep 0.05; done
"""
TRAP = "trap 'echo got' USR1 TERM\n"
SCRIPTS = {
    "trap": f"{TRAP}{STEP}\necho behind $?",
    "trap that ends": f"trap 'echo got; exit 3' USR1 TERM\n{STEP}\necho behind $?",
    "background": f"{TRAP}{STEP} &\nwait\necho behind $?\nwait",
    "handed on": (
        f'for s in USR1 TERM; do trap "echo got; kill -$s \\$pid" $s; done\n{STEP} &\n'
        "pid=$!\nwait $pid\nwait $pid\necho behind $?"
    ),
    "ignored": f"trap '' USR1 TERM\n{STEP}\necho behind $?",
    "timeout": f"{TRAP}timeout 30 {STEP}\necho behind $?",
    "exec": f"exec {STEP}",
    "exec behind a trap": f"{TRAP}exec {STEP}",
}


class Ended(NamedTuple):
    """What became of a script that got a signal; *heard*: by its task."""

    code: int
    out: bytes
    heard: str


def run(script: bytes, folder: Path, number: signal.Signals) -> Ended:
    folder.mkdir()
    for name, text in (("srun", SRUN), ("python", TASK)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "singularity").symlink_to(STANDINS / "singularity")
    (folder / "envcfg").symlink_to(Path(sys.executable).parent / "envcfg")
    (folder / "x.sif").touch()
    (folder / "job.sh").write_bytes(script)
    names = {"HOME": str(folder), "NOTES": str(folder), "USER": "me", **JOB}
    names["PATH"] = f"{folder}:{os.defpath}"
    names["XDG_CACHE_HOME"] = os.environ["XDG_CACHE_HOME"]
    with subprocess.Popen(
        ["bash", "job.sh"],
        cwd=folder,
        env=names,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        end = time.monotonic() + 30
        while not (folder / "ready").exists():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    heard = folder / "heard"
    return Ended(process.returncode, out, heard.read_text() if heard.exists() else "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_signal_does_what_it_did(
    name: str, number: signal.Signals, tmp_path: Path
) -> None:
    old, new = both(SCRIPTS[name], number, tmp_path)
    assert new == old


@pytest.mark.parametrize("trap", ["", "echo got"])
def test_term_ends_each_form_of_a_launch_line_as_before(
    trap: str, tmp_path: Path
) -> None:
    head = f"{HEAD}trap '{trap}' TERM\n" if trap else HEAD
    differ = {}
    # After exec the signal goes to srun, which the stand-in here does not handle.
    lines = {name: line for name, line in PIECES_LINE.items() if name != "exec"}
    for number, (name, line) in enumerate(lines.items()):
        (tmp_path / str(number)).mkdir()
        script = f"{head}{line} train.py\necho code $?\n"
        folder = tmp_path / str(number)
        if difference := compared(script, folder, number=signal.SIGTERM):
            differ[name] = difference
    assert differ == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_without_a_trap_the_job_ends_as_before_but_the_step_hears_it(
    number: signal.Signals, tmp_path: Path
) -> None:
    old, new = both(f"{STEP}\necho behind", number, tmp_path)
    assert old == Ended(-number, b"", "")
    assert new == Ended(-number, b"", f"{number.name[3:]}\n")


def both(script: str, number: signal.Signals, folder: Path) -> tuple[Ended, Ended]:
    (folder / "plain.yaml").write_text(PROFILE)
    (folder / "old.sh").write_text(f"{HEAD}{script}\n")
    made = envcfg(
        "wrap", "--from", f"{folder}/old.sh", "--profile", f"{folder}/plain.yaml"
    )
    assert made.code == 0, made.err
    old = run(f"{HEAD}{script}\n".encode(), folder / "old", number)
    return old, run(made.out, folder / "new", number)
