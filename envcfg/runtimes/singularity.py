"""SingularityCE: Apptainer's options under another name."""

from __future__ import annotations

from envcfg.runtimes.apptainer import RUNTIME as _APPTAINER

RUNTIME = _APPTAINER._replace(
    name="singularity",
    program="singularity",
    pull="singularity pull image.sif URI",
)
