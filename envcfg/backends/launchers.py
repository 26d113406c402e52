"""The launchers by name, each with the kind of its tasks and their starter; pure data.

A starter puts tasks on the nodes. The launcher decides whether a task is a rank, or an
agent that starts all ranks of its node. If there is a
``job/script/modules/launchers/NAME.sh``, it starts the ranks of the agent, or sets the
variables that the library of a rank reads. The commands of each launcher and their
options are in ``knowledge/programs.yaml``.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.backends.starters import OWN, STARTERS


class Launcher(NamedTuple):
    """The properties of a launcher."""

    is_agent: bool = False  # one task per node, which starts the ranks of the node
    # One task per node, which is the program itself and uses the whole node.
    is_whole: bool = False
    # The program runs on the first node only; the module with the launcher's name
    # decides what the others do.
    is_once: bool = False
    starters: tuple[str, ...] = tuple(STARTERS)
    takes_any: bool = False  # its command starts any program, not only Python programs
    own_options: bool = False  # a profile can set options for it, under `launch.NAME`
    # Its ranks meet through a PMI; if the starter has several, an option selects one.
    needs_pmi: bool = False
    # Its ranks use a PMI if one is selected; then no variables are needed.
    may_use_pmi: bool = False
    # The package whose compiled parts, MPI and Gloo, decide how its ranks meet.
    library: str | None = None

    @property
    def has_node(self) -> bool:
        """Whether each task has a node to itself."""
        return self.is_agent or self.is_whole


_AGENT_STARTERS = tuple(
    name for name, starter in STARTERS.items() if starter.starts_agents
)
# The comment above each entry names the input of its program or library.
LAUNCHERS: Mapping[str, Launcher] = {
    **{name: Launcher(starters=(name,)) for name in STARTERS},
    # options of torch.distributed.run (PyTorch 2.13)
    "torchrun": Launcher(is_agent=True, starters=_AGENT_STARTERS, own_options=True),
    # options of accelerate launch (1.15, commands/launch.py, utils/launch.py); it is
    # torchrun inside
    "accelerate": Launcher(is_agent=True, starters=_AGENT_STARTERS),
    # The variables that its own launcher sets (DeepSpeed 0.19.8, launcher/launch.py).
    "deepspeed": Launcher(),
    # The variables that horovodrun sets (Horovod 0.28.1, runner/gloo_run.py). Horovod's
    # controller is MPI or Gloo (common/utils/env_parser.cc).
    "horovod": Launcher(takes_any=True, may_use_pmi=True, library="horovod"),
    # jax.distributed.initialize() (JAX 0.10.2, distributed.py, slurm_cluster.py)
    "jax": Launcher(starters=("srun",)),
    # the cluster environments of Lightning (2.6.6, environments/slurm.py)
    "lightning": Launcher(),
    "mpi": Launcher(starters=("srun", "pbs"), takes_any=True, needs_pmi=True),
    "transformers": Launcher(),
    # options of ray start (Ray 2.60, scripts/scripts.py)
    "ray": Launcher(is_whole=True, takes_any=True, is_once=True),
    # programs of one process
    "once": Launcher(is_whole=True, takes_any=True, is_once=True),
    # Servers, and programs that start the ranks of their node or form a cluster.
    "whole-node": Launcher(is_whole=True, takes_any=True),
}
# The launchers of a program that takes its node, and of one that runs once per job.
NODE, ONCE = "whole-node", "once"
# Launchers with options in a profile, each under ``launch.NAME``.
HAVE_OPTIONS = (
    *OWN,
    *(name for name, launcher in LAUNCHERS.items() if launcher.own_options),
)
AGENTS = tuple(name for name, launcher in LAUNCHERS.items() if launcher.is_agent)
# The launchers that a profile can allow; every other one follows one of these.
ALLOWABLE = (*STARTERS, AGENTS[0])
_USUAL_AGENT = AGENTS[0]
USUAL = ("srun", _USUAL_AGENT, "local")


def allowed_launchers(inputs: Sequence[str] | None) -> list[str]:
    """Return the allowed launchers of a profile with *inputs* in ``launch.launchers``.

    The first is the default. Agents need torchrun in the list. A launcher that only
    sets variables for ranks is always allowed.
    """
    allowed = list(inputs or USUAL)
    if _USUAL_AGENT in allowed:
        allowed += [name for name in AGENTS if name not in allowed]
    # A starter that the profile does not list may not exist on the system.
    barred = {*allowed, *STARTERS, *AGENTS}
    return allowed + [name for name in LAUNCHERS if name not in barred]


def is_local(launcher: str | None) -> bool:
    """Return whether *launcher* is a starter that uses only this node."""
    starter = STARTERS.get(launcher or "")
    return starter is not None and not starter.spans_nodes


def starter_of(launcher: str, inputs: Sequence[str] | None) -> str:
    """Return the starter of *launcher*'s tasks: itself, or the first allowed starter."""
    if launcher in STARTERS:
        return launcher
    # Without any starter in the list, srun is the most likely one.
    first = next(iter(STARTERS))
    return next((name for name in inputs or USUAL if name in STARTERS), first)
