"""The launchers by name: what each makes of a task, and who starts its tasks; pure data.

A starter puts tasks on the nodes. What a task is differs by launcher: a rank, or an agent
that starts all ranks of its node. ``bash/modules/launchers/NAME.sh``, where there is one,
starts the agent's ranks, or gives a rank what its library reads. Which commands begin with
a launcher, and what their options mean, is in ``knowledge/launchers.yaml``.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.starters import OWN, STARTERS


class Launcher(NamedTuple):
    """What is particular to a launcher.

    Attributes:
        is_agent: one task per node, which starts the ranks in it.
        is_whole: one task per node as well, which is the program itself and takes all that
            the node has.
        starters: who can start its tasks.
        takes_any: its command starts any program, not only Python's.
        own_options: a profile can give it options, under ``launch.NAME``.
        needs_pmi: its ranks meet by a PMI; where the starter has several, an option of it
            says which.
        may_use_pmi: they do where one is named; then no variables are needed.
    """

    is_agent: bool = False
    is_whole: bool = False
    starters: tuple[str, ...] = tuple(STARTERS)
    takes_any: bool = False
    own_options: bool = False
    needs_pmi: bool = False
    may_use_pmi: bool = False

    @property
    def has_node(self) -> bool:
        """Whether a task has a node to itself."""
        return self.is_agent or self.is_whole


_AGENT_STARTERS = tuple(name for name, each in STARTERS.items() if each.starts_agents)
# Above each: what its program or library reads.
LAUNCHERS: Mapping[str, Launcher] = {
    **{name: Launcher(starters=(name,)) for name in STARTERS},
    # options of torch.distributed.run (PyTorch 2.13)
    "torchrun": Launcher(is_agent=True, starters=_AGENT_STARTERS, own_options=True),
    # options of accelerate launch (1.15, commands/launch.py, utils/launch.py); it is
    # torchrun inside
    "accelerate": Launcher(is_agent=True, starters=_AGENT_STARTERS),
    # what its own launcher sets (DeepSpeed 0.19.8, launcher/launch.py)
    "deepspeed": Launcher(),
    # what horovodrun sets (Horovod 0.28.1, runner/gloo_run.py)
    "horovod": Launcher(takes_any=True, may_use_pmi=True),
    # jax.distributed.initialize() (JAX 0.10.2, distributed.py, slurm_cluster.py)
    "jax": Launcher(starters=("srun",)),
    # the cluster environments of Lightning (2.6.6, environments/slurm.py)
    "lightning": Launcher(),
    "mpi": Launcher(starters=("srun", "pbs"), takes_any=True, needs_pmi=True),
    "transformers": Launcher(),
    # servers, and what is a node of a cluster of its own
    "whole-node": Launcher(is_whole=True, takes_any=True),
}
# Whose own options a profile can give, each under ``launch.NAME``.
HAVE_OPTIONS = (*OWN, *(name for name, each in LAUNCHERS.items() if each.own_options))
AGENTS = tuple(name for name, each in LAUNCHERS.items() if each.is_agent)
# What a profile may allow; each of the others goes with one of these.
ALLOWABLE = (*STARTERS, AGENTS[0])
_USUAL_AGENT = AGENTS[0]
USUAL = ("srun", _USUAL_AGENT, "local")


def allowed_launchers(given: Sequence[str] | None) -> list[str]:
    """Return the launchers of a profile whose ``launch.launchers`` is *given*.

    The first is the default. Agents need torchrun to be allowed; what only sets variables
    for ranks needs no leave.
    """
    allowed = list(given or USUAL)
    if _USUAL_AGENT in allowed:
        allowed += [name for name in AGENTS if name not in allowed]
    barred = {*allowed, *STARTERS, *AGENTS}
    return allowed + [name for name in LAUNCHERS if name not in barred]


def is_local(launcher: str | None) -> bool:
    """Tell whether *launcher* is a starter that leaves out all nodes but this one."""
    starter = STARTERS.get(launcher or "")
    return starter is not None and not starter.spans_nodes


def starter_of(launcher: str, given: Sequence[str] | None) -> str:
    """Return who starts the tasks of *launcher*: itself, or the first that is allowed."""
    if launcher in STARTERS:
        return launcher
    first = next(iter(STARTERS))
    return next((name for name in given or USUAL if name in STARTERS), first)
