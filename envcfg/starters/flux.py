"""Flux' ``flux run``, in an allocation that is an instance of Flux."""

from __future__ import annotations

from envcfg.starters.model import Starter

STARTER = Starter(
    name="flux",
    # flux-environment(7), "JOB ENVIRONMENT"
    task_names=("FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID"),
    step_names=("FLUX_JOB_ID", "FLUX_JOB_SIZE", "FLUX_JOB_NNODES", "FLUX_JOB_TMPDIR"),
    sections=("bundles",),
    bundled=("flux",),
    keeps_hosts=True,
    node_names=("flux", "hostlist", "--expand", "instance"),
)
