"""The launchers by name, and who starts their tasks; pure.

A starter puts tasks on the nodes: srun, flux, or this machine's own shell. What a task is
differs by launcher: a rank, or an agent that starts all ranks of its node.
"""

from __future__ import annotations

from collections.abc import Sequence

STARTERS = ("srun", "flux", "local")
AGENTS = ("torchrun", "accelerate")  # the second is the first inside
LAUNCHERS = (
    *STARTERS,
    *AGENTS,
    *("deepspeed", "horovod", "jax", "lightning", "mpi", "transformers"),
)
# What a profile may allow; each of the others goes with one of these.
ALLOWABLE = (*STARTERS, "torchrun")
USUAL = ("srun", "torchrun", "local")


def allowed_launchers(given: Sequence[str] | None) -> list[str]:
    """Return the launchers of a profile whose ``launch.launchers`` is *given*.

    The first is the default. Agents need torchrun to be allowed; what only sets variables
    for ranks needs no leave.
    """
    allowed = list(given or USUAL)
    if "torchrun" in allowed:
        allowed += [name for name in AGENTS if name not in allowed]
    barred = {*allowed, *STARTERS, *AGENTS}
    return allowed + [name for name in LAUNCHERS if name not in barred]


def starter_of(launcher: str, given: Sequence[str] | None) -> str:
    """Return who starts the tasks of *launcher*: itself, or the first that is allowed."""
    if launcher in STARTERS:
        return launcher
    return next((name for name in given or USUAL if name in STARTERS), "srun")
