"""PBS: ``qsub``, which asks for all that a node gives in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envcfg.schedulers.model import Asked, Directive, JobNames, Refusal, Scheduler

# Options of qsub by those of Slurm's; qsub(1B) of OpenPBS 23.06.
_OPTIONS = {
    "--account": "-A {}",
    "--partition": "-q {}",
    "--job-name": "-N {}",
    "--array": "-J {}",
    "--output": "-o {}",
}
# What a chunk of select= has; what is asked for by another long name is the job's.
_CHUNK = {
    "--system": "system={}",
    "--ncpus": "ncpus={}",
    "--cpus-per-task": "ncpus={}",
    "--ngpus": "ngpus={}",
    "--mem": "mem={}b",
}


def spell(lines: Sequence[Asked], job: JobNames) -> Iterator[Directive]:
    """Yield the lines; all that a node gives is one, ``-l select=``."""
    tasks = int(dict(lines).get("--ntasks-per-node") or 1)
    chunk = [n for n, (option, _) in enumerate(lines) if option in _CHUNK]
    whole = [n for n, (option, _) in enumerate(lines) if option == "--exclusive"]
    for number, (option, value) in enumerate(lines):
        if option == "--nodes":
            parts = [str(value), *(_chunk(*lines[each], tasks) for each in chunk)]
            yield Directive(f"#PBS -l select={':'.join(parts)}", (number, *chunk))
            place = "scatter:excl" if whole else "scatter"
            yield Directive(f"#PBS -l place={place}", (*whole, number)[:1])
        elif option == "--time":
            minutes, rest = divmod(job.seconds or 0, 60)
            clock = f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"
            yield Directive(f"#PBS -l walltime={clock}", (number,))
        elif option == "--output":
            yield Directive("#PBS -j oe", (number,))
            if value is not None:
                path = value.replace("%x", job.name)
                yield Directive(f"#PBS -o {path}", (number,))
        elif option not in {*_CHUNK, "--exclusive", "--ntasks-per-node"}:
            known = _OPTIONS.get(option)
            if known is None:  # a resource of the job, or a letter
                sign = "=" if option.startswith("--") else " "
                known = re.sub("^--", "-l ", option) + (
                    "" if value is None else f"{sign}{{}}"
                )
            yield Directive(f"#PBS {known.format(value)}", (number,))


def _chunk(option: str, value: str | None, tasks: int) -> str:
    """Return what a node gives, as ``select=`` has it; cores are those of all *tasks*."""
    amount = str(int(value or 1) * tasks) if option == "--cpus-per-task" else str(value)
    return _CHUNK[option].format(amount.lower() if option == "--mem" else amount)


def refuse(option: str, value: str | None) -> Refusal | None:
    """Return why qsub does not take a list or a pattern."""
    if option == "--array" and not re.fullmatch(
        "[0-9]+-[0-9]+(:[0-9]+)?(%[0-9]+)?", value or ""
    ):
        return Refusal(f"--array {value}: {{}} takes one range", "as in 0-9 or 0-9:2")
    if option == "--output" and re.search("%(?!x)", value or ""):
        return Refusal(
            f"--log {value}: {{}} fills in %x alone, the job's name",
            "leave --log out: the job's own number is in the name then",
        )
    return None


SCHEDULER = Scheduler(
    name="pbs",
    title="PBS",
    job_variable="PBS_JOBID",
    submit="qsub",
    spell=spell,
    # The server's name, which ends the number of each of its jobs.
    cluster_command=("qstat", "-B", "-f"),
    cluster_pattern=r"^Server: ([^\s.]+)",
    cluster_of_job=r"[^.]+\.([^.]+)",
    queues=("qstat", "-Q", "-f"),
    nodes=("pbsnodes", "-a", "-v"),
    default_queue=r"^[ \t]+default_queue = (\S+)",
    output=None,
    gpus=None,
    gpus_by="--ngpus",
    resources=("--filesystems", "--system"),
    lacks=("--qos", "--constraint", "--signal", "--requeue", "--nvme"),
    refuse=refuse,
    rule_names={"--partition": "--queue"},
    answer=r"^(?P<id>(?P<number>[0-9]+)(?:\[\])?(?:\.[\w.-]+)?)$",
    fills={"%a": "^array_index^"},
)
