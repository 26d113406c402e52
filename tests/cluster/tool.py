"""envcfg as the cluster's user has it: a wheel, unpacked where every host can read it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = Path(__file__).resolve().parent / "programs"
PYTHON = "/usr/bin/python3"
PIP = (PYTHON, "-m", "pip", "--quiet", "--disable-pip-version-check")


def install_tool(folder: Path) -> Path:
    """Build the wheel, install it for the hosts' Python; return the folder for PATH."""
    shutil.rmtree(
        folder, ignore_errors=True
    )  # of a run before, if the cluster stayed up
    wheels, library, programs = folder / "wheels", folder / "lib", folder / "bin"
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation"]
    _run([*build, "--no-deps", "--wheel-dir", str(wheels), str(ROOT)])
    (wheel,) = wheels.glob("envcfg-*.whl")
    install_locked("run", library)
    _run([*PIP, "install", "--target", str(library), "--no-deps", str(wheel)])
    programs.mkdir(parents=True)
    launcher = programs / "envcfg"
    launcher.write_text(
        f'#!/bin/sh\nPYTHONPATH={library} exec {PYTHON} -m envcfg "$@"\n'
    )
    launcher.chmod(0o755)
    shutil.copytree(PROGRAMS, folder / "programs")
    _run(["chmod", "-R", "a+rX", str(folder)])
    return programs


def install_locked(name: str, library: Path, *options: str) -> None:
    """Install into *library* what a lock names, for the hosts' Python; *options* are pip's."""
    lock = str(ROOT / f"requirements/{name}.txt")
    argv = [
        *PIP,
        "install",
        "--require-hashes",
        "-r",
        lock,
        "--target",
        str(library),
        *options,
    ]
    _run([str(ROOT / "scripts/retry"), *argv])


def _run(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        msg = f"{argv} failed ({done.returncode}):\n{done.stdout}{done.stderr}"
        raise RuntimeError(msg)
    return done.stdout
