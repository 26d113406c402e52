"""The facts of an image, each with its evidence, and its libraries."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.common.characters import Texts
from envcfg.common.findings import Finding


class ImageFact(NamedTuple):
    """One fact of an image."""

    name: str  # `rocm`, `nccl`, `torch` ..., the name in conditions, if any
    value: str  # `6.2.4`; without a version, `yes` or words
    evidence: str  # the path in the image, or the label or variable, with the fact
    taken: bool = True  # whether it is the valid one of several with the same name
    why: str = ""  # the reason why it is valid or not


class Library(NamedTuple):
    """A shared library, from its ELF file."""

    path: str  # the path in the image, without links
    soname: str = ""  # its own name; empty if it has none
    machine: str = ""  # `x86_64`, `aarch64`
    needed: Texts = ()
    # For each of them, the required versions (`FABRIC_1.7`).
    requires: Mapping[str, Texts] = {}
    provides: Texts = ()
    runpath: Texts = ()  # its search folders, with `$ORIGIN` unchanged
    # Whether they are searched before LD_LIBRARY_PATH (the older kind).
    is_rpath: bool = False
    # The requested symbols that it exports (`ncclNetPlugin_v8`).
    symbols: Texts = ()


class Metadata(NamedTuple):
    """The metadata that the form of an image stores next to its files."""

    form: str  # `sif`, `squashfs`, `folder`, `podman`
    architecture: str = ""  # `x86_64`, `aarch64`; empty if the form does not store it
    labels: Mapping[str, str] = {}
    # Variables set by the image, if they are not shell text.
    environment: Mapping[str, str] = {}
    # The words of the entrypoint for `run`, if the form stores them.
    starts: Texts = ()
    unread: Texts = ()  # unread parts of the image, in readable words


class Inspection(NamedTuple):
    """The result of reading one image."""

    image: str  # its path or name, as given by the user
    metadata: Metadata
    # In a fixed order, the valid one of each name first.
    facts: tuple[ImageFact, ...] = ()
    libraries: tuple[Library, ...] = ()  # the chain of NCCL, plug-in and libfabric
    findings: tuple[Finding, ...] = ()

    def taken(self) -> dict[str, ImageFact]:
        """Return the valid fact of each name."""
        return {fact.name: fact for fact in self.facts if fact.taken}


def version_number(version: str) -> tuple[int, ...]:
    """Return the numbers of *version*; empty if it is not a version.

    >>> version_number("2.21.5"), version_number("yes")
    ((2, 21, 5), ())
    """
    is_version = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}){0,9}", version)
    return tuple(map(int, version.split("."))) if is_version else ()


def agree(first: str, second: str) -> bool:
    """Return whether two versions agree in their common numbers; ``yes`` matches any."""
    left_part, right = first.split("."), second.split(".")
    short = min(len(left_part), len(right))
    return first == "yes" or left_part[:short] == right[:short]
