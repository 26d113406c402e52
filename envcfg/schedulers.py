"""What takes jobs: how each is asked for nodes, and how its jobs are known; pure data.

Requests are made with the options of Slurm, and each scheduler says how it spells them, or
that it has no such thing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

NONE = "none"  # what a profile says of a system that has none


class JobNames(NamedTuple):
    """What a directive may have to name: the job's name, and its time limit in seconds."""

    name: str
    seconds: int | None


# An option by Slurm's name with its value; None: it takes none.
Asked = tuple[str, str | None]


class Directive(NamedTuple):
    """A line of a job script; *of*: for which of the options it stands, by number."""

    text: str
    of: tuple[int, ...]


def _spell_slurm(lines: Sequence[Asked], job: JobNames) -> Iterator[Directive]:  # noqa: ARG001
    for number, (option, value) in enumerate(lines):
        words = option if value is None else f"{option}={value}"
        yield Directive(f"#SBATCH {words}", (number,))


class Scheduler(NamedTuple):
    """What is particular to a scheduler.

    Attributes:
        name: as profiles have it; *title*: as people do.
        job_variable: set in its jobs, and nowhere else.
        nodes_variable: says how many nodes a job has.
        cluster_variable: says how the cluster is named.
        submit: the command that takes a job script; None: envcfg makes none for it.
        spell: the lines of a job script for its options; one may stand for several.
        output: how the job's output is called where nobody says, and that of the jobs of
            an array; None: as the scheduler calls it by itself.
        gpus: the option that asks for GPUs where a profile names none; None: nothing does.
        array: what lists of an array it takes, as a regular expression.
        by_letter: it has options of one letter.
        taken: options whose value is taken from a profile that has one; those of
            *resources*, too, which no option of ``envcfg job`` is for.
        lacks: options of ``envcfg job`` of which no source says how it takes them.
        rule_names: what the rules of a profile call an option, where that differs.
        tells_tasks: its starter learns from the job how many tasks a node has.
        asks_amounts: tasks, cores and memory are asked for; else whole nodes are.
        told_by: the variables by which its starter is told an option again.
        cores_told: the job's cores per task, and the variable that tells the starter.
        template: of ``bash/templates``, for a job that starts again; None: it cannot.
        beginning: of ``bash/templates``, with what its jobs do first.
    """

    name: str
    title: str
    job_variable: str
    nodes_variable: str | None = None
    cluster_variable: str | None = None
    submit: str | None = None
    spell: Callable[[Sequence[Asked], JobNames], Iterator[Directive]] = _spell_slurm
    output: tuple[str, str] | None = ("%x-%j.out", "%x-%A_%a.out")
    gpus: str | None = "--gpus-per-node"
    array: str = ".*"
    by_letter: bool = False
    taken: tuple[str, ...] = ("--partition", "--qos", "--constraint")
    resources: tuple[str, ...] = ("--network", "--hint")
    lacks: tuple[str, ...] = ()
    rule_names: Mapping[str, str] = {}
    tells_tasks: bool = False
    asks_amounts: bool = False
    told_by: Mapping[str, str] = {}
    cores_told: tuple[str, str] | None = None
    template: str | None = None
    beginning: str | None = None


# Options of flux batch by those of Slurm's; flux-batch(1).
_FLUX = {
    "--account": "--setattr=bank={}",
    "--partition": "--queue={}",
    "--time": "--time-limit={}",
}


def _spell_flux(lines: Sequence[Asked], job: JobNames) -> Iterator[Directive]:
    for number, (option, given) in enumerate(lines):
        value = f"{job.seconds}s" if option == "--time" else given
        if option == "--output" and value is not None:
            value = value.replace("%x", job.name).replace("%j", "{{id}}")
        words = option
        if value is not None:
            words = _FLUX.get(option, f"{option}={{}}").format(value)
        yield Directive(f"#flux: {words}", (number,))


# Options of qsub by those of Slurm's; qsub(1B) of OpenPBS 23.06.
_PBS = {
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


def _spell_pbs(lines: Sequence[Asked], job: JobNames) -> Iterator[Directive]:
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
            known = _PBS.get(option)
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


SCHEDULERS: Mapping[str, Scheduler] = {
    each.name: each
    for each in (
        Scheduler(
            name="slurm",
            title="Slurm",
            job_variable="SLURM_JOB_ID",
            nodes_variable="SLURM_NNODES",
            cluster_variable="SLURM_CLUSTER_NAME",
            submit="sbatch",
            tells_tasks=True,
            asks_amounts=True,
            # srun(1), "INPUT ENVIRONMENT VARIABLES"; what sbatch itself was told wins
            told_by={
                "--nodes": "SLURM_NNODES",
                "--gpus-per-node": "SLURM_GPUS_PER_NODE",
                "--ntasks-per-node": "SLURM_NTASKS_PER_NODE",
            },
            cores_told=("SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK"),
            template="slurm/requeue",
        ),
        Scheduler(
            name="flux",
            title="Flux",
            job_variable="FLUX_URI",
            submit="flux batch",
            spell=_spell_flux,
            lacks=(
                *("--array", "--qos", "--constraint", "--signal", "--requeue"),
                *("--cpus-per-gpu", "--mem-per-gpu", "--nvme"),
            ),
            rule_names={"--account": "--bank", "--partition": "--queue"},
        ),
        Scheduler(
            name="pbs",
            title="PBS",
            job_variable="PBS_JOBID",
            submit="qsub",
            spell=_spell_pbs,
            output=None,
            gpus=None,
            array="[0-9]+-[0-9]+(:[0-9]+)?(%[0-9]+)?",
            by_letter=True,
            taken=("--partition",),
            resources=("--filesystems", "--system"),
            lacks=("--qos", "--constraint", "--signal", "--requeue", "--nvme"),
            rule_names={"--partition": "--queue"},
            asks_amounts=True,
            beginning="pbs/folder",
        ),
    )
}
# Those that a profile can name.
NAMES = tuple(name for name, each in SCHEDULERS.items() if each.submit)
