"""What a release of NCCL takes of a plug-in for its network; what the driver brings."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from envcfg.datafile import load_yaml
from envcfg.image.communication import version_number

_PLUGINS = ("libnccl-net*", "librccl-net*")
_NET = "ncclNetPlugin_v"


class Interfaces(NamedTuple):
    """What a release of NCCL takes: versions *oldest* to *newest*, and who says so."""

    oldest: int
    newest: int
    source: str


def interfaces_of(version: str) -> Interfaces | None:
    """Return what NCCL or RCCL of this *version* takes; None where that is not known.

    >>> interfaces_of("2.21.5")[:2]
    (5, 8)
    >>> interfaces_of("1.0") is None
    True
    """
    number = version_number(version)
    found = None
    for each in _data()["interfaces"]:
        if number and number >= version_number(each["since"]):
            found = Interfaces(each["oldest"], each["newest"], each["source"])
    return found


def is_plugin(path: str) -> bool:
    """Tell by the name of a file whether it is a plug-in for NCCL's network."""
    name = posixpath.basename(path)
    return any(fnmatchcase(name, each) for each in _PLUGINS)


def net_versions(symbols: Sequence[str]) -> list[int]:
    """Return the versions of the interface for networks among exported *symbols*.

    >>> net_versions(["ncclNetPlugin_v10", "ncclTunerPlugin_v2", "ncclNetPlugin_v9"])
    [9, 10]
    """
    return sorted(int(each[len(_NET) :]) for each in symbols if each.startswith(_NET))


def is_of_driver(soname: str) -> bool:
    """Tell whether the runtime brings *soname* with the driver (``--nv``, ``--rocm``)."""
    return any(fnmatchcase(soname, each) for each in _data()["driver"])


@cache
def _data() -> Any:  # noqa: ANN401  # our own file
    return load_yaml(os.path.join(os.path.dirname(__file__), "chain.yaml"))
