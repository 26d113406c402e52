"""The entrypoint: what the rank part costs each task before the program starts."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.race import race
from benchmarks.rows import Row, ratio_row
from benchmarks.task import build_rank_argv, caches, task
from benchmarks.trace import count_processes

USUAL = Path(__file__).parent / "usual_practice.sh"
BARE = "sh -c 'exec \"$@\"' sh true"
TRUE = shutil.which("true") or "/bin/true"  # not bash's own
MOST_MS = 1.0  # more than a shell that does nothing but start the program


def measure(folder: Path) -> list[Row]:
    """Count processes and time them: rank part, bare shell, usual practice."""
    argv = build_rank_argv(folder)
    commands = {
        "rank part": task(argv),
        "bare": task(["/bin/sh", "-c", 'exec "$@"', "sh", "true"]),
        "usual": task(["/bin/bash", str(USUAL), sys.executable, TRUE]),
    }
    with caches(argv):
        times = race(commands, rounds=300)
        counts = {name: count_processes(each) for name, each in commands.items()}
    forks, execs = counts["rank part"]
    excess = times["rank part"] - times["bare"]
    return [
        Row(
            what="rank part: forks",
            measured=forks,
            peer=counts["usual"][0],
            against="usual practice",
            unit="",
            target="0",
            met=forks == 0,
        ),
        Row(
            what="rank part: programs started",
            measured=execs,
            peer=counts["usual"][1],
            against="usual practice",
            unit="",
            target="1, the job's",
            met=execs == 1,
        ),
        Row(
            what="rank part: time",
            measured=times["rank part"],
            peer=times["bare"],
            against=BARE,
            unit="ms",
            target=f"<= +{MOST_MS:.1f} ms",
            met=excess <= MOST_MS,
        ),
        ratio_row(
            "rank part: time",
            measured=times["rank part"],
            peer=times["usual"],
            against="usual practice",
        ),
        ratio_row(
            "usual practice: time",
            measured=times["usual"],
            peer=times["bare"],
            against=BARE,
        ),
    ]
