"""SingularityCE: Apptainer's options under another name."""

from __future__ import annotations

from envcfg.runtimes.apptainer import RUNTIME as _APPTAINER

RUNTIME = _APPTAINER._replace(
    name="singularity",
    program="singularity",
    pull="pull it once before the job (singularity pull image.sif URI), "
    "and give --container image.sif",
)
