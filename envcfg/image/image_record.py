"""The facts of an image, each with its evidence, and its libraries."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.common.findings import Finding


class ImageFact(NamedTuple):
    """One fact of an image.

    Attributes:
        name: ``rocm``, ``nccl``, ``torch`` ..., the name in conditions, if any.
        value: ``6.2.4``; without a version, ``yes`` or words.
        evidence: the path in the image, or the label or variable, with the fact.
        taken: whether it is the valid one of several with the same name.
        why: the reason why it is valid or not.
    """

    name: str
    value: str
    evidence: str
    taken: bool = True
    why: str = ""


class Library(NamedTuple):
    """A shared library, from its ELF file.

    Attributes:
        path: the path in the image, without links.
        soname: its own name; empty if it has none.
        machine: ``x86_64``, ``aarch64``.
        needed: the sonames that it loads.
        requires: for each of them, the required versions (``FABRIC_1.7``).
        provides: the versions that the library provides.
        runpath: its search folders, with ``$ORIGIN`` unchanged.
        is_rpath: whether they are searched before LD_LIBRARY_PATH (the older kind).
        symbols: the requested symbols that it exports (``ncclNetPlugin_v8``).
    """

    path: str
    soname: str = ""
    machine: str = ""
    needed: tuple[str, ...] = ()
    requires: Mapping[str, tuple[str, ...]] = {}
    provides: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    is_rpath: bool = False
    symbols: tuple[str, ...] = ()


class Metadata(NamedTuple):
    """The metadata that the form of an image stores next to its files.

    Attributes:
        form: ``sif``, ``squashfs``, ``folder``, ``podman``.
        architecture: ``x86_64``, ``aarch64``; empty if the form does not store it.
        labels: the labels of the image.
        environment: variables set by the image, if they are not shell text.
        starts: the words of the entrypoint for ``run``, if the form stores them.
        unread: unread parts of the image, in readable words.
    """

    form: str
    architecture: str = ""
    labels: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    starts: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


class Inspection(NamedTuple):
    """The result of reading one image.

    Attributes:
        image: its path or name, as given by the user.
        metadata: the metadata of its form.
        facts: in a fixed order, the valid one of each name first.
        libraries: the chain of NCCL, plug-in and libfabric.
        findings: problems, and unreadable parts.
    """

    image: str
    metadata: Metadata
    facts: tuple[ImageFact, ...] = ()
    libraries: tuple[Library, ...] = ()
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
