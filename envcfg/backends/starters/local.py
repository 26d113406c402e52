"""This machine's own shell: ranks are its children."""

from __future__ import annotations

from envcfg.backends.starters.starter import Starter

STARTER = Starter(
    name="local", task="a rank, a process of this machine", spans_nodes=False
)
