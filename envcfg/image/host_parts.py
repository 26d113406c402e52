"""The parts of a host that an image needs for its network: plug-in, libfabric, and theirs.

They are checked as the loader would: architecture, versions of symbols, glibc, and the
interface of NCCL. Parts that do not fit are refused; pure.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.common.bind import Bind
from envcfg.common.findings import Finding, finding_in
from envcfg.image.communication import stems
from envcfg.image.fact_patterns import is_of_c_library, is_of_driver
from envcfg.image.host_libraries import Host
from envcfg.image.image_record import ImageFact, version_number
from envcfg.image.layers import Overlay
from envcfg.image.library_chain import Chain, follow, judge_chain
from envcfg.image.library_index import LibraryIndex
from envcfg.image.tree import Tree

# The folder of the bound files in the container. No image has it, so nothing is hidden.
FOLDER = "/opt/envcfg-host"
_LIBFABRIC = "libfabric.so.1"


class Image(NamedTuple):
    """An image as the loader sees it."""

    tree: Tree
    facts: Sequence[ImageFact]
    environ: Mapping[str, str]  # the variables by which the loader searches
    before: Sequence[str]  # the paths of the libraries that PyTorch has loaded already


class Parts(NamedTuple):
    """The files of a host for an image, if they fit."""

    # Each file, and its place in `FOLDER`; empty if none fits.
    mounts: tuple[Bind, ...] = ()
    # The parts that fit, or the reason why there are none.
    findings: tuple[Finding, ...] = ()


def choose_parts(image: Image, host: Host, provider: str) -> Parts:
    """Return the parts of *host* by which the image's NCCL reaches *provider*."""
    if not any(fact.name == "plugin" for fact in host.facts):
        return Parts(findings=(finding_in("image", "host-parts-absent", host.name),))
    refusals: list[Finding] = []
    for plugin in (fact for fact in host.facts if fact.name == "plugin"):
        reasons = [f"the host has no libfabric with the provider {provider}"]
        if libfabric := _libfabric(host, plugin.evidence, provider):
            mounts, chain = _fill(image, host, plugin, libfabric)
            faults = judge_chain(
                chain, image.facts, host=host.architecture, is_laid=True
            )
            reasons = [
                *_newer(image, host, libfabric),
                *(
                    f"{fault.subject} {fault.message}"
                    for fault in faults
                    if fault.severity == "error"
                ),
            ]
            if not reasons:
                names = ", ".join(mount.source for mount in mounts)
                fits = finding_in("image", "host-parts-fit", names, folder=FOLDER)
                return Parts(mounts, (fits,))
        words = {"reason": "; ".join(reasons)}
        refusals.append(
            finding_in("image", "host-parts-refused", plugin.evidence, **words)
        )
    return Parts(findings=tuple(refusals))


def _newer(image: Image, host: Host, libfabric: str) -> list[str]:
    """Return why programs of the image, such as its MPI, may need its own libfabric."""
    tree = host.libraries.tree
    versions = {
        tree.resolve(fact.evidence): fact.value
        for fact in host.facts
        if fact.name == "libfabric"
    }
    version = versions.get(tree.resolve(libfabric), "unknown")
    return [
        f"{fact.evidence} of the image has version {fact.value}, the host's {version}"
        for fact in image.facts
        if fact.name == "libfabric"
        # The number of an unknown version is empty, and smaller than all others.
        and not () < version_number(fact.value) <= version_number(version)
    ]


def _fill(
    image: Image, host: Host, plugin: ImageFact, libfabric: str
) -> tuple[tuple[Bind, ...], Chain]:
    """Return the mounts for *plugin*, and the libraries loaded with them.

    Of the libraries that plug-in and libfabric need, those are added that the image
    does not have.
    """
    stem, nccl = next(iter(stems(image.facts)))
    # NCCL looks for this name, so no variable needs to name the file.
    names = {f"{stem}.so": plugin.evidence, _LIBFABRIC: libfabric}
    search = ":".join(filter(None, (FOLDER, image.environ.get("LD_LIBRARY_PATH"))))
    while True:
        mounts = tuple(Bind(path, f"{FOLDER}/{name}") for name, path in names.items())
        overlay = Overlay(image.tree, host.libraries.tree, mounts)
        index = LibraryIndex(overlay, {**image.environ, "LD_LIBRARY_PATH": search})
        starts = [(nccl, "the image's"), (f"{FOLDER}/{stem}.so", "bound")]
        chain = follow(index, starts, image.before)
        added = {
            soname: path
            for soname, needed_by in chain.missing
            if "/" not in soname
            and not is_of_driver(soname)
            and not is_of_c_library(soname)
            for by in [overlay.on_host(needed_by)]
            if by and (path := _find(host, soname, by))
        }
        # A library that is bound, and still missing, cannot be read.
        if not added.keys() - names.keys():
            return mounts, chain
        names |= added


def _libfabric(host: Host, plugin: str, provider: str) -> str | None:
    """Return the host's libfabric with *provider*; that of *plugin* comes first."""
    tree = host.libraries.tree
    with_provider = {
        tree.resolve(fact.evidence)
        for fact in host.facts
        if fact.name == "providers" and provider in fact.value.split()
    }
    paths = [fact.evidence for fact in host.facts if fact.name == "libfabric"]
    own = _find(host, _LIBFABRIC, plugin)
    candidates = [own, *paths] if own else paths
    return next((c for c in candidates if tree.resolve(c) in with_provider), None)


def _find(host: Host, soname: str, needed_by: str) -> str | None:
    """Return the path of the library *soname* of *host*, as *needed_by* finds it there."""
    location = host.libraries.find(soname, host.libraries.library(needed_by))
    return location.path if location else None
