"""A task of a Slurm step as srun would start it, without Slurm.

The generated script is sourced with a stand-in for ``srun`` on PATH, which notes what
it is asked to run in each task; the task's variables are ours.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from benchmarks.race import Command
from benchmarks.trace import ENVCFG

_SRUN = """#!/usr/bin/env bash
for word; do
  if [[ $word == envcfg-rank ]]; then printf '%s\\0' "$@" >"$NOTED"; fi
done
"""
_JOB = "4321"


def generate(nodes: int, nodelist: str) -> str:
    """Return the script without a command, made in a job of that many nodes."""
    done = subprocess.run(
        [ENVCFG, "wrap", "--profile=lumi-g", "--container=none", "--fact=rocm=6.2.4"],
        env={**_base(), **_job(nodes, nodelist)},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout


def build_rank_argv(folder: Path) -> list[str]:
    """Return what srun is asked to start in each task for the program ``true``."""
    return noted_words(folder, generate(1, "nid000001"), _base())


def noted_words(folder: Path, script: str, env: Mapping[str, str]) -> list[str]:
    """Return what the script of no command has srun start in each task for ``true``."""
    (folder / "bin").mkdir(exist_ok=True)
    srun = folder / "bin" / "srun"
    srun.write_text(_SRUN)
    srun.chmod(0o755)
    made, noted = folder / "job.sh", folder / "noted"
    made.write_text(script)
    env = {**env, **_job(1, "nid000001"), "NOTED": str(noted)}
    env["PATH"] = f"{folder}/bin:{env['PATH']}"
    subprocess.run(
        ["bash", "-c", 'source "$1" && envcfg_run true', "job", str(made)],
        env=env,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    words = noted.read_text().split("\0")[:-1]
    options = [word.startswith("--") for word in words].index(False)
    return words[options:]


@contextmanager
def caches(argv: list[str]) -> Iterator[None]:
    """Have the rank part make its caches; remove them in the end."""
    ask = [*argv[:-1], "printenv", "ENVCFG_CACHE"]
    env = task_env()
    done = subprocess.run(ask, env=env, capture_output=True, check=True, text=True)
    try:
        yield
    finally:
        shutil.rmtree(done.stdout.strip())


def task_env(nodes: int = 1, nodelist: str = "nid000001") -> dict[str, str]:
    """Return the environment of the last task of a step with eight per node."""
    return _base() | {
        "SLURM_JOB_ID": _JOB,
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NODELIST": nodelist,
        "SLURM_STEP_NUM_NODES": str(nodes),
        "SLURM_STEP_NUM_TASKS": str(8 * nodes),
        "SLURM_STEP_TASKS_PER_NODE": f"8(x{nodes})",
        "SLURM_PROCID": str(8 * nodes - 1),
        "SLURM_LOCALID": "7",
        "SLURM_NODEID": str(nodes - 1),
        "SLURMD_NODENAME": "nid000001",  # the same, so that its caches are there
    }


def task(argv: list[str], nodes: int = 1, nodelist: str = "nid000001") -> Command:
    """Return *argv* as a task of such a step."""
    return Command(argv, task_env(nodes, nodelist))


def folded(nodes: int) -> str:
    """Return a node list as Slurm writes it for numbered nodes."""
    return "nid000001" if nodes == 1 else f"nid[000001-{nodes:06}]"


def unfolded(nodes: int) -> str:
    """Return a node list with nothing to fold: names without numbers."""
    letters = product("abcdefghij", repeat=4)
    return ",".join(f"gpu-{''.join(next(letters))}" for _ in range(nodes))


def _job(nodes: int, nodelist: str) -> dict[str, str]:
    return {
        "SLURM_JOB_ID": _JOB,
        "SLURM_JOB_NODELIST": nodelist,
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_NNODES": str(nodes),
        "SLURM_NTASKS_PER_NODE": "8",
    }


def _base() -> dict[str, str]:
    return {"PATH": os.defpath, "HOME": str(Path.cwd()), "LANG": "C.UTF-8"}
