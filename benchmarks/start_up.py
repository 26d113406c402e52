"""Start-up: the whole process against importing its two parsers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.race import Command, race
from benchmarks.rows import Row, ratio_row
from benchmarks.trace import ENVCFG, count_file_calls

MOST_TIME = {"envcfg wrap": 1.7, "python -m envcfg wrap": 1.7, "envcfg --version": 1.1}
MOST_CALLS = 1.6
PEER = "python -c 'import argparse, yaml'"


def measure(folder: Path) -> list[Row]:
    """Time the command and count its file operations."""
    image = folder / "x.sif"
    image.touch()
    env = {"PATH": os.defpath, "HOME": str(folder), "LANG": "C.UTF-8"}
    arguments = ["wrap", "--profile", "lumi-g", "--container", str(image)]
    arguments += ["--", "python", "train.py"]
    commands = {
        "envcfg wrap": Command([str(ENVCFG), *arguments], env),
        "python -m envcfg wrap": Command(
            [sys.executable, "-m", "envcfg", *arguments], env
        ),
        "envcfg --version": Command([str(ENVCFG), "--version"], env),
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
    return rows
