"""Rooms that hold a module for each backend: the module's name is the backend's."""

from __future__ import annotations

import os
from collections.abc import Sequence


def backends(room: str, first: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of the backends of a room, by its modules but for ``model``.

    Args:
        room: path of the ``__init__.py`` beside them.
        first: those that come first, in their order; the others are sorted.
    """
    files = os.listdir(os.path.dirname(os.path.abspath(room)))
    names = {name.removesuffix(".py") for name in files if name.endswith(".py")}
    return (*first, *sorted(names - {*first, "__init__", "model"}))
