"""Jobs that are submitted at the same time: each is the one that was asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fuzzing
from suites import mark_sample

# A scheduler that reads its script late, and numbers its jobs.
STAND_IN = """#!/usr/bin/env bash
set -eu
if [[ " $* " == *" --test-only "* ]]; then exit 0; fi
sleep 0.0$((RANDOM % 10))
cd "$JOBS"
number=1
until mkdir "$number" 2>/dev/null; do number=$((number + 1)); done
if (($# > 0)) && [[ -f $OLDPWD/${*: -1} ]]; then cd "$OLDPWD"; cat "${@: -1}" >"$JOBS/$number/script"; else
  cat >"$number/script"
fi
echo "Submitted batch job $number"
"""
# Starts envcfg in each of many processes at once, with the words of a line of stdin.
STARTER = """
import os, shlex, sys, time
from envcfg.cli import main
lines = sys.stdin.read().splitlines()
words, _, command = lines[0].partition(" -- ")
main(shlex.split(f"{words} --dry-run -- {command}"))  # so that all is read once
start = time.time() + 0.02 * len(lines)
children = []
for line in lines:
    pid = os.fork()
    if pid == 0:
        time.sleep(max(0, start - time.time()))
        os._exit(main(shlex.split(line)))
    children.append(pid)
codes = {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children}
sys.exit(codes != {0})
"""
COMMON = "--profile lumi-g --account p --partition standard-g --nodes 1 --time 1:00:00 --container none"
COMMANDS = {
    "submit": f"submit {COMMON} -- python3 train.py --seed={{}}",
    "one file for all": f"submit {COMMON} -o job.sh -- python3 train.py --seed={{}}",
    "for restarts": f"submit {COMMON} --requeue -- python3 train.py --seed={{}}",
}  # fmt: skip


@pytest.mark.parametrize("name", mark_sample(COMMANDS, every=3))
def test_jobs_submitted_at_once_are_different_jobs(tmp_path: Path, name: str) -> None:
    here, jobs, programs = (tmp_path / each for each in ("here", "jobs", "bin"))
    for folder in (here, jobs, programs):
        folder.mkdir()
    (here / "train.py").write_text("")
    (programs / "sbatch").write_text(STAND_IN)
    (programs / "sbatch").chmod(0o755)
    count = 100 if fuzzing.is_complete else 30
    lines = "".join(f"{COMMANDS[name].format(n)}\n" for n in range(count))
    done = subprocess.run(
        [sys.executable, "-c", STARTER],
        input=lines,
        text=True,
        capture_output=True,
        check=False,
        cwd=here,
        env=os.environ
        | {
            "PATH": f"{programs}:/usr/bin:/bin",
            "JOBS": str(jobs),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "ENVCFG_SITE": str(tmp_path / "site"),
        },
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    scripts = {job.name: (job / "script").read_text() for job in jobs.iterdir()}
    seeds = [re.findall(r"--seed=(\d+)", text)[-1] for text in scripts.values()]
    assert sorted(map(int, seeds)) == [*range(count)]
    assert len(re.findall(r"^job: \d+ \(", done.stdout, re.M)) == count
    if "-o" not in COMMANDS[name].split():
        kept = {
            path.name[len("train-") : -len(".sh")]: path.read_text()
            for path in here.glob("train-*.sh")
        }
        assert kept == scripts
