"""The table of what becomes of the options by which a script starts its ranks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from envcfg.datafile import load_yaml

_FILE = os.path.join(os.path.dirname(__file__), "programs.yaml")
# They start what stands behind them, and change nothing for a step.
PASSED = frozenset({"exec", "command", "builtin", "env"})


@cache
def load_table() -> Mapping[str, Any]:
    """Return ``programs.yaml``."""
    found: Mapping[str, Any] = load_yaml(_FILE)
    return found
