"""lint: a script of 5,000 lines, against the grammar alone and against start-up."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.race import Command, best
from benchmarks.rows import Row, ratio_row
from benchmarks.trace import ENVCFG

LINES = 5_000
MOST_SECONDS = 0.5
# The least that can be done with it: Python starts, and the grammar reads the whole.
_FLOOR = """\
import sys, tree_sitter_bash
from tree_sitter import Language, Parser
data = open(sys.argv[1], "rb").read()
print(Parser(Language(tree_sitter_bash.language())).parse(data).root_node.child_count)
"""
_HEAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=7
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
failed=0
"""
# Ten lines, as people write them: a launch line in variables, a branch, a loop, a function.
_BLOCK = """\
args_{n}=(--nnodes="$SLURM_JOB_NUM_NODES" --nproc_per_node=8)
args_{n}+=(--rdzv_id="$SLURM_JOB_ID" --rdzv_backend=c10d)
if [ "$MODE" = "{n}" ]; then
  export NCCL_DEBUG=WARN OMP_NUM_THREADS=7
fi
for part in a b c; do
  echo "part $part of {n}" >>"logs/$part.txt"
done
report_{n}() {{ echo "$1: $(date)"; }}
CMD_{n}="python train.py --step {n}"
"""
_STEP = """\
srun --cpus-per-task=7 bash -c "$CMD_{n}" && report_{n} done || failed=1
"""


def measure(folder: Path) -> list[Row]:
    """Compare the whole of lint with the reading of the grammar alone."""
    script = folder / "job.sh"
    text = script_of(LINES)
    script.write_text(text)
    environ = {"PATH": os.defpath, "HOME": str(folder), "LANG": "C.UTF-8"}
    commands = {
        "lint": Command([str(ENVCFG), "lint", "--select", "EC4", str(script)], environ),
        "all": Command([str(ENVCFG), "lint", str(script)], environ),
        "floor": Command([sys.executable, "-c", _FLOOR, str(script)], environ),
    }
    taken = best(commands, rounds=5)
    what = f"lint, {text.count(chr(10)):,} lines"
    return [
        Row(
            what=f"{what}: time",
            measured=taken["all"].seconds,
            unit="s",
            target=f"< {MOST_SECONDS} s",
            met=taken["all"].seconds < MOST_SECONDS,
        ),
        ratio_row(
            f"{what}: all rules",
            measured=taken["all"].seconds,
            peer=taken["floor"].seconds,
            against="the grammar alone",
            unit="s",
        ),
        ratio_row(
            f"{what}: rules of one group",
            measured=taken["lint"].seconds,
            peer=taken["floor"].seconds,
            against="the grammar alone",
            unit="s",
        ),
        Row(what=f"{what}: memory", measured=taken["all"].megabytes, unit="MB"),
    ]


def script_of(lines: int) -> str:
    """Return a job script of about so many lines, the same each time."""
    text, number = [_HEAD], 0
    count = _HEAD.count("\n")
    while count < lines:
        block = _BLOCK.format(n=number) + (
            _STEP.format(n=number) if number % 5 == 0 else ""
        )
        text.append(block)
        count += block.count("\n")
        number += 1
    return "".join(text) + 'exit "$failed"\n'
