"""Flux: ``flux batch``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envcfg.backends.schedulers.scheduler import (
    TYPED,
    Asked,
    Directive,
    JobNames,
    Scheduler,
)

# Options of flux batch, by Slurm's names; flux-batch(1).
_OPTIONS = {
    "--account": "--setattr=bank={}",
    "--partition": "--queue={}",
    "--time": "--time-limit={}",
}


def spell(lines: Sequence[Asked], job: JobNames) -> Iterator[Directive]:
    """Yield the ``#flux:`` lines of a request."""
    for number, (option, argument) in enumerate(lines):
        value = f"{job.seconds}s" if option == "--time" else argument
        if option == "--output" and value is not None:
            value = value.replace("%x", job.name).replace("%j", "{{id}}")
        words = option
        if value is not None:
            words = _OPTIONS.get(option, f"{option}={{}}").format(value)
        yield Directive(words, (number,))


SCHEDULER = Scheduler(
    name="flux",
    title="Flux",
    mark="#flux:",
    mark_pattern="#[ \t]*(?:flux|FLUX):",
    prefix="FLUX_",
    job_variable="FLUX_URI",
    submit="flux batch",
    cancel="flux cancel",
    name_words=("--job-name={}",),
    lists="flux jobs -a",
    spell=spell,
    # The nodes of the system instance, whose names begin with the machine's.
    cluster_command=("flux", "getattr", "hostlist"),
    cluster_pattern=r"^([A-Za-z][A-Za-z-]*)",
    queues=(
        *("flux", "queue", "list", "--no-header"),
        "--format={queuem}|{limits.timelimit}|{limits.max.nnodes}",
    ),
    nodes=(
        *("flux", "resource", "list", "--states=all", "--no-header"),
        "--format={queue}|{propertiesx}|{nnodes}|{ncores}|{ngpus}",
    ),
    lacks=(
        *("--array", "--qos", "--constraint", "--signal", "--requeue"),
        "--exclude-from",
        *("--cpus-per-gpu", "--mem-per-gpu", "--nvme", TYPED),
    ),
    rule_names={"--account": "--bank", "--partition": "--queue"},
    asks_amounts=False,
    answer=r"^(?P<id>[\u0192f][1-9A-HJ-NP-Za-km-z]+)$",
    own_output=("flux-%j.out", "flux-%j.out"),
    fills={"%j": "{{id}}", "%x": "{{name}}"},
)
