"""Run a Python function on every rank of a job of two nodes, in a container.

submitit writes the job; envcfg starts its ranks. The line in `setup` defines envcfg_run, by
which submitit's own command then runs; without `use_srun=False` srun would stand before it.
"""

from __future__ import annotations

import submitit

SETUP = "source <(envcfg wrap --profile lumi-g --container pytorch.sif || echo exit $?)"
# A Python of the image with submitit in it; its minor version must be that of this one.
PYTHON = "envcfg_run venv/bin/python"


def train(number: float) -> float:
    """Return the sum of all ranks' numbers, as each rank has it."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    value = torch.tensor(number + dist.get_rank())
    if torch.cuda.is_available():
        value = value.cuda()
    dist.all_reduce(value)
    dist.destroy_process_group()
    return value.item()


def main() -> None:
    """Submit, wait, and print what each rank returned."""
    executor = submitit.SlurmExecutor(folder="submitit-logs", python=PYTHON)
    executor.update_parameters(
        account="project_465000001",
        partition="standard-g",
        nodes=2,
        ntasks_per_node=8,
        gpus_per_node=8,
        cpus_per_task=7,
        mem="480G",
        time=10,
        setup=[SETUP],
        use_srun=False,
    )
    job = executor.submit(train, 1.0)
    print(f"job {job.job_id}")
    print("each rank:", job.results())


if __name__ == "__main__":
    main()
