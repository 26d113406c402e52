"""What one does next: a line on a terminal's stderr, for those who are new here."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.characters import one_line


class Next(NamedTuple):
    """What may come after a command; ``{name}`` is an option's value, or its first one.

    Attributes:
        done: after exit code 0.
        found: after findings, or what is inconclusive; None: as *done*.
    """

    done: str
    found: str | None = None


_LOOK = (
    "when the job has run, envcfg check-log slurm-JOBID.out says which network it used"
)
_RUN = "--container pytorch.sif -- python train.py"
# By command, by its action, and by an option that changes what comes after.
NEXT: Mapping[str, Next] = {
    "wrap": Next(_LOOK),
    "wrap --output": Next(f"run {{output}} in a job; {_LOOK}"),
    "wrap --script": Next("envcfg lint {script} says what is wrong in the script"),
    "job": Next(f"submit it with -o job.sh written; {_LOOK}"),
    "job --output": Next(f"submit {{output}}; {_LOOK}"),
    "sbatch": Next(f"give -o job.sh, or pipe it to sbatch; {_LOOK}"),
    "sbatch --output": Next(f"sbatch {{output}}; {_LOOK}"),
    "qsub": Next(
        "give -o job.sh, or pipe it to qsub; then envcfg check-log its output"
    ),
    "qsub --output": Next("qsub {output}; then envcfg check-log its output"),
    "lint": Next(
        "envcfg wrap --from {files} -o new.sh adds what the system needs to its steps",
        "envcfg explain RULE says why; envcfg lint --fix {files} mends what is certain; "
        "envcfg wrap --from {files} -o new.sh adds what the system needs to its steps",
    ),
    "check-log": Next(
        "envcfg check-log --html report.html {files} shows it to others",
        "envcfg explain RULE says more of a finding; its name stands in brackets",
    ),
    "environment": Next("envcfg explain VARIABLE says what it does, and who sets it"),
    "explain": Next("envcfg explain RULE says more of one"),
    "explain --names": Next("envcfg wrap --set NAME=VALUE sets a variable of a job"),
    "monitor": Next("envcfg check-log slurm-JOBID.out says which network the job used"),
    "hang": Next(
        "envcfg explain RULE says more of a finding; --flight-recorder of envcfg wrap "
        "has the last collectives kept, for the next time"
    ),
    "inspect": Next(
        "envcfg wrap --container {image} -- python train.py makes a job of it",
        "envcfg explain RULE says more of a finding",
    ),
    "inspect --host": Next(
        "envcfg inspect --host-file host.json IMAGE holds an image against this"
    ),
    "preflight": Next(
        "envcfg wrap --preflight --require fast ... looks before each program",
        "envcfg preflight --nodes-file nodes.txt ... writes which nodes to leave out",
    ),
    "profiles list": Next("envcfg profiles show NAME has every value of one, and why"),
    "profiles show": Next(f"envcfg wrap --profile {{name}} {_RUN} makes a job of it"),
    "profiles validate": Next(
        "envcfg profiles show {files} has every value, as it will be used",
        "docs/profiles.md says what each key takes",
    ),
    "profiles diff": Next("envcfg profiles show NAME says why a value is so"),
    "profiles new": Next("envcfg profiles validate FILE, after each change"),
    "profiles detect": Next(
        "envcfg profiles show NAME has every value of one, and why",
        "envcfg profiles list has all; envcfg profiles new begins one of your own",
    ),
    "profiles trust": Next("envcfg profiles list says which ones count now"),
    "completion": Next("envcfg completion --help says where this belongs"),
}


def next_step(options: argparse.Namespace, code: int) -> str | None:
    """Return what comes after a command; None where nothing is to be said.

    Args:
        options: those of the command, as they were read.
        code: its exit code.
    """
    given = vars(options)
    name = " ".join(filter(None, (options.command_name, given.get("action"))))
    keys = (
        key
        for key in NEXT
        if key.startswith(f"{name} --") and given.get(key.split("--")[1])
    )
    row = NEXT.get(next(keys, name))
    if row is None or code not in {0, 1, 3} or given.get("values") is not None:
        return None
    text = row.done if code == 0 or row.found is None else row.found
    return text.format(**{each: _shown(value) for each, value in given.items()})


def say_next(options: argparse.Namespace, code: int) -> None:
    """Write it to stderr, but not where ``ENVCFG_QUIET`` is set."""
    if not os.environ.get("ENVCFG_QUIET") and (text := next_step(options, code)):
        sys.stdout.flush()
        sys.stderr.write(f"envcfg: next: {text}\n")


def _shown(value: object) -> str:
    first = value[0] if isinstance(value, list) and value else value
    return one_line(shlex.quote(str(first)))
