"""What is loaded with a plug-in, library by library, and whether it would load; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.findings import Finding, Severity
from envcfg.image.fact_patterns import (
    interfaces_of,
    is_of_driver,
    is_plugin,
    net_versions,
)
from envcfg.image.layers import Overlay
from envcfg.image.library_index import LibraryIndex
from envcfg.image.record import ImageFact, Library, version_number

_MOST = 500  # libraries; PyTorch has some hundred
_WITHOUT = "without it NCCL takes the slow sockets, or the job does not start"
_BIND = (
    "bind what the host has and name its folder in LD_LIBRARY_PATH, or install it in the "
    "image"
)


class Link(NamedTuple):
    """A library of the chain.

    Attributes:
        library: what it is; its path is that in the container.
        asked: the name by which it is loaded.
        needed_by: the path of the library that loads it first; empty: the program.
        why: how the loader found it.
        host: its path on the host, if it is bound over the image; else empty.
        is_before: it is there before: PyTorch has loaded it.
    """

    library: Library
    asked: str
    needed_by: str
    why: str
    host: str = ""
    is_before: bool = False


class Missing(NamedTuple):
    """A library that nobody has: its name, and the path of that which needs it."""

    soname: str
    needed_by: str


class Chain(NamedTuple):
    """All that is loaded, from where, and what is missing."""

    links: tuple[Link, ...] = ()
    missing: tuple[Missing, ...] = ()

    @property
    def own(self) -> tuple[Link, ...]:
        """Those that are not there before."""
        return tuple(each for each in self.links if not each.is_before)


def follow(
    index: LibraryIndex, starts: Sequence[tuple[str, str]], before: Sequence[str] = ()
) -> Chain:
    """Return what is loaded with *starts*.

    Args:
        index: the libraries of the image, or of the image with the host's over it.
        starts: paths of the first libraries, and why each is one.
        before: paths of libraries that are loaded, with all that they need, before.
            What they miss is not looked at.
    """
    links: dict[str, Link] = {}
    missing: dict[str, Missing] = {}
    loaded: set[str] = set()  # by name: a second one of a name is not loaded

    def take(path: str, link: Link) -> None:
        library = index.library(path)
        if library is None or library.path in links or len(links) >= _MOST:
            return
        host = ""
        if isinstance(index.tree, Overlay):
            host = index.tree.on_host(library.path) or ""
        links[library.path] = link._replace(library=library, host=host)
        loaded.update((link.asked, library.soname))
        waiting.append(links[library.path])

    for is_before, paths in ((True, [(each, "") for each in before]), (False, starts)):
        waiting: list[Link] = []
        for path, why in paths:
            name = path.rpartition("/")[2]
            take(path, Link(Library(path), name, "", why, is_before=is_before))
        while waiting:
            link = waiting.pop(0)
            by = link.library
            for soname in by.needed:
                if soname in loaded:
                    continue
                if found := index.loader.find(soname, by):
                    take(
                        found.path, Link(by, soname, by.path, found.why, "", is_before)
                    )
                elif not is_before:
                    missing.setdefault(soname, Missing(soname, by.path))
    return Chain(tuple(links.values()), tuple(missing.values()))


class Setting(NamedTuple):
    """What the chain is judged in.

    Attributes:
        facts: those of the image.
        host_architecture: of the nodes; empty where no host is known.
        has_host: the profile's binds were laid over the image.
    """

    facts: Sequence[ImageFact]
    host_architecture: str = ""
    has_host: bool = False


def judge_chain(chain: Chain, setting: Setting) -> list[Finding]:
    """Return all that is wrong with *chain*, that which stops the plug-in first."""
    return [
        *_architecture(chain, setting),
        *_missing(chain, setting),
        *_versions(chain),
        *_interface(chain, setting),
        *_host_over_image(chain, setting),
        *_two(setting),
        *_unfound(chain, setting),
    ]


def _architecture(chain: Chain, setting: Setting) -> Iterator[Finding]:
    own = _fact(setting, "architecture")
    machine, host = own.value if own else "", setting.host_architecture
    why = "nothing of the image can run"
    if own and host and machine != host:
        said = f"is for {machine}, and the nodes are {host}"
        fix = f"take an image for {host}, or build this one there"
        yield Finding("chain-architecture", "error", own.evidence, said, fix, why=why)
    why = "the loader passes over it"
    for link in chain.own:
        if machine and link.library.machine != machine:
            said = f"is for {link.library.machine}, and the image is for {machine}"
            fix = "leave its bind out" if link.host else "build it for this machine"
            shown = _shown(link)
            yield Finding("chain-architecture", "error", shown, said, fix, why=why)


def _missing(chain: Chain, setting: Setting) -> Iterator[Finding]:
    by_path = {link.library.path: link for link in chain.links}
    lacking: dict[str, list[str]] = {}
    for soname, needed_by in chain.missing:
        if not is_of_driver(soname):
            lacking.setdefault(needed_by, []).append(soname)
    severity: Severity = "error" if setting.has_host else "warning"
    where = "neither in the image nor bound" if setting.has_host else "not in the image"
    for needed_by, sonames in lacking.items():
        needs = _shown(by_path[needed_by]) if needed_by in by_path else needed_by
        said = f"{'are' if len(sonames) > 1 else 'is'} {where}, and {needs} needs that"
        yield Finding(
            "chain-library-missing",
            severity,
            ", ".join(sonames),
            said,
            _BIND,
            why=_WITHOUT,
        )


def _versions(chain: Chain) -> Iterator[Finding]:
    by_name = {
        name: link
        for link in reversed(chain.links)
        for name in (link.asked, link.library.soname)
    }
    for link in chain.own:
        for soname, wanted in link.library.requires.items():
            provider = by_name.get(soname)
            if provider is None or not provider.library.provides:
                continue
            lacking = [each for each in wanted if each not in provider.library.provides]
            if lacking:
                yield _lacking(link, provider, soname, sorted(lacking, key=_sorting))


def _lacking(link: Link, provider: Link, soname: str, lacking: list[str]) -> Finding:
    what = f"needs {', '.join(lacking)} of {soname}"
    shown, why = _shown(link), f"the loader refuses it; {_WITHOUT}"
    if lacking[-1].startswith("GLIBC_") and soname.startswith("libc.so"):
        numbered = [each for each in provider.library.provides if each[6:7].isdigit()]
        newest = max(numbered, key=_sorting, default="")
        ends = f"ends with {newest}" if newest else "has no version"
        said = f"{what}, and that of the image {ends}"
        fix = (
            "take a newer image; or leave the bind out, and let the image have its own"
            if link.host
            else "build it in this image"
        )
        return Finding("chain-glibc-old", "error", shown, said, fix, why=why)
    said = f"{what}, and {_shown(provider)} does not have it ({provider.why})"
    fix = f"let a newer {soname} come first: the image's own, or the host's by a bind"
    return Finding("chain-symbol-version", "error", shown, said, fix, why=why)


def _interface(chain: Chain, setting: Setting) -> Iterator[Finding]:
    nccl = _fact(setting, "rccl") or _fact(setting, "nccl")
    takes = interfaces_of(nccl.value) if nccl else None
    if nccl is None or takes is None:
        return
    for link in chain.own:
        exported = net_versions(link.library.symbols)
        if not is_plugin(link.library.path) or not exported:
            continue
        if not any(takes.oldest <= each <= takes.newest for each in exported):
            has = ", ".join(f"v{each}" for each in exported)
            taken = f"{nccl.name} {nccl.value} takes v{takes.oldest} to v{takes.newest}"
            yield Finding(
                "chain-plugin-interface",
                "error",
                _shown(link),
                f"has the interfaces {has}, and {taken}",
                "take a plug-in that was built for this release, or the NCCL that it fits",
                takes.source,
                why=f"NCCL passes over it; {_WITHOUT}",
            )


def _host_over_image(chain: Chain, setting: Setting) -> Iterator[Finding]:
    own = _fact(setting, "libfabric")
    version = own.value if own else ""
    version = "of no version that it tells" if version == "yes" else version
    for link in chain.own:
        if link.host and link.library.soname.startswith("libfabric.so") and own:
            said = f"is the host's {link.host}, and counts before the image's own "
            said += f"{own.evidence} ({version})"
            why = "what the image was tested with is not what runs"
            path = link.library.path
            yield Finding("chain-host-libfabric", "note", path, said, why=why)


def _two(setting: Setting) -> Iterator[Finding]:
    for name in ("nccl", "rccl"):
        found = [each for each in setting.facts if each.name == name]
        taken = next((each for each in found if each.taken), None)
        others = {each.value: each for each in found if not each.taken}
        for value, other in others.items():
            if taken and value != taken.value:
                said = f"is there twice: {taken.value} ({taken.evidence}) counts, not "
                said += f"{value} ({other.evidence}): {taken.why}"
                fix = "to take the other one, name it in LD_PRELOAD"
                yield Finding("chain-two-nccl", "note", name, said, fix)


def _unfound(chain: Chain, setting: Setting) -> Iterator[Finding]:
    if any(is_plugin(link.library.path) for link in chain.links):
        return
    said = "is a plug-in that no NCCL of the image looks for"
    fix = "name its folder in LD_LIBRARY_PATH, or the file in NCCL_NET_PLUGIN"
    for each in setting.facts:
        if each.name == "plugin":
            yield Finding(
                "chain-plugin-unfound",
                "warning",
                each.evidence,
                said,
                fix,
                why=_WITHOUT,
            )


def _fact(setting: Setting, name: str) -> ImageFact | None:
    found = (each for each in setting.facts if each.name == name and each.taken)
    return next(found, None)


def _shown(link: Link) -> str:
    return f"{link.library.path} (the host's)" if link.host else link.library.path


def _sorting(version: str) -> tuple[str, tuple[int, ...]]:
    name, _, number = version.rpartition("_")
    return name, version_number(number)
