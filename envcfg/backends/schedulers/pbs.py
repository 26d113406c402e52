"""PBS: ``qsub``, which requests all resources of a node in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envcfg.backends.schedulers.scheduler import (
    TYPED,
    Asked,
    Directive,
    JobNames,
    OptionRefusal,
    Scheduler,
)

# Options of qsub, by Slurm's names; qsub(1B) of OpenPBS 23.06.
_OPTIONS = {
    "--account": "-A {}",
    "--partition": "-q {}",
    "--job-name": "-N {}",
    "--array": "-J {}",
    "--output": "-o {}",
}
# Resources of a chunk of select=. A resource with another long name belongs to the
# job.
_CHUNK = {
    "--system": "system={}",
    "--ncpus": "ncpus={}",
    "--cpus-per-task": "ncpus={}",
    "--ngpus": "ngpus={}",
    "--mem": "mem={}b",
}


def spell(lines: Sequence[Asked], job: JobNames) -> Iterator[Directive]:
    """Yield the ``#PBS`` lines of a request; ``-l select=`` has all resources of a node."""
    tasks = int(dict(lines).get("--ntasks-per-node") or 1)
    chunk = [n for n, (option, _) in enumerate(lines) if option in _CHUNK]
    exclusive_lines = [
        n for n, (option, _) in enumerate(lines) if option == "--exclusive"
    ]
    for number, (option, value) in enumerate(lines):
        if option == "--nodes":
            parts = [str(value), *(_chunk(*lines[number], tasks) for number in chunk)]
            yield Directive(f"-l select={':'.join(parts)}", (number, *chunk))
            # scatter puts each chunk on its own node; the default may put several
            # on one.
            place = "scatter:excl" if exclusive_lines else "scatter"
            yield Directive(f"-l place={place}", (*exclusive_lines, number)[:1])
        elif option == "--time":
            minutes, rest = divmod(job.seconds or 0, 60)
            # PBS reads a number without colons as seconds, so the clock form is
            # explicit.
            clock = f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"
            yield Directive(f"-l walltime={clock}", (number,))
        elif option == "--output":
            # By default, PBS writes two files; one file keeps errors next to their
            # output.
            yield Directive("-j oe", (number,))
            if value is not None:
                path = value.replace("%x", job.name)
                yield Directive(f"-o {path}", (number,))
        elif option not in {*_CHUNK, "--exclusive", "--ntasks-per-node"}:
            template = _OPTIONS.get(option)
            if template is None:  # a resource of the job, or a letter
                sign = "=" if option.startswith("--") else " "
                template = re.sub("^--", "-l ", option) + (
                    "" if value is None else f"{sign}{{}}"
                )
            yield Directive(template.format(value), (number,))


def _chunk(option: str, value: str | None, tasks: int) -> str:
    """Return the resources of one node for ``select=``; cores for all *tasks*."""
    amount = str(int(value or 1) * tasks) if option == "--cpus-per-task" else str(value)
    return _CHUNK[option].format(amount.lower() if option == "--mem" else amount)


def refuse(option: str, value: str | None) -> OptionRefusal | None:
    """Return the reason why qsub does not accept a list or a pattern."""
    if option == "--array" and not re.fullmatch(
        "[0-9]+-[0-9]+(:[0-9]+)?(%[0-9]+)?", value or ""
    ):
        return OptionRefusal(
            f"--array {value}: {{}} takes one range", "as in 0-9 or 0-9:2"
        )
    if option == "--output" and re.search("%(?!x)", value or ""):
        return OptionRefusal(
            f"--log {value}: {{}} fills in %x alone, the job's name",
            "leave --log out: the job's own number is in the name then",
        )
    return None


SCHEDULER = Scheduler(
    name="pbs",
    title="PBS",
    mark="#PBS",
    mark_pattern=r"#PBS(?=\s)",
    # NEC's NQSV has the same mark, as public scripts for SQUID, AOBA and Pegasus show.
    foreign=r"^#PBS\s.*(?:elapstim_req|[cg]punum_|--group=|--venode|-T\s+\w*mpi|-b\s+\d)",
    prefix="PBS_",
    job_variable="PBS_JOBID",
    selecting={"--partition": "PBS_QUEUE"},
    submit="qsub",
    cancel="qdel",
    name_words=("-N", "{}"),
    lists="qstat -u $USER",
    spell=spell,
    # The server's name, which also ends the id of each of its jobs.
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
    lacks=(
        "--qos",
        "--constraint",
        "--signal",
        "--requeue",
        "--nvme",
        "--exclude-from",
        TYPED,
    ),
    refuse=refuse,
    rule_names={"--partition": "--queue"},
    answer=r"^(?P<id>(?P<number>[0-9]+)(?:\[\])?(?:\.[\w.-]+)?)$",
    path_options="-[eo]",
    fills={"%a": "^array_index^"},
)
