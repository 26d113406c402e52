"""Flux' ``flux run``, in an allocation that is an instance of Flux."""

from __future__ import annotations

from envcfg.backends.starters.starter import Names, NodeTasks, Starter

STARTER = Starter(
    name="flux",
    task="a rank, by `flux run` ([wrap.md](flux-and-pbs.md#flux))",
    # flux-environment(7), "JOB ENVIRONMENT"
    names=Names(
        task=("FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID"),
        step=("FLUX_JOB_ID", "FLUX_JOB_SIZE", "FLUX_JOB_NNODES", "FLUX_JOB_TMPDIR"),
    ),
    looking=NodeTasks(hosts=("flux", "hostlist", "--expand", "instance")),
    bundled=("flux",),
    own="flux",
    starts_agents=False,
)
