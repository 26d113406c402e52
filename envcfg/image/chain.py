"""What is loaded with a plug-in, library by library, and whether it would load; pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.datafile import finding_in
from envcfg.findings import Finding
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
    """Return what is loaded with *starts*: paths of libraries, and why each is one.

    Those of *before* are loaded already, with all that they need; what they miss is not
    looked at.
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
        waiting.append(library)

    for is_before, paths in ((True, [(each, "") for each in before]), (False, starts)):
        waiting: list[Library] = []
        for path, why in paths:
            name = path.rpartition("/")[2]
            take(path, Link(Library(path), name, "", why, is_before=is_before))
        for by in waiting:  # it grows meanwhile
            for soname in by.needed:
                if soname in loaded:
                    continue
                if found := index.find(soname, by):
                    link = Link(by, soname, by.path, found.why, is_before=is_before)
                    take(found.path, link)
                elif not is_before:
                    missing.setdefault(soname, Missing(soname, by.path))
    return Chain(tuple(links.values()), tuple(missing.values()))


def judge_chain(
    chain: Chain, facts: Sequence[ImageFact], *, host: str = "", is_laid: bool = False
) -> list[Finding]:
    """Return all that is wrong with *chain*, that which stops the plug-in first.

    *host* is the architecture of the nodes, empty where none is known; *is_laid*: the
    profile's binds were laid over the image.
    """
    taken = {each.name: each for each in reversed(facts) if each.taken}
    return [
        *_architecture(chain, taken.get("architecture"), host),
        *_missing(chain, is_laid=is_laid),
        *_versions(chain),
        *_interface(chain, taken.get("rccl") or taken.get("nccl")),
        *_host_over_image(chain, taken.get("libfabric")),
        *_two(facts),
        *_unfound(chain, facts),
    ]


def _architecture(chain: Chain, own: ImageFact | None, host: str) -> Iterator[Finding]:
    if own is None or not own.value:
        return
    machine = own.value
    if host and machine != host:
        yield finding_in(
            "image", "chain-architecture", own.evidence, machine=machine, host=host
        )
    for link in chain.own:
        if link.library.machine != machine:
            which = "bound" if link.host else "library"
            words = {"machine": machine, "own": link.library.machine}
            yield finding_in(
                "image", "chain-architecture", _shown(link), which, **words
            )


def _missing(chain: Chain, *, is_laid: bool) -> Iterator[Finding]:
    by_path = {link.library.path: link for link in chain.links}
    lacking: dict[str, list[str]] = {}
    for soname, needed_by in chain.missing:
        if not is_of_driver(soname):
            lacking.setdefault(needed_by, []).append(soname)
    which = "host" if is_laid else ""
    for path, sonames in lacking.items():
        needs = _shown(by_path[path]) if path in by_path else path
        subject, are = ", ".join(sonames), "are" if len(sonames) > 1 else "is"
        words = {"are": are, "needs": needs}
        yield finding_in("image", "chain-library-missing", subject, which, **words)


def _versions(chain: Chain) -> Iterator[Finding]:
    by_name = {
        name: link
        for link in reversed(chain.links)
        for name in (link.asked, link.library.soname)
    }
    for link in chain.own:
        for soname, wanted in link.library.requires.items():
            provider = by_name.get(soname)
            if provider is None or not (has := provider.library.provides):
                continue
            if lacking := sorted(
                (each for each in wanted if each not in has), key=_sorting
            ):
                yield _lacking(link, provider, soname, lacking)


def _lacking(link: Link, provider: Link, soname: str, lacking: list[str]) -> Finding:
    words = {"lacking": ", ".join(lacking), "soname": soname}
    if lacking[-1].startswith("GLIBC_") and soname.startswith("libc.so"):
        numbered = [each for each in provider.library.provides if each[6:7].isdigit()]
        newest = max(numbered, key=_sorting, default="")
        ends = f"ends with {newest}" if newest else "has no version"
        which, words = "bound" if link.host else "", words | {"ends": ends}
        return finding_in("image", "chain-glibc-old", _shown(link), which, **words)
    words |= {"provider": _shown(provider), "how": provider.why}
    return finding_in("image", "chain-symbol-version", _shown(link), **words)


def _interface(chain: Chain, nccl: ImageFact | None) -> Iterator[Finding]:
    takes = interfaces_of(nccl.value) if nccl else None
    if nccl is None or takes is None:
        return
    for link in chain.own:
        exported = net_versions(link.library.symbols)
        if not is_plugin(link.library.path) or not exported:
            continue
        if not any(takes.oldest <= each <= takes.newest for each in exported):
            has = ", ".join(f"v{each}" for each in exported)
            words = {"has": has, "nccl": f"{nccl.name} {nccl.value}", **takes._asdict()}
            yield finding_in("image", "chain-plugin-interface", _shown(link), **words)


def _host_over_image(chain: Chain, own: ImageFact | None) -> Iterator[Finding]:
    for link in chain.own if own else ():
        if own and link.host and link.library.soname.startswith("libfabric.so"):
            version = "of unknown version" if own.value == "yes" else own.value
            words = {"host": link.host, "own": own.evidence, "version": version}
            yield finding_in(
                "image", "chain-host-libfabric", link.library.path, **words
            )


def _two(facts: Sequence[ImageFact]) -> Iterator[Finding]:
    for name in ("nccl", "rccl"):
        found = [each for each in facts if each.name == name]
        taken = next((each for each in found if each.taken), None)
        others = {each.value: each for each in found if not each.taken}
        for value, other in others.items():
            if taken and value != taken.value:
                words = {"value": value, "other": other.evidence, "how": taken.why}
                words |= {"taken": taken.value, "evidence": taken.evidence}
                yield finding_in("image", "chain-two-nccl", name, **words)


def _unfound(chain: Chain, facts: Sequence[ImageFact]) -> Iterator[Finding]:
    if not any(is_plugin(link.library.path) for link in chain.links):
        for each in facts:
            if each.name == "plugin":
                yield finding_in("image", "chain-plugin-unfound", each.evidence)


def _shown(link: Link) -> str:
    return f"{link.library.path} (the host's)" if link.host else link.library.path


def _sorting(version: str) -> tuple[str, tuple[int, ...]]:
    name, _, number = version.rpartition("_")
    return name, version_number(number)
