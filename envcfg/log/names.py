"""What the names and versions in a log are: networks, libfabric providers, interfaces."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

NAMES_NETWORK = "2.6.4"  # the first NCCL that prints "Using network" (src/init.cc)
_FILE = os.path.join(os.path.dirname(__file__), "names.yaml")


def network_kind(name: str) -> str | None:
    """Return ``socket``, ``libfabric``, ``verbs`` or ``vendor``; None: nobody knows it."""
    return _find("networks", name).get("kind")


def network_group(name: str) -> str:
    """Return the kind of a network; of one that nobody knows, its name."""
    return network_kind(name) or name


def is_plugin(network: str) -> bool:
    """Return whether a network comes from a plugin, not from NCCL itself."""
    return not _find("networks", network).get("own")


def is_fast(provider: str) -> bool | None:
    """Return whether a libfabric provider is one of a fast network; None: unknown."""
    return _find("providers", provider).get("fast")


def network_family(name: str) -> str:
    """Return what all names of one network have in common: a plugin's name has changed."""
    return str(_find("networks", name).get("pattern", name.lower()))


def provider_family(name: str) -> str:
    """Return what all names of one libfabric provider have in common."""
    return str(_find("providers", name).get("pattern", name))


def interface_fault(name: str, *, multi: bool | None, first: bool = True) -> str | None:
    """Return what is wrong with an interface for traffic between nodes, if anything.

    Args:
        name: of the interface.
        multi: whether there are several nodes; None: unknown.
        first: it is the first of those that are in use, which most data goes over.
    """
    known = _find("interfaces", name)
    # Ranks that meet over the loopback are on one node, unless they show another.
    if not known or (known.get("inside") and not multi):
        return None
    if known.get("aside") and not first and multi is None:
        return None
    return str(known["meaning"])


def fitted(advice: str | None, known: Set[str]) -> str | None:
    """Return *advice* in the words that fit a job of which *known* is known."""
    for each in _names()["advice"] if advice else ():
        if each["if"] in known:
            advice = (advice or "").replace(each["text"], each["fits"])
    return advice


def longest_end(name: str, known: Set[str]) -> str:
    """Return the longest of *known* that *name* ends with; else nothing."""
    return next((name[at:] for at in range(len(name)) if name[at:] in known), "")


@lru_cache(maxsize=256)
def _find(kind: str, name: str) -> Mapping[str, Any]:
    """Return what is known of a name; nothing, where it is of no known kind."""
    for entry in _names()[kind]:
        if re.fullmatch(entry["pattern"], name, re.IGNORECASE):
            return entry
    return {}


@lru_cache(maxsize=1)
def _names() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    from envcfg.datafile import load_kept

    names: Mapping[str, Sequence[Mapping[str, Any]]] = load_kept("names", [_FILE])[0]
    return names


@lru_cache(maxsize=256)
def ranges_disjoint(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether no version of a library lies in both (library, range)."""
    if one[0] != other[0]:
        return False
    (low, high), (other_low, other_high) = _bounds(one[1]), _bounds(other[1])
    return _below(high, other_low) or _below(other_high, low)


@lru_cache(maxsize=256)
def is_older(version: str, other: str) -> bool:
    """Return whether *version* lies before *other*."""
    return _parts(version) < _parts(other)


def _bounds(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    low, dash, high = text.partition("-")
    return _parts(low), _parts(high if dash else low)


def _parts(text: str) -> tuple[int, ...]:
    parts = text.strip().split(".")
    return tuple(int(part) for part in parts if part.isdecimal() and len(part) < 10)


def _below(high: tuple[int, ...], low: tuple[int, ...]) -> bool:
    """Return whether everything up to *high* (2.18 covers 2.18.6) lies before *low*."""
    return bool(high) and bool(low) and high < low[: len(high)]
