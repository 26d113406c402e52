"""Who puts tasks on the nodes of a job: a record each, and a folder of templates.

A starter's folder, ``bash/templates/NAME``, holds its host part (``host.sh``), what starts
ranks (``ranks.sh``) or agents (``agent.sh``), what a task learns of itself (``rank.sh``),
and the few words in which others differ (``words.sh``). CONTRIBUTING.md tells the rest.
"""

from __future__ import annotations

from envcfg.starters.flux import FLUX
from envcfg.starters.local import LOCAL
from envcfg.starters.model import Starter
from envcfg.starters.srun import SRUN

# The first is what a profile gets that does not say.
STARTERS: dict[str, Starter] = {each.name: each for each in (SRUN, FLUX, LOCAL)}
