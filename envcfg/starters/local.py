"""This machine's own shell: ranks are its children."""

from __future__ import annotations

from envcfg.starters.model import Starter

STARTER = Starter(
    name="local", starts_agents=True, meets_outside=True, spans_nodes=False
)
