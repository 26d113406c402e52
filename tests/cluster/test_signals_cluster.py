"""A signal at any moment, with the real srun: no rank and no cache is left on any node.

Sent to the job's shell, or by scancel to the steps. Without a scheduler, and more about exit
codes: tests/fuzz/test_signals.py. How much is tried there and here: tests/fuzzing.py.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from random import Random
from typing import NamedTuple

import fuzzing
from cluster import Cluster
from support import wrap_text

RUNS = 16  # at night, and 6 each day
OPTIONS = ("--profile", "lumi-g", "--fact", "rocm=6.2.4", "--container", "none")
# $MARK tells the ranks of one run from those of others.
COMMAND = ("sh", "-c", 'exec sleep "$MARK"')
FORMS = {
    "file": "exec bash ./command.sh",
    "sourced": "source ./command.sh",
    "steps": "source ./steps.sh; envcfg_run sh -c 'exec sleep \"$MARK\"'",
}
# srun keeps the first SIGINT to itself, and asks for another.
TO_SHELL = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
TO_STEPS = (*TO_SHELL, signal.SIGINT)
# srun itself, without envcfg, forgets a SIGUSR1 that comes 10 to 30 ms after its start: it
# hands such a signal on to tasks, and has none yet. Then the step just goes on. It forgets no
# SIGHUP: of 13 moments between 10 and 300 ms none was lost.
FORGOTTEN = (signal.SIGUSR1, signal.SIGUSR2)
DEAF = 0.25  # seconds, with the shell that starts it on a busy machine


class Run(NamedTuple):
    """What is done to a step."""

    form: str
    to: str
    sent: signal.Signals
    after: float  # seconds


def runs(random: Random) -> list[Run]:
    """Return as many as are to be tried, most of them while the step is started."""
    found = []
    for _ in range(RUNS * fuzzing.times if fuzzing.is_complete else 6):
        to = random.choice(("shell", "shell", "steps"))
        sent = random.choice(TO_SHELL if to == "shell" else TO_STEPS)
        earliest = (
            0.6 if to == "steps" else 0.0
        )  # of a step that is not there, nothing ends
        after = random.uniform(earliest, 1.5)
        found.append(Run(random.choice(list(FORMS)), to, sent, after))
    return found


def codes(run: Run) -> set[int]:
    """Return the exit codes that are right, as subprocess gives them.

    srun's own is the highest of its tasks'. It terminates those that are still there when
    another has failed, which a signal in the first 100 ms can find, and kills the slow.
    """
    dies, ends = -run.sent, 128 + run.sent
    by_srun = {128 + signal.SIGTERM, 128 + signal.SIGKILL}
    if run.to == "steps":  # to what srun makes of it the shell has nothing to add
        return {ends, *by_srun}
    if run.form == "file" or run.sent in (signal.SIGUSR1, signal.SIGUSR2):
        return {dies, ends, *by_srun}
    return {dies}


def test_a_signal_leaves_no_rank_and_no_cache_on_the_nodes(
    cluster: Cluster, programs: Path, workdir: Path
) -> None:
    (workdir / "command.sh").write_bytes(wrap_text(*OPTIONS, "--", *COMMAND).out)
    (workdir / "steps.sh").write_bytes(wrap_text(*OPTIONS).out)
    tried = runs(fuzzing.chance())
    lines = [
        json.dumps({"number": number, "script": FORMS[run.form], "to": run.to,
                    "signal": int(run.sent), "after": run.after})
        for number, run in enumerate(tried)
    ]  # fmt: skip
    (workdir / "runs").write_text("\n".join(lines) + "\n")
    job = cluster.sbatch(
        f"#!/bin/bash\nexec python3 {programs}/signalled.py runs\n",
        *("-N2", "--ntasks-per-node=2", "--partition=small-g"),
        timeout=120 + 30 * len(tried),
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    failed = []
    for line in job.stdout.splitlines():
        number, code, late, left = json.loads(line)
        run = tried[number]
        wrong = [*left]
        # A signal to the steps can come when there is none yet.
        forgets = run.sent in FORGOTTEN and run.after < DEAF
        if late and run.to == "shell" and not forgets:
            wrong.append("it goes on")
        elif not late and code not in codes(run):
            wrong.append(f"exit code {code}, not one of {sorted(codes(run))}")
        if wrong:
            said = (workdir / f"said.{number}").read_text()
            failed.append(f"{run}: {wrong}\n{said}")
    print(f"{len(tried)} runs, of which {len(failed)} failed")
    assert len(job.stdout.splitlines()) == len(tried)
    assert failed == [], "\n".join(failed)
    assert cluster.left_running() == []
