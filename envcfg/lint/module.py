"""Modules that a script loads, of which some give containers their binds."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import NamedTuple

from envcfg.datafile import load_yaml
from envcfg.lint.model import Model
from envcfg.lint.text import Word

_FILE = os.path.join(os.path.dirname(__file__), "bindings.yaml")
_NONE_LEFT = frozenset({"purge", "reset", "restore"})


class Binding(NamedTuple):
    """A module that gives binds; *sets*: those of a module before it are gone."""

    pattern: str
    sets: bool = False


@cache
def _load_bindings() -> tuple[Binding, ...]:
    return tuple(Binding(**each) for each in load_yaml(_FILE)["modules"])


def clashing_module(model: Model) -> tuple[Word, str] | None:
    """Return a module that takes away the binds of another, and the name of that one.

    The same module twice is such a pair, too; what a branch loads is not looked at.
    """
    loaded: dict[str, bool] = {}
    for command in model.commands:
        if command.name not in ("module", "ml") or command.context.conditions:
            continue
        verb = command.arguments[0].shown if command.arguments else ""
        names = command.arguments[1:]
        if command.name == "ml" and verb not in {"load", "unload", "use"} | _NONE_LEFT:
            names = command.arguments
        elif verb in _NONE_LEFT:
            loaded = {}
        elif verb not in ("load", "add", "unload", "rm"):
            continue
        for word in names:
            found = _binding(word)
            name = word.shown.lstrip("-").partition("/")[0]
            if verb in ("unload", "rm") or word.shown.startswith("-"):
                loaded.pop(name, None)
            elif found is not None:
                other = next((n for n, sets in loaded.items() if sets), None)
                if name in loaded or (found.sets and other):
                    return word, name if name in loaded else other or ""
                loaded[name] = found.sets
    return None


def _binding(word: Word) -> Binding | None:
    said = word.literal or ""
    for each in _load_bindings():
        if re.fullmatch(rf"(?:{each.pattern})(?:/.*)?", said):
            return each
    return None
