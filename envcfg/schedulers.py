"""What takes jobs: how each is asked for nodes, and how its jobs are known; pure data.

Requests are made with the options of Slurm, and each scheduler says how it spells them, or
that it has no such thing.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

NONE = "none"  # what a profile says of a system that has none


class JobNames(NamedTuple):
    """What a directive may have to name: the job's name, and its time limit in seconds."""

    name: str
    seconds: int | None


def _spell_slurm(option: str, value: str | None, job: JobNames) -> str:  # noqa: ARG001
    return f"#SBATCH {option}" if value is None else f"#SBATCH {option}={value}"


class Scheduler(NamedTuple):
    """What is particular to a scheduler.

    Attributes:
        name: as profiles have it; *title*: as people do.
        job_variable: set in its jobs, and nowhere else.
        nodes_variable: says how many nodes a job has.
        cluster_variable: says how the cluster is named.
        submit: the command that takes a job script; None: envcfg makes none for it.
        spell: the line of a job script for an option and its value, if it takes one.
        lacks: options of ``envcfg sbatch`` of which no source says how it takes them.
        rule_names: what the rules of a profile call an option, where that differs.
        asks_amounts: tasks, cores and memory are asked for; else whole nodes are.
        told_by: the variables by which its starter is told an option again.
        cores_told: the job's cores per task, and the variable that tells the starter.
        template: of ``bash/templates``, for a job that starts again; None: it cannot.
    """

    name: str
    title: str
    job_variable: str
    nodes_variable: str | None = None
    cluster_variable: str | None = None
    submit: str | None = None
    spell: Callable[[str, str | None, JobNames], str] = _spell_slurm
    lacks: tuple[str, ...] = ()
    rule_names: Mapping[str, str] = {}
    asks_amounts: bool = False
    told_by: Mapping[str, str] = {}
    cores_told: tuple[str, str] | None = None
    template: str | None = None


# Options of flux batch by those of Slurm's; flux-batch(1).
_FLUX = {
    "--account": "--setattr=bank={}",
    "--partition": "--queue={}",
    "--time": "--time-limit={}",
}


def _spell_flux(option: str, value: str | None, job: JobNames) -> str:
    if value is None:
        return f"#flux: {option}"
    if option == "--time":
        value = f"{job.seconds}s"
    if option == "--output":
        value = value.replace("%x", job.name).replace("%j", "{{id}}")
    return f"#flux: {_FLUX.get(option, option + '={}').format(value)}"


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
        # Its jobs are known, so that a mistake there is noticed; no script is made for it.
        Scheduler(name="pbs", title="PBS", job_variable="PBS_JOBID"),
    )
}
# Those that a profile can name.
NAMES = tuple(name for name, each in SCHEDULERS.items() if each.submit)
