"""This machine's own shell: ranks are its children."""

from __future__ import annotations

from envcfg.starters.model import Starter

LOCAL = Starter(name="local", meets_outside=True, spans_nodes=False)
