"""EC647 and the real ``sbatch --test-only`` agree about generated directives."""

from __future__ import annotations

import json
import random
from pathlib import Path
from shlex import quote

import pytest

from cluster import Cluster
from support import envcfg

pytestmark = pytest.mark.nightly

SCRIPTS = 200
# Values of the formats in ``backends/schedulers/slurm.yaml``: right ones, and wrong ones.
VALUES = {
    "count": ("1 2 08", "0 -1 2.5 two 8x"),
    "time": ("10 1:00:00 2-00:00:00 1-2 0:30", "24h 1:00:00:00 1.5 1-00: x"),
    "size": ("60M 0 64mb 100 1G", "1.5G 64GiB x 1,000 64M.B"),
    "nodes": ("1 2 1-2 2-2", "two 4-2 =2 1.5 2,x"),
    "gpus": ("1 2 4", "a,=2:b,: 1:x"),
    "gres": ("gpu:1 gpu gres:gpu:1", "8 gpu: gpus:4 :1"),
    "signal": ("USR1@60 B:TERM 10@60 R:INT", "USR1@60s X USR9 B;TERM"),
    "mail": ("END BEGIN,END ALL,x NONE", "FINISH BEGIN|END x"),
    "hint": ("nomultithread multithread MULTITHREAD", "none x multi"),
    "distribution": ("block:cyclic cyclic plane=2", "foo block:x round"),
    "open-mode": ("append truncate a", "x overwrite"),
    "yes-or-no": ("yes no", "maybe 1"),
}
OPTIONS = {
    "count": "ntasks ntasks-per-node cpus-per-task mincpus threads-per-core",
    "time": "time time-min",
    "size": "mem mem-per-cpu tmp",
    "nodes": "nodes",
    "gpus": "gpus gpus-per-node gpus-per-task",
    "gres": "gres",
    "signal": "signal",
    "mail": "mail-type",
    "hint": "hint",
    "distribution": "distribution",
    "open-mode": "open-mode",
    "yes-or-no": "kill-on-invalid-dep",
}
LETTERS = {"ntasks": "n", "time": "t", "nodes": "N", "cpus-per-task": "c", "gpus": "G"}
OTHERS = (
    "--exclusive --exclusive=user --exclusive=1 --requeue --job-name='a_b' --job-name"
    " --contiguous --contiguous=1 --x11 --job_name=a -gres=gpu:1 nodes=2 -J --hold=x"
    " --output=%x.out --comment=a#b --wait=10 --no-such --overcommit --mem=1"
).split()
# The controller's answers to right directives that the cluster cannot serve.
OF_CONTROLLER = ("allocation failure", "Batch job submission failed")
UNLESS = ("Invalid job array specification", "Invalid generic resource")


def directive(chance: random.Random) -> str:
    """Return one directive: right, with a wrong value, or with a slip in its name."""
    if chance.random() < 0.25:
        return chance.choice(OTHERS)
    form = chance.choice(list(OPTIONS))
    name = chance.choice(OPTIONS[form].split())
    value = chance.choice(VALUES[form][chance.random() < 0.15].split())
    if chance.random() < 0.05:
        place = chance.randrange(1, len(name))
        return f"--{name[:place]}{name[place + 1 :]}={value}"
    if name in LETTERS and chance.random() < 0.3:
        return f"-{LETTERS[name]}{chance.choice(('', ' '))}{value}"
    return f"--{name}{chance.choice(('=', ' '))}{value}"


def script(number: int) -> str:
    """Return a job script; the same in each run."""
    chance = random.Random(number)
    lines = [f"#SBATCH {directive(chance)}" for _ in range(chance.randint(1, 3))]
    return "\n".join(["#!/bin/bash", *lines, "srun true", ""])


def is_refused(code: int, answer: str) -> bool:
    """Return whether sbatch itself refuses a script, and not the test cluster."""
    is_answer = any(words in answer for words in OF_CONTROLLER)
    return code != 0 and (not is_answer or any(words in answer for words in UNLESS))


def test_lint_refuses_what_sbatch_refuses_and_nothing_else(
    cluster: Cluster, tmp_path: Path
) -> None:
    scripts = {f"{number}.sh": script(number) for number in range(SCRIPTS)}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in scripts]
    done = envcfg("lint", "--json", "--select", "EC647", *paths)
    refused = {
        Path(checked["name"]).name
        for checked in json.loads(done.out)["checked"]
        if any(finding["severity"] != "note" for finding in checked["findings"])
    }
    asks = "".join(
        f"printf %s {quote(text)} | sbatch --test-only 2>&1; printf '\\0%s\\0' $?\n"
        for text in scripts.values()
    )
    answers = cluster.run(["bash", "-s"], stdin=asks, timeout=55).stdout.split("\0")
    wrong = {}
    for name, answer, code in zip(scripts, answers[::2], answers[1::2], strict=False):
        if is_refused(int(code), answer) != (name in refused):
            wrong[name] = (scripts[name], answer)
    assert len(answers) == 2 * SCRIPTS + 1
    assert wrong == {}
    assert SCRIPTS / 4 < len(refused) < SCRIPTS * 3 / 4
