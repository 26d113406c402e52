"""SingularityCE: Apptainer's options under another name."""

from __future__ import annotations

from envcfg.backends.runtimes.apptainer import RUNTIME as _APPTAINER

RUNTIME = _APPTAINER._replace(
    name="singularity",
    sign="singularity",
    same_kind="apptainer",
    pull="pull it once before the job (singularity pull image.sif URI), "
    "and give --container image.sif",
)
