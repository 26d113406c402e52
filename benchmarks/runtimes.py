"""What it costs to enter a container, by each runtime that this machine has.

Each starts ``true`` once, by the words that envcfg has srun start in a task, in an image of
busybox alone; the profile has no caches. The peer is ``true`` by itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.race import Command, race
from benchmarks.rows import Row, ratio_row
from benchmarks.task import noted_words, task_env
from benchmarks.trace import ENVCFG

ROUNDS = 30
BUSYBOX = "/bin/busybox"
PROFILE = "name: p\nlaunch: {launchers: [srun]}\n"
CONF = """\
[containers]
default_ulimits = ["nproc=8192:8192", "nofile=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
FOLDERS = "bin dev etc home proc root run sys tmp var/tmp usr".split()
# What it is called, the runtime, its program, the image.
KINDS = (
    ("no container", "none", "sh", "none"),
    ("apptainer, a folder", "apptainer", "apptainer", "image"),
    ("charliecloud, a folder", "charliecloud", "ch-run", "image"),
    ("charliecloud, a file", "charliecloud", "ch-run", "image.sqfs"),
    ("podman, a folder", "podman", "podman", "image"),
    ("podman-hpc, a name", "podman-hpc", "podman-hpc", "localhost/image"),
)


def measure(folder: Path) -> list[Row]:
    """Return a row for each runtime that is here; say on stderr which are not."""
    absent = sorted(
        {name for _, name, program, _ in KINDS if not shutil.which(program)}
    )
    if absent:
        said = "benchmarks: note: not on PATH, so not measured: " + ", ".join(absent)
        print(said, file=sys.stderr)
    _make_images(folder)
    env = task_env() | {"USER": "me", "PATH": os.environ["PATH"]}
    env["CONTAINERS_CONF"] = str(folder / "containers.conf")
    if "podman-hpc" not in absent:  # which knows no folders
        script = "tar -C image -c . | podman-hpc import - localhost/image"
        subprocess.run(["bash", "-c", script], env=env, capture_output=True, check=True)
    commands = {
        title: _command(folder, env, runtime, image)
        for title, runtime, _, image in KINDS
        if runtime not in absent
    }
    for title, command in list(commands.items()):
        if why := _why_not(command):
            print(f"benchmarks: note: not measured: {title}: {why}", file=sys.stderr)
            del commands[title]
    commands["bare"] = Command([shutil.which("true") or "/bin/true"], env)
    try:
        times = race(commands, rounds=ROUNDS)
    finally:
        if "podman-hpc" not in absent:
            remove = ["podman-hpc", "rmi", "localhost/image"]
            subprocess.run(remove, env=env, capture_output=True, check=False)
    return [
        ratio_row(
            f"start of a rank: {title}",
            measured=times[title],
            peer=times["bare"],
            against="true alone",
        )
        for title in commands
        if title != "bare"
    ]


def _why_not(command: Command) -> str:
    """Return the last line that a command says if it fails, as where it lacks rights."""
    done = subprocess.run(
        command.argv, env=dict(command.env), capture_output=True, text=True, check=False
    )
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return said[-1] if done.returncode != 0 else ""


def _make_images(folder: Path) -> None:
    image = folder / "image"
    for name in FOLDERS:
        (image / name).mkdir(parents=True)
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        (image / "etc" / name).touch()
    shutil.copy(BUSYBOX, image / "bin/busybox")
    for name in ("sh", "true"):
        (image / "bin" / name).symlink_to("busybox")
    squash = ["mksquashfs", str(image), str(folder / "image.sqfs"), "-quiet"]
    subprocess.run(squash, stdout=subprocess.DEVNULL, check=True)
    (folder / "containers.conf").write_text(CONF)
    (folder / "p.yaml").write_text(PROFILE)


def _command(folder: Path, env: Mapping[str, str], runtime: str, image: str) -> Command:
    path = str(folder / image) if image.startswith("image") else image
    chosen = [] if runtime == "none" else ["--runtime", runtime]
    made = subprocess.run(
        [ENVCFG, "wrap", "--profile", str(folder / "p.yaml"), *chosen, "--container", path],
        env={**env},
        capture_output=True,
        check=True,
        text=True,
    )  # fmt: skip
    words = noted_words(folder, made.stdout, env)
    program = shutil.which(words[0], path=env["PATH"]) or words[0]
    return Command([program, *words[1:]], env)
