"""Schedulers that hang, flood or lie cost two seconds and 10 MB, and leave no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# Each case waits for the two seconds that a scheduler gets.
pytestmark = pytest.mark.nightly

PROGRAMS = (
    *("sbatch", "scontrol", "sinfo", "sacctmgr", "squeue", "sacct", "srun"),
    *("flux", "qsub", "qstat", "pbsnodes"),
)
# Bash of a program, behind its first line. MARK is in the environment of all that it starts.
HANGS = {
    "silent": "exec sleep 1000",
    "with grandchildren": "sleep 1000 & (sleep 1000 & exec sleep 1000) & sleep 1000",
    "deaf to signals": "trap '' TERM INT HUP; while :; do sleep 1000; done",
    "stdout closed": "exec >&- 2>&-; exec sleep 1000",
    "drips": "while :; do printf x; sleep 0.1; done",
    "stopped": "kill -STOP $$",
    "asks": "read -r word </dev/tty; sleep 1000",
}
LEAVES = {
    "a grandchild with its output": "sleep 1000 & echo hello",
    "a grandchild without": "sleep 1000 >/dev/null 2>&1 & echo hello",
}
FLOODS = {
    "stdout": "exec yes hello",
    "stderr": "exec yes hello >&2",
    "one line": "exec cat /dev/zero",
    "both": "yes hello & yes hello >&2",
}
GARBAGE = {
    "nothing": ":",
    "zeros": "head -c 100000 /dev/zero",
    "noise": "head -c 300000 /dev/urandom",
    "bars": "yes '|||||||' | head -n 20000",
    "pairs": "yes 'A=B NodeName=x PartitionName=y CPUTot=99999999999999999999999 RealMemory=1' | head -n 500",
    "a failure": "echo PartitionName=x; exit 1",
    "a signal": "kill -SEGV $$",
}
COMMANDS = {
    "lint": ("lint", "--profile", "lumi-g", "job.sh"),
    "lint without a profile": ("lint", "job.sh"),
    "dry run": ("submit", "--dry-run", "job.sh"),
    "wrap": ("wrap", "--container", "none", "--", "python", "train.py"),
    "wrap for a runtime": ("wrap", "--profile", "alps-clariden", "--container", "x.sif", "--", "a"),
    "job": ("job", "--profile", "lumi-g", "--container", "none", "--account", "project_465000001", "--partition", "standard-g", "--time", "5", "--nodes", "1", "--", "a"),
    "detect": ("profiles", "detect"),
    "show here": ("profiles", "show", "here"),
    "new": ("profiles", "new", "mine", "-o", "-"),
    "probe": ("profiles", "probe", "--profile", "lumi-g", "--launcher", "local"),
    "hang": ("hang", "1"),
    "monitor": ("monitor", "1"),
    "preflight": ("preflight", "--profile", "lumi-g", "--container", "none"),
}  # fmt: skip
# Beside the scheduler's two seconds: the start of Python, on a machine that may be busy.
OWN_SECONDS = 4.0
TIMES_BUSY = 3  # how much longer a run may take than the same run a moment before
MARK = "ENVCFG_TEST_MARK"


class Machine:
    """A login node whose scheduler's programs all run the same bash."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder, f"{os.getpid()}-{time.monotonic_ns()}"
        self.bin = folder / "bin"
        self.bin.mkdir()
        (folder / "job.sh").write_text(
            "#!/bin/bash\n#SBATCH --nodes=1 --time=5\nset -e\nsrun hostname\n"
        )

    def runs(self, script: str) -> None:
        for program in PROGRAMS:
            path = self.bin / program
            path.write_text(f"#!/usr/bin/env bash\n{script}\n")
            path.chmod(0o755)

    def start(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        hidden = ("SLURM_", "PBS_", "FLUX_", "ENVCFG_", "SBATCH_")
        kept = {n: v for n, v in os.environ.items() if not n.startswith(hidden)}
        own = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "ENVCFG_SITE": str(self.folder / "site"),
            "USER": "user",
            MARK: self.mark,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "envcfg", *words],
            cwd=self.folder,
            env=kept | own | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, *words: str, **env: str) -> tuple[str, float]:
        """Return the output of envcfg, and the seconds that it took."""
        began = time.monotonic()
        with self.start(*words, **env) as process:
            out = process.communicate(timeout=60)[0].decode(errors="replace")
        assert process.returncode != 70, out
        assert "Traceback" not in out, out
        return out, time.monotonic() - began

    def left(self) -> list[str]:
        """Return the programs that are still running, killed."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes():
                    found.append((entry / "comm").read_text().strip())
                    os.kill(int(entry.name), signal.SIGKILL)
            except (OSError, ValueError):
                continue
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.left()


def settled(machine: Machine) -> list[str]:
    """Return what is left running, once what was killed had time to go."""
    time.sleep(0.2)
    return machine.left()


def output_in_time(machine: Machine, limit: float, *words: str) -> str:
    """Return envcfg's output. One of three runs must end in time: others may use the machine."""
    for _ in range(3):
        out, seconds = machine.run(*words)
        if seconds < limit:
            return out
    pytest.fail(f"took {seconds:.1f} s three times, not {limit:.1f}")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_scheduler_that_hangs_costs_two_seconds(
    machine: Machine, command: str
) -> None:
    machine.runs("exit 1")
    _, at_once = machine.run(*COMMANDS[command])
    machine.runs(HANGS["with grandchildren"])
    limit = 2 + OWN_SECONDS + TIMES_BUSY * at_once
    output_in_time(machine, limit, *COMMANDS[command])
    assert settled(machine) == []


