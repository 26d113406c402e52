"""Rooms that hold a module for each backend: the module's name is the backend's.

A dash in a backend's name is an underscore in its module's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from envcfg.datafile import names_in


def backends(room: str, first: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of the backends of a room, by its modules but for ``model``.

    Args:
        room: path of the ``__init__.py`` beside them.
        first: those that come first, in their order; the others are sorted.
    """
    files = names_in(os.path.dirname(os.path.abspath(room)))
    modules = {name.removesuffix(".py") for name in files if name.endswith(".py")}
    names = {name.replace("_", "-") for name in modules - {"__init__", "model"}}
    return (*first, *sorted(names - {*first}))


def backend(room: str, name: str) -> ModuleType:
    """Return the module of a backend; *room* is the name of its package."""
    return import_module(f"{room}.{name.replace('-', '_')}")
