"""A signal at any moment: no rank and no cache is left, and the exit code is as it should be.

Where envcfg itself starts the ranks; and with stand-ins, that have one task, for what
starts them elsewhere. With the real srun: tests/cluster/test_signals_cluster.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

import fuzzing
from support import JOB, Wrap

pytestmark = pytest.mark.nightly

RUNS = 60
# Who starts how many ranks.
STARTERS = (
    *(("local", 1), ("local", 8), ("local", 64), ("local", 8), ("local", 64)),
    *(("torchrun", 1), ("srun", 1), ("flux", 1), ("pbs", 1)),
)
OPTIONS = {
    "local": ("--profile", "lumi-g", "--fact", "rocm=6.2", "--launcher", "local"),
    "torchrun": ("--profile", "agents.yaml", "--launcher", "torchrun"),
    "srun": ("--profile", "lumi-g", "--fact", "rocm=6.2"),
    "flux": ("--profile", "tuolumne", "--fact", "rocm=6.4.1"),
    "pbs": ("--profile", "derecho"),
}
# Those whose ranks envcfg itself ends; elsewhere the step's end does it.
OWN = ("local", "torchrun")
STAND_INS = {
    "torchrun": """while [[ $1 != /bin/sh ]]; do shift; done
RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 GROUP_RANK=0 exec "$@"
""",
    "srun": """while [[ $1 == -* ]]; do shift; done
export SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_NODES=1
export SLURM_STEP_NUM_TASKS=1 SLURM_STEP_NODELIST=node1 SLURM_STEP_TASKS_PER_NODE=1
exec "$@"
""",
    "flux": """case $1 in
  hostlist) echo node1; exit ;;
  getattr) echo "$SLURM_JOB_ID"; exit ;;
  run) shift 6; while [[ $1 == -o ]]; do shift 2; done ;;
  exec) shift; while [[ $1 == -* ]]; do shift; done ;;
esac
export FLUX_TASK_RANK=0 FLUX_TASK_LOCAL_ID=0 FLUX_JOB_SIZE=1 FLUX_JOB_NNODES=1 FLUX_JOB_ID=f1
exec "$@"
""",
    "mpiexec": """if [[ $1 == --version ]]; then echo 'mpiexec version 1'; exit; fi
while [[ $1 == --* ]]; do shift 2; done
PALS_RANKID=0 PALS_LOCAL_RANKID=0 exec "$@"
""",
}
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
KILLED = (signal.SIGKILL, signal.SIGKILL)
# Of a job: as a file, sourced in a script, and with a step of a script of several.
FORMS = {
    "file": "exec bash ./command.sh",
    "sourced": 'source ./command.sh; exit "$?"',
    "steps": 'source ./steps.sh; envcfg_run $PROGRAM; exit "$?"',
}
# One that a signal ends, one that handles it.
PROGRAMS = {
    "plain": ("sleep", "60"),
    "saves": ("sh", "./saves"),
    "family": ("bash", "./family"),
}
SAVES = """
trap 'exit 7' HUP INT TERM USR1 USR2
while :; do sleep 0.05; done
"""
# A child that waits, one in the background, and one whose parent has ended.
FAMILY = """
sleep 61 &
(sleep 62 &)
sh -c 'sleep 63; :'; :
"""
# One with caches, whose agent is started without srun.
AGENTS = """\
name: agents
launch: {launchers: [local, torchrun]}
scratch: {root: /tmp, why: w, source: s, date: 2026-01-01}
env:
  CACHE: {value: "${ENVCFG_CACHE}/c", directory: true, why: w, source: s, date: 2026-01-01}
"""
SETTLES_SECONDS = 2.0  # what a program that has ended had started


class Run(NamedTuple):
    """What is done to a job."""

    starter: str
    ranks: int
    form: str
    program: str
    sent: signal.Signals
    after: float  # seconds
    is_to_group: bool  # as from a terminal or a time limit, not to the shell alone


def runs(random: Random) -> list[Run]:
    """Return as many as are to be tried, most of them while the ranks are started."""
    found = []
    for at in range(RUNS * fuzzing.times):
        starter, ranks = STARTERS[at % len(STARTERS)]
        longest = 0.15 + ranks * 0.01
        found.append(
            Run(
                starter=starter,
                ranks=ranks,
                form=random.choice(list(FORMS)),
                program=program(random, starter, ranks),
                sent=random.choice(SIGNALS + KILLED * (starter in OWN)),
                after=random.uniform(0, longest),
                is_to_group=starter not in OWN and random.random() < 0.5,
            )
        )
    return found


def program(random: Random, starter: str, ranks: int) -> str:
    """Return what the ranks run: half of those that envcfg ends have children."""
    if starter in OWN and random.random() < 0.5:
        return "family"
    return "plain" if ranks == 64 else random.choice(("plain", "saves"))


def codes(run: Run) -> set[int]:
    """Return the exit codes that are right, as subprocess gives them.

    A shell dies of a signal that comes before it has anything to end.
    """
    dies, ends = -run.sent, 128 + run.sent
    if run.sent == signal.SIGKILL:
        return {dies}
    own = {7} if run.program == "saves" else set()
    if run.form == "file" or run.sent in (signal.SIGUSR1, signal.SIGUSR2):
        return {dies, ends} | own
    if run.sent == signal.SIGINT:  # as bash does: not if the program took it well
        return {dies} | own
    return {dies}


def left(mark: str) -> list[str]:
    """Return the command lines of the processes that have *mark* in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (path / "environ").read_bytes():
                words = (path / "cmdline").read_bytes().split(b"\0")
                found.append(b" ".join(words).decode(errors="replace")[:120])
        except OSError:
            continue  # it has ended meanwhile
    return [words for words in found if words]  # without one it is a zombie


