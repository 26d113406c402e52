"""Who puts tasks on the nodes of a job: a record each, and a folder of modules.

A starter's folder, ``bash/modules/NAME``, holds ``NAME.sh`` with its host part and what a
task learns of itself, and what starts ranks (``ranks.sh``) or agents (``agent.sh``).
CONTRIBUTING.md tells the rest.
"""

from __future__ import annotations

from envcfg.datafile import backend, backends
from envcfg.starters.model import Starter

# The first is what a profile gets that does not say.
STARTERS: dict[str, Starter] = {
    name: backend(__name__, name).STARTER
    for name in backends(__file__, ("srun", "flux", "pbs", "local"))
}
# Who of them has options of its own, by the name that they go by.
OWN: dict[str, Starter] = {each.own: each for each in STARTERS.values() if each.own}
