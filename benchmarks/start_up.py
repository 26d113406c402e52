"""Start-up: the whole process against importing its two parsers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.race import Command, race
from benchmarks.rows import Row, ratio_row
from benchmarks.trace import ENVCFG, count_file_calls

MOST_TIME = {"envcfg wrap": 1.7, "python -m envcfg wrap": 1.7, "envcfg --version": 1.1}
MOST_CALLS = 1.6
MOST_ARCHIVE_CALLS = 0.5  # of those of the installed tree
ARCHIVE = "envcfg.pyz wrap"
ROOT = Path(__file__).parent.parent
PEER = "python -c 'import argparse, yaml'"


def measure(folder: Path) -> list[Row]:
    """Time the command and count its file operations."""
    image = folder / "x.sif"
    image.touch()
    program = folder / "train.py"
    program.touch()
    # The archive's first line looks for python3: the one that runs this.
    path = f"{sys.base_prefix}/bin:{os.defpath}"
    env = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8"}
    arguments = ["wrap", "--profile", "lumi-g", "--container", str(image)]
    arguments += ["--", "python", str(program)]
    # Two installations would take turns in writing what is kept: each has its home.
    home = folder / "of the archive"
    home.mkdir()
    commands = {
        "envcfg wrap": Command([str(ENVCFG), *arguments], env),
        "python -m envcfg wrap": Command(
            [sys.executable, "-m", "envcfg", *arguments], env
        ),
        "envcfg --version": Command([str(ENVCFG), "--version"], env),
        ARCHIVE: Command(
            [str(_make_archive(folder)), *arguments], {**env, "HOME": str(home)}
        ),
        PEER: Command([sys.executable, "-c", "import argparse, yaml"], env),
    }
    times = race(commands, rounds=60)
    calls = {name: count_file_calls(command) for name, command in commands.items()}
    rows = []
    for name, most in MOST_TIME.items():
        time_row = ratio_row(
            name, measured=times[name], peer=times[PEER], against=PEER, most=most
        )
        calls_row = ratio_row(
            f"{name}: file operations",
            measured=calls[name],
            peer=calls[PEER],
            against=PEER,
            unit="",
            most=MOST_CALLS,
        )
        rows += [time_row, calls_row]
    rows.append(
        ratio_row(
            ARCHIVE,
            measured=times[ARCHIVE],
            peer=times["envcfg wrap"],
            against="envcfg wrap",
        )
    )
    rows.append(
        ratio_row(
            f"{ARCHIVE}: file operations",
            measured=calls[ARCHIVE],
            peer=calls["envcfg wrap"],
            against="envcfg wrap",
            unit="",
            most=MOST_ARCHIVE_CALLS,
        )
    )
    return rows


def _make_archive(folder: Path) -> Path:
    """Make envcfg.pyz for this Python and machine; this fetches wheels."""
    path = folder / "envcfg.pyz"
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    options = (f"--python={version}", f"--machine={os.uname().machine}")
    subprocess.run(
        [ROOT / "scripts/build-zipapp", *options, path], check=True, stdout=sys.stderr
    )
    return path
