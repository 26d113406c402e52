"""What many jobs cost: a month of a centre, with nodes that kill jobs."""

from __future__ import annotations

import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.rows import Row
from benchmarks.trace import ENVCFG

sys.path.append(str(Path(__file__).parent.parent / "tests/log"))
import jobs
import training

JOBS, NODES, BAD = 100_000, 1_000, 5
_USERS, _DAYS = 60, 30
_SIZE = 3_000  # bytes of a log
_MONTHS = 20
_HEAD = (
    "JobID|JobIDRaw|Cluster|User|Account|Partition|JobName|State|ExitCode|Submit|Start|End"
    "|ElapsedRaw|NNodes|AllocTRES|NodeList\n"
)
_TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/home/{user}/train.py", line {line}, in <module>\n    main()\n{error}\n'
    "srun: error: {node}: task 0: Exited with exit code 1\n"
)
_STEPD = "slurmstepd: error: "
# Ends of logs with their states, and weights; {node} is the first node.
_ENDS = (
    ("", "COMPLETED", 80),
    (_TRACE.replace("{error}", "ValueError: corrupt shard {number}"), "FAILED", 6),
    (_TRACE.replace("{error}", "KeyError: 'layer{number}'"), "FAILED", 4),
    (
        f"{_STEPD}*** STEP {{id}}.0 ON {{node}} CANCELLED DUE TO TIME LIMIT ***\n",
        "TIMEOUT",
        6,
    ),
    (f"{_STEPD}Detected 1 oom_kill event in StepId={{id}}.0.\n", "OUT_OF_MEMORY", 4),
)
_XID = "{node}: [ 8123.551] NVRM: Xid (PCI:0000:41:00): "
_FAILURES = (
    f"{_XID}79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n",
    f"{_XID}48, pid=4411, name=python, An uncorrectable double bit error (DBE)\n",
)
_HOSTS = re.compile(r"nid00100[12]")


class Month(NamedTuple):
    """The logs of a centre, and facts about them."""

    logs: Path
    accounting: Path
    bad: frozenset[str]  # the nodes that kill jobs


def write_month(
    folder: Path, count: int, *, seed: int = 0, nodes: int = NODES
) -> Month:
    """Write *count* logs of a month, and their accounting; always the same for a *seed*."""
    chance = random.Random(seed)  # noqa: S311
    names = [f"nid{at:06}" for at in range(nodes)]
    bad = frozenset(chance.sample(names, BAD))
    starts = {
        size: [
            jobs.text(jobs.Job(nodes=size, ranks_per_node=1, fallen=fallen), "srun")
            for fallen in (frozenset[int](), frozenset(range(size)))
        ]
        for size in (1, 2)
    }
    steps = "\n".join(training.training_output(200))
    logs = folder / "logs"
    with (folder / "sacct.txt").open("w") as accounting:
        accounting.write(_HEAD)
        for at in range(count):
            id_ = 1_000_000 + at
            user = f"user{chance.randrange(_USERS):02}"
            size = chance.choice((1, 1, 2))
            first = chance.randrange(nodes - size)
            own = names[first : first + size]
            end, state = _end(chance, own, bad)
            start = starts[size][chance.random() < 0.05]
            text = _HOSTS.sub(lambda match, own=own: own[int(match[0][-1]) - 1], start)  # type: ignore[misc]
            end = end.format(
                user=user, node=own[0], id=id_, line=chance.randrange(9, 99), number=at
            )
            text = f"{text}{steps[: max(0, _SIZE - len(text) - len(end))]}\n{end}"
            path = logs / user / f"slurm-{id_}.out"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            day, hours = chance.randrange(_DAYS) + 1, chance.randrange(1, 12)
            accounting.write(
                f"{id_}|{id_}|big|{user}|account{at % 9}|gpu|train{at % 40}|{state}|0:0||"
                f"2026-11-{day:02}T00:00:00|2026-11-{day:02}T{hours:02}:00:00|"
                f"{hours * 3600}|{size}|gres/gpu={size * 4}|{','.join(own)}\n"
            )
    return Month(logs, folder / "sacct.txt", bad)


def _end(chance: random.Random, own: list[str], bad: frozenset[str]) -> tuple[str, str]:
    """Return the last lines of a log, and the state of the job."""
    for node in own:
        # Good nodes fail too, but rarely.
        if chance.random() < (0.25 if node in bad else 0.001):
            failure = chance.choice(_FAILURES)
            return failure.replace("{node}", node), "NODE_FAIL"
    end, state, _ = chance.choices(_ENDS, [weight for *_, weight in _ENDS])[0]
    return end, state


def measure(folder: Path) -> list[Row]:
    """Read a month of 100,000 jobs, ask the store, and name the bad nodes of 20 months."""
    return [*_time_month(folder / "month", JOBS), *_try_months(folder)]


def _time_month(folder: Path, count: int) -> Iterator[Row]:
    folder.mkdir()
    month = write_month(folder, count)
    store = str(folder / "jobs.db")
    words = [str(ENVCFG), "jobs", str(month.logs), "--store", store]
    words += ["--accounting", str(month.accounting), "--where", "id=1", "--ids"]
    took, memory = _run(words)
    minutes = took / 60
    what = f"jobs: {count:,} logs of {_SIZE:,} B"
    yield Row(what=what, measured=took, unit="s", target="<= 8 min", met=minutes <= 8)
    yield Row(
        what="memory of the largest process", measured=memory, unit="MB",
        target="<= 300 MB", met=memory <= 300,
    )  # fmt: skip
    took, _ = _run(words)
    yield Row(what="the same again, nothing new", measured=took, unit="s")
    questions = (
        *(["--by", name] for name in ("cause", "node", "week", "user")),
        ["--where", "verdict=degraded and user=user07", "--ids"],
        *(["--format", name] for name in ("openmetrics", "bad-nodes")),
    )
    for question in questions:
        took, _ = _run([str(ENVCFG), "jobs", "--store", store, *question])
        what = f"store: {' '.join(question)}"
        yield Row(what=what, measured=took, unit="s", target="<= 1 s", met=took <= 1)


def _try_months(
    folder: Path, months: int = _MONTHS, count: int = 20_000
) -> Iterator[Row]:
    missed = wrong = 0
    for seed in range(months):
        own = folder / f"month{seed}"
        own.mkdir()
        month = write_month(own, count, seed=seed)
        words = [str(ENVCFG), "jobs", str(month.logs), "--format", "bad-nodes"]
        words += ["--accounting", str(month.accounting)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        listed = {line.split()[0] for line in done.stdout.splitlines()[1:]}
        missed += len(month.bad - listed)
        wrong += len(listed - month.bad)
    what = f"bad nodes of {months} months that are not named"
    yield Row(what=what, measured=missed, unit="", target="0", met=not missed)
    what = f"good nodes of {months} months that are named"
    yield Row(what=what, measured=wrong, unit="", target="0", met=not wrong)


def _run(words: list[str]) -> tuple[float, float]:
    """Return the seconds that a command takes, and the largest memory in MB so far."""
    began = time.monotonic()
    subprocess.run(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    took = time.monotonic() - began
    return took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