@pytest.mark.parametrize("name", HANGS)
def test_each_way_to_hang_costs_two_seconds(machine: Machine, name: str) -> None:
    machine.runs("exit 1")
    _, at_once = machine.run("profiles", "show", "here")
    machine.runs(HANGS[name])
    limit = 2 + OWN_SECONDS + TIMES_BUSY * at_once
    out = output_in_time(machine, limit, "profiles", "show", "here")
    assert "scontrol" in out
    assert settled(machine) == []


@pytest.mark.parametrize("name", LEAVES)
def test_a_grandchild_does_not_outlive_the_answer(machine: Machine, name: str) -> None:
    machine.runs("exit 1")
    _, at_once = machine.run("profiles", "show", "here")
    machine.runs(LEAVES[name])
    limit = 2 + OWN_SECONDS + TIMES_BUSY * at_once
    output_in_time(machine, limit, "profiles", "show", "here")
    assert settled(machine) == []


def peak(machine: Machine, *words: str) -> int:
    """Return the most memory of a run of envcfg, in bytes."""
    process = machine.start(*words)
    assert process.stdout
    process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    process.stdout.close()
    return usage.ru_maxrss << 10


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_costs_10_megabytes(machine: Machine, name: str) -> None:
    words = COMMANDS["show here"]
    machine.runs("exit 1")
    usual = peak(machine, *words)
    machine.runs(FLOODS[name])
    assert peak(machine, *words) - usual < 14_000_000
    assert settled(machine) == []


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_no_answer(machine: Machine, name: str) -> None:
    for words in (COMMANDS["lint"], COMMANDS["show here"], COMMANDS["hang"]):
        machine.runs("exit 1")
        _, at_once = machine.run(*words)
        machine.runs(GARBAGE[name])
        _, seconds = machine.run(*words)
        assert seconds < 2 + OWN_SECONDS + TIMES_BUSY * at_once
    assert settled(machine) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_question_and_all_that_it_has_started(
    machine: Machine, number: signal.Signals
) -> None:
    machine.runs(f"touch {machine.folder}/asked; {HANGS['with grandchildren']}")
    with machine.start("profiles", "show", "here") as process:
        while not (machine.folder / "asked").exists():
            time.sleep(0.01)
        process.send_signal(number)
        out = process.communicate(timeout=10)[0].decode()
    assert process.returncode == 128 + number, out
    assert "envcfg: interrupted" in out
    assert settled(machine) == []


def test_a_user_may_wait_longer_for_a_slow_scheduler(machine: Machine) -> None:
    machine.runs("sleep 2.5; echo 'ClusterName = slow'")
    out, _ = machine.run("profiles", "detect")
    assert "slow" not in out
    out, _ = machine.run("profiles", "detect", ENVCFG_SCHEDULER_SECONDS="20")
    assert "slow" in out


def test_a_submission_that_takes_long_is_waited_for(machine: Machine) -> None:
    machine.runs("exit 1")
    (machine.bin / "sbatch").write_text(
        "#!/bin/bash\ncat >/dev/null\nsleep 12\necho Submitted batch job 7\n"
    )
    out, _ = machine.run("submit", "job.sh")
    assert "job: 7 (job.sh)\n" in out
    assert "note: no answer from sbatch for 10 s; Ctrl-C stops waiting\n" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["silent", "deaf to signals"])
def test_a_submission_that_is_interrupted_may_have_a_job(
    machine: Machine, number: signal.Signals, name: str
) -> None:
    machine.runs("exit 1")
    (machine.bin / "sbatch").write_text(
        f"#!/bin/bash\ntouch {machine.folder}/asked\n{HANGS[name]}\n"
    )
    words = "--profile lumi-g --account p --partition standard-g --nodes 1 --time 5"
    words += " --container none -o made.sh -- a"
    with machine.start("submit", *words.split()) as process:
        while not (machine.folder / "asked").exists():
            time.sleep(0.01)
        process.send_signal(number)
        out = process.communicate(timeout=10)[0].decode()
    assert process.returncode == 128 + number, out
    assert "sbatch was interrupted: the job may be submitted, or not\n" in out
    assert "hint: squeue --me lists your jobs\n" in out
    assert settled(machine) == []


@pytest.mark.parametrize("name", ["stdout", "one line"])
def test_a_submission_with_endless_words_costs_no_memory(
    machine: Machine, name: str
) -> None:
    machine.runs("exit 1")
    usual = peak(machine, "submit", "job.sh")
    (machine.bin / "sbatch").write_text(
        f"#!/bin/bash\ncat >/dev/null\n(ulimit -t 1; {FLOODS[name]})\n"
        "pkill -KILL -s 0 yes\nprintf '\\nSubmitted batch job 7\\n'\n"
    )
    assert peak(machine, "submit", "job.sh") - usual < 60_000_000
