"""Two scripts side by side: what each starts, with which words, where, and how it ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from support import envcfg

PROFILE = "name: plain\nlaunch: {launchers: [srun, flux, pbs, torchrun, local]}\n"
NEEDS_ENVCFG = "envcfg is not on PATH in the job"  # in scripts that need it there
STANDINS = Path(__file__).parent / "standins"
# Programs of scripts: each notes what it gets.
PROGRAMS = "python python3 torchrun accelerate nvidia-smi app runscript rocm-smi numactl".split()
JOB = {
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_NAME": "train",
    "SLURM_NNODES": "2",
    "SLURM_JOB_NUM_NODES": "2",
    "SLURM_NTASKS": "4",
    "SLURM_NTASKS_PER_NODE": "2",
    "SLURM_JOB_NODELIST": "node[1-2]",
    "SLURM_SUBMIT_DIR": "/tmp",
    "SLURM_CPUS_PER_TASK": "7",
}
OTHER_JOBS = {
    "PBS_JOBID": "4711.server",
    "PBS_O_WORKDIR": ".",
    "FLUX_URI": "local:///x",
}
STANDS_FOR = {
    "starter": "flux mpiexec mpirun",
    "runtime": "podman podman-hpc docker ch-run shifter",
}
_SHIFTER = re.compile(r"^#SBATCH --(image|module)=(\S+)", re.MULTILINE)
# Of bash itself, and what envcfg tells each rank of itself.
_OWN = frozenset("_ SHLVL OLDPWD PWD BASH_EXECUTION_STRING".split())
TOLD = frozenset(
    "RANK LOCAL_RANK NODE_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT".split()
)
_MASKS = frozenset(
    "HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ROCR_VISIBLE_DEVICES".split()
)


class Start(NamedTuple):
    """What a program got."""

    step: int
    rank: int
    words: tuple[bytes, ...]
    environment: Mapping[bytes, bytes]
    folder: str
    input: bytes | None
    read: bytes


class Ran(NamedTuple):
    """What became of a script."""

    code: int
    starts: tuple[Start, ...]
    out: bytes
    err: bytes


def run(
    script: Path,
    folder: Path,
    *,
    arguments: tuple[str, ...] = (),
    number: signal.Signals | None = None,
) -> Ran:
    """Run *script* in *folder* as the first node of a job of two would.

    It gets the signal *number* while its first program runs.
    """
    notes, programs = folder / "notes", folder / "bin"
    notes.mkdir()
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(STANDINS / "note")
    for name in ("srun", "singularity"):
        (programs / name).symlink_to(STANDINS / name)
    (programs / "apptainer").symlink_to(STANDINS / "singularity")
    for standin, names in STANDS_FOR.items():
        for name in names.split():
            (programs / name).symlink_to(STANDINS / standin)
    (programs / "options").symlink_to(STANDINS / "options")
    (folder / "nodes").write_text("node1\nnode1\nnode2\nnode2\n")
    work = folder / "work"
    shutil.copytree(script.parent, work)
    text = script.read_text("utf-8", "replace")
    if NEEDS_ENVCFG in text:
        (programs / "envcfg").symlink_to(Path(sys.executable).parent / "envcfg")
    env = {
        "PATH": f"{programs}:{os.defpath}",
        "HOME": str(work),
        "USER": "me",
        "NOTES": str(notes),
        "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
        "PBS_NODEFILE": str(folder / "nodes"),
        **(JOB if "#PBS" not in text and "#flux" not in text else OTHER_JOBS),
    }
    for name, value in _SHIFTER.findall(text):  # as Shifter's plugin for Slurm does
        env[f"SHIFTER_{name.upper()}"] = value
    given = folder / "input"
    given.write_text("the script's input\n")
    if number:
        env["NOTE_READY"] = str(folder / "ready")
    with (
        given.open("rb") as stdin,
        subprocess.Popen(
            ["bash", script.name, *arguments],
            cwd=work,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        if number:
            _wait_for(folder / "ready", process)
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
    return Ran(process.returncode, tuple(_starts(notes, work)), out, err)


def _wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)


def _starts(notes: Path, work: Path) -> Iterator[Start]:
    """Yield what the programs noted; their folders look alike wherever they are."""
    here, top = os.fsencode(work), os.fsencode(work.parent)

    def alike(text: bytes) -> bytes:
        return text.replace(here, b"WORK").replace(top, b"TOP")

    folders = [each for each in notes.iterdir() if each.is_dir()]
    # By step and rank; without srun these are 0, and time tells.
    for each in sorted(
        folders, key=lambda one: (one.name.partition(".")[0], one.stat().st_mtime_ns)
    ):
        step, rank = each.name.partition(".")[0].split("-")
        environment = dict(
            alike(line).split(b"=", 1)
            for line in (each / "environment").read_bytes().split(b"\0")
            if b"=" in line
        )
        given = each / "input"
        read = each / "read"
        words = (each / "words").read_bytes().split(b"\0")[:-1]
        yield Start(
            int(step),
            int(rank),
            tuple(
                b"/dev/fd/N" if w.startswith(b"/dev/fd/") else alike(w) for w in words
            ),
            environment,
            alike((each / "folder").read_bytes()).decode(),
            given.read_bytes() if given.exists() else None,
            read.read_bytes() if read.exists() else b"",
        )


def differences(
    old: Ran, new: Ran, *, named: frozenset[str] = frozenset()
) -> list[str]:
    """Return what differs; *named*: variables that the report says are set otherwise."""
    found = []
    if old.code != new.code:
        found.append(f"exit code {old.code}, then {new.code}")
    if len(old.starts) != len(new.starts):
        found.append(f"{len(old.starts)} starts, then {len(new.starts)}")
    if old.out != new.out:
        found.append(f"stdout {old.out!r}, then {new.out!r}")
    for before, after in zip(old.starts, new.starts, strict=False):
        at = f"step {before.step}, rank {before.rank}"
        for field in ("step", "rank", "words", "folder", "input", "read"):
            was, is_now = getattr(before, field), getattr(after, field)
            if was != is_now:
                found.append(f"{at}: {field} {was!r}, then {is_now!r}")
        names = {each.decode() for each in before.environment | after.environment}
        for name in sorted(names - _OWN - named):
            was = before.environment.get(name.encode())
            if name.startswith("ENVCFG_") or (was is None and name in TOLD | _MASKS):
                continue
            is_now = after.environment.get(name.encode())
            if was != is_now:
                found.append(f"{at}: {name}={was!r}, then {is_now!r}")
    return found


def compared(
    script: str, folder: Path, *options: str, number: signal.Signals | None = None
) -> str:
    """Return what differs where a script and its conversion run; "" where nothing does.

    "refused: REASON" where there is no conversion. *options* are for the conversion.
    With a signal, only the end and the output of the two scripts are compared.
    """
    work = folder / "work"
    for name in ("work", "old", "new"):
        (folder / name).mkdir()
    (folder / "plain.yaml").write_text(PROFILE)
    for name in ("x.sif", "x.sqsh", "img.sqfs", "env.toml"):
        (work / name).touch()
    (work / "img").mkdir()
    job = work / "job.sh"
    job.write_text(script)
    profile = f"{folder}/plain.yaml"
    # Lint of the new script takes longer than its conversion, and has tests of its own.
    with mock.patch("envcfg.core.script_conversion._tell_remaining"):
        made = envcfg("wrap", "--from", str(job), "--profile", profile, *options)
    if made.code:
        return f"refused: {made.err}"
    old = run(job, folder / "old", arguments=("one", "t wo"), number=number)
    job.write_bytes(made.out)
    new = run(job, folder / "new", arguments=("one", "t wo"), number=number)
    if number:
        old, new = old._replace(starts=()), new._replace(starts=())
    found = differences(old, new)
    return "\n".join([*found, new.err.decode()]) if found else ""
