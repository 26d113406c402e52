"""The libraries loaded with a plug-in, and the reasons why they would not load; pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.common.findings import Finding, finding_in
from envcfg.image.fact_patterns import (
    interfaces_of,
    is_of_driver,
    is_plugin,
    net_versions,
)
from envcfg.image.image_record import ImageFact, Library, version_number
from envcfg.image.layers import Overlay
from envcfg.image.library_index import LibraryIndex

_MOST = 500  # libraries; PyTorch loads some hundred


class Link(NamedTuple):
    """A library of the chain."""

    library: Library  # the library; its path is the path in the container
    asked: str  # the name used to load it
    needed_by: str  # the path of the first library that loads it; empty: the program
    why: str  # the rule by which the loader found it
    host: str = ""  # its path on the host, if it is bound over the image; else empty
    is_before: bool = False  # PyTorch has already loaded it


class Missing(NamedTuple):
    """A library that was not found: its name, and the path of the library that needs it."""

    soname: str
    needed_by: str


class Chain(NamedTuple):
    """All loaded libraries with their origin, and the missing ones."""

    links: tuple[Link, ...] = ()
    missing: tuple[Missing, ...] = ()

    @property
    def own(self) -> tuple[Link, ...]:
        """The libraries that were not loaded before the plug-in."""
        return tuple(link for link in self.links if not link.is_before)


def follow(
    index: LibraryIndex, starts: Sequence[tuple[str, str]], before: Sequence[str] = ()
) -> Chain:
    """Return the libraries loaded with *starts*: paths of libraries, each with a reason.

    The libraries of *before* are already loaded with their dependencies; their missing
    libraries are ignored.
    """
    links: dict[str, Link] = {}
    missing: dict[str, Missing] = {}
    loaded: set[str] = set()  # by name: the loader skips a second library of a name

    def take(path: str, link: Link) -> None:
        library = index.library(path)
        # The limit also stops a damaged image with endless dependencies.
        if library is None or library.path in links or len(links) >= _MOST:
            return
        host = ""
        if isinstance(index.tree, Overlay):
            host = index.tree.on_host(library.path) or ""
        links[library.path] = link._replace(library=library, host=host)
        loaded.update((link.asked, library.soname))
        waiting.append(library)

    # PyTorch's libraries come first: the plug-in uses copies that are already
    # loaded.
    for is_before, paths in ((True, [(path, "") for path in before]), (False, starts)):
        waiting: list[Library] = []
        for path, why in paths:
            name = path.rpartition("/")[2]
            take(path, Link(Library(path), name, "", why, is_before=is_before))
        for by in waiting:  # the list grows meanwhile: breadth first
            for soname in by.needed:
                if soname in loaded:
                    continue
                if location := index.find(soname, by):
                    link = Link(by, soname, by.path, location.why, is_before=is_before)
                    take(location.path, link)
                # A library that PyTorch needs is present in a working image, or is
                # loaded in another way.
                elif not is_before:
                    missing.setdefault(soname, Missing(soname, by.path))
    return Chain(tuple(links.values()), tuple(missing.values()))


def judge_chain(
    chain: Chain, facts: Sequence[ImageFact], *, host: str = "", is_laid: bool = False
) -> list[Finding]:
    """Return all problems of *chain*, most serious first.

    *host* is the architecture of the nodes, empty if unknown; *is_laid*: the profile's
    binds were laid over the image.
    """
    # The first fact of a name is the one in use, so the list is read backwards.
    image_facts = {fact.name: fact for fact in reversed(facts) if fact.taken}
    return [
        *_architecture(chain, image_facts.get("architecture"), host),
        *_missing(chain, is_laid=is_laid),
        *_versions(chain),
        *_interface(chain, image_facts.get("rccl") or image_facts.get("nccl")),
        *_host_over_image(chain, image_facts.get("libfabric")),
        *_two(facts),
        *_unfound(chain, facts),
    ]


def _architecture(chain: Chain, own: ImageFact | None, host: str) -> Iterator[Finding]:
    # Without a known architecture of the image there is nothing to compare.
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
                "image", "chain-architecture", _path_text(link), which, **words
            )


def _missing(chain: Chain, *, is_laid: bool) -> Iterator[Finding]:
    by_path = {link.library.path: link for link in chain.links}
    lacking: dict[str, list[str]] = {}
    for soname, needed_by in chain.missing:
        # The driver's libraries come from the host at run time, so they are never
        # in the image. The loader is in memory before any library.
        if not is_of_driver(soname) and not soname.startswith("ld-linux"):
            lacking.setdefault(needed_by, []).append(soname)
    which = "host" if is_laid else ""
    # One finding per library that needs others: a list of single names would hide
    # the cause.
    for path, sonames in lacking.items():
        needs = _path_text(by_path[path]) if path in by_path else path
        subject, are = ", ".join(sonames), "are" if len(sonames) > 1 else "is"
        words = {"are": are, "needs": needs}
        yield finding_in("image", "chain-library-missing", subject, which, **words)


# Versions are compared only between found libraries. Missing ones have their own
# finding.
def _versions(chain: Chain) -> Iterator[Finding]:
    by_name = {
        name: link
        for link in reversed(chain.links)
        for name in (link.asked, link.library.soname)
    }
    for link in chain.own:
        for soname, require in link.library.requires.items():
            provider = by_name.get(soname)
            # A library without version symbols accepts every requirement, as in the
            # loader.
            if provider is None or not (has := provider.library.provides):
                continue
            if lacking := sorted(
                (version for version in require if version not in has), key=_sorting
            ):
                yield _lacking(link, provider, soname, lacking)


def _lacking(link: Link, provider: Link, soname: str, lacking: list[str]) -> Finding:
    words = {"lacking": ", ".join(lacking), "soname": soname}
    # glibc has its own finding, because it cannot be bound from the host like other
    # libraries.
    if lacking[-1].startswith("GLIBC_") and soname.startswith("libc.so"):
        numbered = [
            provide for provide in provider.library.provides if provide[6:7].isdigit()
        ]
        # The highest version counts, and names such as GLIBC_PRIVATE have none.
        newest = max(numbered, key=_sorting, default="")
        ends = f"ends with {newest}" if newest else "has no version"
        which, words = "bound" if link.host else "", words | {"ends": ends}
        return finding_in("image", "chain-glibc-old", _path_text(link), which, **words)
    words |= {"provider": _path_text(provider), "how": provider.why}
    return finding_in("image", "chain-symbol-version", _path_text(link), **words)


def _interface(chain: Chain, nccl: ImageFact | None) -> Iterator[Finding]:
    takes = interfaces_of(nccl.value) if nccl else None
    if nccl is None or takes is None:
        return
    for link in chain.own:
        exported = net_versions(link.library.symbols)
        # Only plug-ins export the interface; their dependencies are not compared.
        if not is_plugin(link.library.path) or not exported:
            continue
        if not any(takes.oldest <= number <= takes.newest for number in exported):
            has = ", ".join(f"v{number}" for number in exported)
            words = {"has": has, "nccl": f"{nccl.name} {nccl.value}", **takes._asdict()}
            yield finding_in(
                "image", "chain-plugin-interface", _path_text(link), **words
            )


def _host_over_image(chain: Chain, own: ImageFact | None) -> Iterator[Finding]:
    for link in chain.own if own else ():
        # A host's libfabric replaces the image's, and both may differ in their
        # interface.
        if own and link.host and link.library.soname.startswith("libfabric.so"):
            version = "of unknown version" if own.value == "yes" else own.value
            words = {"host": link.host, "own": own.evidence, "version": version}
            yield finding_in(
                "image", "chain-host-libfabric", link.library.path, **words
            )


def _two(facts: Sequence[ImageFact]) -> Iterator[Finding]:
    for name in ("nccl", "rccl"):
        image_facts = [fact for fact in facts if fact.name == name]
        used = next((fact for fact in image_facts if fact.taken), None)
        unused = {fact.value: fact for fact in image_facts if not fact.taken}
        for value, image_fact in unused.items():
            # Copies of the same version are harmless.
            if used and value != used.value:
                words = {"value": value, "other": image_fact.evidence, "how": used.why}
                words |= {"taken": used.value, "evidence": used.evidence}
                yield finding_in("image", "chain-two-nccl", name, **words)


def _unfound(chain: Chain, facts: Sequence[ImageFact]) -> Iterator[Finding]:
    # The finding is only useful if no plug-in was loaded at all.
    if not any(is_plugin(link.library.path) for link in chain.links):
        for fact in facts:
            if fact.name == "plugin":
                yield finding_in("image", "chain-plugin-unfound", fact.evidence)


def _path_text(link: Link) -> str:
    return f"{link.library.path} (the host's)" if link.host else link.library.path


def _sorting(version: str) -> tuple[str, tuple[int, ...]]:
    name, _, number = version.rpartition("_")
    return name, version_number(number)
