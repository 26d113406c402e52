"""Starters put tasks on the nodes of a job: one record each, and a folder of modules.

The folder ``job/script/modules/NAME`` holds ``NAME.sh`` (the host part, and the identity
of a task), and the modules that start ranks (``ranks.sh``) or agents (``agent.sh``).
CONTRIBUTING.md has the recipe.
"""

from __future__ import annotations

from envcfg.backends.starters.starter import Starter
from envcfg.common.datafile import backend, backends

# The first one is the default of a profile.
STARTERS: dict[str, Starter] = {
    name: backend(__name__, name).STARTER
    for name in backends(__file__, ("srun", "flux", "pbs", "local"))
}
# Starters with options in profiles, by the name of these options.
OWN: dict[str, Starter] = {
    starter.own: starter for starter in STARTERS.values() if starter.own
}
