"""Slurm: its options are used unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envcfg.backends.schedulers.scheduler import Asked, Directive, JobNames, Scheduler


def spell(lines: Sequence[Asked], job: JobNames) -> Iterator[Directive]:  # noqa: ARG001
    """Yield an ``#SBATCH`` line for each option."""
    for number, (option, value) in enumerate(lines):
        words = option if value is None else f"{option}={value}"
        yield Directive(words, (number,))


SCHEDULER = Scheduler(
    name="slurm",
    title="Slurm",
    mark="#SBATCH",
    old_mark="#SLURM",
    prefix="SLURM_",
    job_variable="SLURM_JOB_ID",
    submit="sbatch",
    cancel="scancel",
    name_words=("--job-name={}",),
    option_prefix="SBATCH_",
    name_lines=rb"^#PBS\s.*-N|^#BSUB\s.*-J",  # sbatch(1), --ignore-pbs
    lists="squeue --me",
    spell=spell,
    cluster_command=("scontrol", "show", "config"),
    cluster_pattern=r"^ClusterName\s*=\s*(\S+)",
    cluster_variable="SLURM_CLUSTER_NAME",
    selecting={
        "--partition": "SLURM_JOB_PARTITION",
        "--gpus-per-node": "SLURM_GPUS_PER_NODE",
    },
    queues=("scontrol", "--all", "--oneliner", "show", "partition"),
    nodes=("scontrol", "--all", "--oneliner", "show", "node"),
    qos=(
        *("sacctmgr", "--noheader", "--parsable2", "show", "qos"),
        "format=Name,MaxTRES,MaxWall",
    ),
    own=(
        *("sacctmgr", "--noheader", "--parsable2", "show", "assoc"),
        *("where", "user={}", "format=Cluster,Account,QOS"),
    ),
    accounting=tuple(
        "sacct --duplicates --allocations --parsable2 --jobs={} --format=JobID,JobIDRaw,"
        "Cluster,User,Account,Partition,JobName,State,ExitCode,Start,End,"
        "ElapsedRaw,NNodes,AllocTRES,NodeList".split()
    ),
    sizes={
        **dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), "nodes"),
        **dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS"), "tasks"),
        "SLURM_NTASKS_PER_NODE": "tasks_per_node",
        "SLURM_CPUS_PER_TASK": "cpus",
        "SLURM_GPUS_PER_NODE": "gpus_per_node",
    },
    segment="--segment",
    resources=("--network", "--hint", "--clusters"),
    # srun(1), "INPUT ENVIRONMENT VARIABLES"; the options of sbatch itself override
    # them.
    told_by={
        "--nodes": ("SLURM_NNODES", "SLURM_NNODES"),
        "--gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_NODE"),
        "--ntasks-per-node": ("SLURM_NTASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"),
        "--cpus-per-task": ("SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK"),
    },
    answer=r"^(?:Submitted batch job )?(?P<id>[0-9]+)(?:;\S+| on cluster \S+)?$",
    own_output=("slurm-%j.out", "slurm-%A_%a.out"),
    test=("--test-only",),
    starts=r"Job [0-9]+ to start at (?P<time>[0-9T:-]+) ",
)
