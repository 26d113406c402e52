"""What is known of an image: facts, each with what shows it, and its libraries."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.findings import Finding


class ImageFact(NamedTuple):
    """One thing that an image shows.

    Attributes:
        name: ``rocm``, ``nccl``, ``torch`` ... as conditions name it, where they do.
        value: ``6.2.4``; for what has no version, ``yes`` or words.
        evidence: the path in the image, or the label or variable, that shows it.
        taken: whether it is the one that counts, where there are several of one name.
        why: what makes it count, or not.
    """

    name: str
    value: str
    evidence: str
    taken: bool = True
    why: str = ""


class Library(NamedTuple):
    """A shared library, as its ELF file describes it.

    Attributes:
        path: in the image, links followed.
        soname: its own name; empty where it has none.
        machine: ``x86_64``, ``aarch64``.
        needed: the sonames that it loads.
        requires: for each of them, the versions that it must have (``FABRIC_1.7``).
        provides: the versions that it has itself.
        runpath: the folders where it looks, ``$ORIGIN`` as it stands.
        is_rpath: they are of the older kind, which counts before LD_LIBRARY_PATH.
        symbols: those of its symbols that were asked for (``ncclNetPlugin_v8``).
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
    """What the form of an image says beside its files.

    Attributes:
        form: ``sif``, ``squashfs``, ``folder``, ``podman``.
        architecture: ``x86_64``, ``aarch64``; empty where the form does not say it.
        labels: of the image.
        environment: variables that the image sets, where they are not shell text.
        starts: what ``run`` starts: an entrypoint's words, where the form has them.
        unread: parts of the image that are not read, in words for people.
    """

    form: str
    architecture: str = ""
    labels: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    starts: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


class Inspection(NamedTuple):
    """All that was read of one image.

    Attributes:
        image: its path, or name, as it was given.
        metadata: what its form says.
        facts: in a fixed order, those that count first of each name.
        libraries: those that the chain of NCCL, plugin and libfabric is made of.
        findings: what is wrong, or could not be read.
    """

    image: str
    metadata: Metadata
    facts: tuple[ImageFact, ...] = ()
    libraries: tuple[Library, ...] = ()
    findings: tuple[Finding, ...] = ()

    def taken(self) -> dict[str, ImageFact]:
        """Return for each name the fact that counts."""
        return {each.name: each for each in self.facts if each.taken}


def version_number(version: str) -> tuple[int, ...]:
    """Return the numbers of *version*; none of what is not a version.

    >>> version_number("2.21.5"), version_number("yes")
    ((2, 21, 5), ())
    """
    is_version = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}){0,9}", version)
    return tuple(map(int, version.split("."))) if is_version else ()


def agree(one: str, other: str) -> bool:
    """Tell whether two versions are the same as far as both go; ``yes`` fits any."""
    left, right = one.split("."), other.split(".")
    short = min(len(left), len(right))
    return one == "yes" or left[:short] == right[:short]
