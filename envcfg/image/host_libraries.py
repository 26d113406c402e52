"""The libraries of a machine that an image needs for its network; nothing is executed."""

import os
from typing import NamedTuple

from envcfg.image.communication import library_facts, plugin_facts, provider_facts
from envcfg.image.fact_patterns import load_signs
from envcfg.image.image_record import ImageFact
from envcfg.image.library_index import LibraryIndex
from envcfg.image.tree import FolderTree


class Host(NamedTuple):
    """The properties of a machine that matter to an image."""

    name: str
    architecture: str  # `x86_64`, `aarch64`
    facts: tuple[ImageFact, ...]  # libfabric with its providers, and plug-ins of NCCL
    libraries: LibraryIndex  # all its libraries


def read_host(root: str = "/") -> Host:
    """Return the libraries of the machine below *root*."""
    environ = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    index = LibraryIndex(FolderTree(root), environ)
    facts: list[ImageFact] = []
    for sign in load_signs().libraries:
        if sign.fact == "libfabric":
            facts += library_facts(index, sign, ())
    facts += provider_facts(index, facts)
    facts += plugin_facts(index, {}, facts)
    machine = os.uname()
    return Host(machine.nodename, machine.machine, tuple(facts), index)
