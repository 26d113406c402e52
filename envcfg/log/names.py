"""Names and versions in a log: networks, libfabric providers, interfaces."""

import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

from envcfg.log.tables import load_table

NAMES_NETWORK = (
    "2.6.4"  # the first NCCL release that prints "Using network" (src/init.cc)
)
# A name of a node, or names in Slurm's short form. A log or a list may be anybody's, so
# only these get into a command or a job script: others could be options, or make Slurm
# refuse the job.
_RANGE = r"\d{1,18}(?:-\d{1,18})?"
_RANGES = re.compile(rf"\[({_RANGE}(?:,{_RANGE})*)\]", re.ASCII)
_NODE = re.compile(
    rf"(?!all$)[a-z0-9](?:[\w.-]|{_RANGES.pattern})*", re.ASCII | re.IGNORECASE
)
_LONGEST_NAME = 250  # characters of a name without its ranges
_MOST_NODES = 1 << 16  # nodes of a name; more are not read by Slurm


def is_node_name(text: str) -> bool:
    """Return whether Slurm can read *text* as the name of a node, or of a few."""
    if not _NODE.fullmatch(text) or len(_RANGES.sub("", text)) > _LONGEST_NAME:
        return False
    nodes = 1
    for ranges in _RANGES.findall(text):
        pairs = [pair.partition("-") for pair in ranges.split(",")]
        sizes = [int(last or first) - int(first) + 1 for first, _, last in pairs]
        nodes *= sum(sizes) if min(sizes) > 0 else 0
    return 0 < nodes <= _MOST_NODES


def network_kind(name: str) -> str | None:
    """Return ``socket``, ``libfabric``, ``verbs`` or ``vendor``; None: unknown."""
    return _find("networks", name).get("kind")


def network_group(name: str) -> str:
    """Return the kind of a network, or the name of an unknown one."""
    return network_kind(name) or name


def is_plugin(network: str) -> bool:
    """Return whether a network comes from a plugin, not from NCCL itself."""
    return not _find("networks", network).get("own")


def is_fast(provider: str) -> bool | None:
    """Return whether a libfabric provider is one of a fast network; None: unknown."""
    return _find("providers", provider).get("fast")


def network_family(name: str) -> str:
    """Return the family of a network name; plugins have changed their names."""
    return str(_find("networks", name).get("pattern", name.lower()))


def provider_family(name: str) -> str:
    """Return the family of a libfabric provider's name."""
    return str(_find("providers", name).get("pattern", name))


def interface_fault(name: str, *, multi: bool | None, first: bool = True) -> str | None:
    """Return the reason why an interface is unsuitable between nodes, if there is one.

    Args:
        name: of the interface.
        multi: True if there are several nodes; None: unknown.
        first: True if it is the first interface in use, which carries most data.
    """
    entry = _find("interfaces", name)
    # Ranks that meet over the loopback are on one node, unless the log shows another.
    if not entry or (entry.get("inside") and not multi):
        return None
    if entry.get("aside") and not first and multi is None:
        return None
    return str(entry["meaning"])


def fitted(advice: str | None, candidates: Set[str]) -> str | None:
    """Return *advice* in the wording for a job with the properties *candidates*."""
    for advice_entry in load_table("names")["advice"] if advice else ():
        if advice_entry["if"] in candidates:
            advice = (advice or "").replace(advice_entry["text"], advice_entry["fits"])
    return advice


def longest_end(name: str, candidates: Set[str]) -> str:
    """Return the longest of *candidates* that *name* ends with; else nothing."""
    return next(
        (name[index:] for index in range(len(name)) if name[index:] in candidates), ""
    )


@lru_cache(maxsize=256)
def _find(kind: str, name: str) -> Mapping[str, Any]:
    """Return the properties of a name; empty if its kind is unknown."""
    entries: Sequence[Mapping[str, Any]] = load_table("names")[kind]
    matches = (e for e in entries if re.fullmatch(e["pattern"], name, re.IGNORECASE))
    return next(matches, {})


@lru_cache(maxsize=256)
def ranges_disjoint(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Return whether no version of a library is in both (library, range)."""
    # Ranges of different libraries cannot be compared.
    if first[0] != second[0]:
        return False
    (low, high), (other_low, other_high) = _bounds(first[1]), _bounds(second[1])
    return _below(high, other_low) or _below(other_high, low)


@lru_cache(maxsize=256)
def is_older(version: str, second: str) -> bool:
    """Return whether *version* is before *second*."""
    return _parts(version) < _parts(second)


def _bounds(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    low, dash, high = text.partition("-")
    return _parts(low), _parts(high if dash else low)


def _parts(text: str) -> tuple[int, ...]:
    parts = text.strip().split(".")
    return tuple(int(part) for part in parts if part.isdecimal() and len(part) < 10)


def _below(high: tuple[int, ...], low: tuple[int, ...]) -> bool:
    """Return whether everything up to *high* (2.18 covers 2.18.6) is before *low*."""
    return bool(high) and bool(low) and high < low[: len(high)]
