"""envcfg as the cluster's user has it: a wheel, unpacked where every host can read it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = Path(__file__).resolve().parent / "programs"
PYTHON = "/usr/bin/python3"


def install_tool(folder: Path) -> Path:
    """Build the wheel, install it for the hosts' Python; return the folder for PATH."""
    shutil.rmtree(
        folder, ignore_errors=True
    )  # of a run before, if the cluster stayed up
    wheels, library, programs = folder / "wheels", folder / "lib", folder / "bin"
    pip = [str(ROOT / "scripts/retry"), sys.executable, "-m", "pip"]
    pip += ["--quiet", "--disable-pip-version-check"]
    _run([*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)])
    version = _run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
    (wheel,) = wheels.glob("envcfg-*.whl")
    foreign = ["--python-version", version.strip(), "--only-binary=:all:"]
    _run([*pip, "install", "--target", str(library), *foreign, str(wheel)])
    programs.mkdir(parents=True)
    launcher = programs / "envcfg"
    launcher.write_text(
        f'#!/bin/sh\nPYTHONPATH={library} exec {PYTHON} -m envcfg "$@"\n'
    )
    launcher.chmod(0o755)
    shutil.copytree(PROGRAMS, folder / "programs")
    _run(["chmod", "-R", "a+rX", str(folder)])
    return programs


def _run(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        msg = f"{argv} failed ({done.returncode}):\n{done.stdout}{done.stderr}"
        raise RuntimeError(msg)
    return done.stdout