def environ(folder: Path) -> dict[str, str]:
    """Return what a job's shell finds, of whatever scheduler."""
    return {
        **os.environ,
        "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}",
        "SLURM_JOB_ID": JOB,
        "SLURM_NNODES": "1",
        "SLURMD_NODENAME": "node1",
        "FLUX_URI": "local:///tmp/flux",
        "PBS_JOBID": f"{JOB}.pbs",
        "PBS_NODEFILE": "/proc/sys/kernel/hostname",
    }


def ends(job: subprocess.Popen[bytes], *, seconds: float) -> bool:
    """Tell whether *job* ends within the time."""
    try:
        job.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def outcome(run: Run, folder: Path, number: int) -> str:
    """Do it; return what is wrong, or nothing."""
    mark = f"SIGNALLED={os.getpid()}.{number}"
    env = {
        **environ(folder),
        "PROGRAM": " ".join(PROGRAMS[run.program]),
        "SIGNALLED": mark.partition("=")[2],
    }
    before = {*Path("/tmp").glob("envcfg-*")}  # of others, maybe by the same number
    with (folder / "said").open("wb") as file:
        job = subprocess.Popen(
            ["bash", "-c", FORMS[run.form]],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
        )
    time.sleep(run.after)
    if run.is_to_group:
        os.killpg(job.pid, run.sent)
    else:
        job.send_signal(run.sent)
    try:
        # bash forgets an INT that comes while it waits for a program and has no trap: the
        # job's shell before the step, or a rank. Who wants to interrupt tries again.
        if run.sent == signal.SIGINT and not ends(job, seconds=5):
            job.send_signal(run.sent)
        job.wait(timeout=20)
    except subprocess.TimeoutExpired:
        running = left(mark)
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        return f"it goes on, with {len(running)} processes: {running[:3]}"
    settles = SETTLES_SECONDS * (10 if run.sent == signal.SIGKILL else 1)
    deadline = time.monotonic() + settles
    while (running := left(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    made = {*Path("/tmp").glob(f"envcfg-*-{job.pid}.*")} - before
    caches = [path.name for path in made]
    said = (folder / "said").read_bytes()
    wrong = []
    if job.returncode not in codes(run):
        wrong.append(f"exit code {job.returncode}, not one of {sorted(codes(run))}")
    if running:
        wrong.append(f"{len(running)} processes are left: {running[:3]}")
    if caches:
        wrong.append(f"caches are left: {caches}")
    return "; ".join([*wrong, said.decode(errors="replace")[-400:]]) if wrong else ""


def test_a_signal_leaves_no_rank_and_no_cache_and_gives_its_code(
    wrap: Wrap, tmp_path: Path
) -> None:
    folder = _scripts(wrap, tmp_path)
    failed = []
    begin = time.monotonic()
    tried = runs(fuzzing.chance())
    for number, run in enumerate(tried):
        if wrong := outcome(run, folder(run), number):
            failed.append(f"{run}: {wrong}")
    print(f"{len(tried)} runs in {time.monotonic() - begin:.0f} s")
    assert failed == [], "\n".join(failed)


def _scripts(wrap: Wrap, tmp_path: Path) -> Callable[[Run], Path]:
    """Return what gives the folder of a run's scripts, which are made once."""

    def folder(run: Run) -> Path:
        path = tmp_path / f"{run.starter}-{run.program}-{run.ranks}"
        if not path.exists():
            path.mkdir()
            (path / "saves").write_text(SAVES)
            (path / "family").write_text(FAMILY)
            (path / "agents.yaml").write_text(AGENTS)
            options = [*OPTIONS[run.starter], "--container", "none"]
            options += ["--ranks", str(run.ranks)]
            options = [word.replace("agents", f"{path}/agents") for word in options]
            command = ("--", *PROGRAMS[run.program])
            (path / "command.sh").write_bytes(wrap(*options, *command).out)
            (path / "steps.sh").write_bytes(wrap(*options).out)
            works = "source ./steps.sh; envcfg_run sh -c 'test -d \"$ENVCFG_CACHE\"'"
            subprocess.run(
                ["bash", "-c", works], cwd=path, env=environ(path), check=True
            )
        return path

    (tmp_path / "bin").mkdir()
    for name, text in STAND_INS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{text}")
        (tmp_path / "bin" / name).chmod(0o755)
    return folder
