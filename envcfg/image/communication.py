"""The communication libraries of an image and those in use: NCCL, plug-ins, libfabric."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from envcfg.image.fact_patterns import LibrarySign, load_signs
from envcfg.image.image_record import ImageFact, version_number
from envcfg.image.library_index import LibraryIndex, Location


def library_facts(
    index: LibraryIndex, sign: LibrarySign, sites: Sequence[str]
) -> Iterator[ImageFact]:
    """Yield a fact for each file of one library, the one in use first."""
    counted = _counted(index, sign, sites)
    built_in = None if counted else next(_built_in(index, sign, sites), None)
    # Without a PyTorch that needs the library, the loader's choice counts.
    if counted is None and built_in is None:
        counted = index.find(sign.soname)
    results = (counted, index.find(sign.soname))
    paths = [location.path for location in results if location]
    for pattern in sign.also:
        paths += index.glob(pattern, list(sites))
    image_facts: list[ImageFact] = []
    # Two names of one file would be reported as two libraries.
    for path in index.tree.distinct(paths):
        if index.library(path) is None:
            continue
        value, is_taken = (
            index.version(sign, path),
            counted is not None and not image_facts,
        )
        why = counted.why if counted and is_taken else ""
        image_facts.append(ImageFact(sign.fact, value, path, is_taken, why))
    if built_in:
        image_facts.insert(0, built_in)
    # The loader finds none, so the first file is reported, with this reason.
    if image_facts and not image_facts[0].taken:
        why = "the only one" if len(image_facts) == 1 else "the first of several"
        why += "; the loader does not find it"
        image_facts[0] = image_facts[0]._replace(taken=True, why=why)
    yield from image_facts[:1]
    for image_fact in image_facts[1:]:
        yield image_fact._replace(why=f"{image_facts[0].evidence} comes before it")


def _counted(
    index: LibraryIndex, sign: LibrarySign, sites: Sequence[str]
) -> Location | None:
    """Return the file that PyTorch loads; None if it needs none."""
    stem = sign.soname.partition(".so")[0] + ".so"
    # A preloaded library wins over every other one, whatever PyTorch was linked
    # with.
    for path in index.preloaded:
        if posixpath.basename(path).startswith(stem) and index.library(path):
            return Location(path, "LD_PRELOAD of the image: its symbols come first")
    for path in (f"{a}/torch/lib/{b}" for a in sites for b in sign.needed_by):
        torch = index.library(path)
        for soname in torch.needed if torch else ():
            if soname.startswith(stem):
                # Searched as the loader does, not next to the file, because that
                # may be a link.
                return index.find(soname, torch)
    return None


def _built_in(
    index: LibraryIndex, sign: LibrarySign, sites: Sequence[str]
) -> Iterator[ImageFact]:
    why = "built into PyTorch, which needs no other"
    for path in (f"{a}/torch/lib/{b}" for a in sites for b in sign.built_into):
        if groups := index.first_words(path, sign.strings):
            yield ImageFact(sign.fact, groups["value"], path, why=why)


def plugin_facts(
    index: LibraryIndex, environ: Mapping[str, str], facts: Sequence[ImageFact]
) -> Iterator[ImageFact]:
    """Yield the version and interfaces of each plug-in, the loaded one first.

    *environ* is set by the image; only its ``NCCL_NET_PLUGIN`` matters.
    """
    counted = loaded_plugin(index, environ, facts)
    paths = (*([counted.path] if counted else ()), *plugin_files(index))
    for path in index.tree.distinct(paths):
        if (library := index.library(path)) is None:
            continue
        is_taken = counted is not None and path == counted.path
        why = "no NCCL of the image looks for it here"
        if counted and index.library(counted.path):
            why = counted.why if is_taken else f"{counted.path} comes before it"
        interfaces = " ".join(
            symbol.replace("nccl", "", 1).replace("Plugin_", "_").lower()
            for symbol in sorted(library.symbols, key=_sorting)
        )
        for pattern in load_signs().plugins.strings:
            if groups := index.first_words(path, (pattern,)):
                kind = f"{groups['kind']}; {why}"
                yield ImageFact("plugin", groups["value"], path, is_taken, kind)
        if interfaces:
            yield ImageFact("interfaces", interfaces, path, is_taken, "what it exports")


def plugin_files(index: LibraryIndex) -> Iterator[str]:
    """Yield the paths of files with a plug-in's name, in the folders of plug-ins."""
    signs, tree = load_signs().plugins, index.tree
    for folder in signs.folders:
        for place in index.folders() if folder == "{lib}" else tree.glob(folder):
            for name in tree.names(place):
                if any(fnmatchcase(name, pattern) for pattern in signs.names):
                    yield f"{place}/{name}"


def _sorting(symbol: str) -> tuple[str, int]:
    name, _, number = symbol.partition("_v")
    return name, int(number)


def loaded_plugin(
    index: LibraryIndex, environ: Mapping[str, str], facts: Sequence[ImageFact]
) -> Location | None:
    """Return the plug-in that NCCL or RCCL loads, and the reason."""
    # NCCL accepts a list and tries its names in order; the first one is judged.
    plugin_name = environ.get("NCCL_NET_PLUGIN", "").partition(",")[0]
    if plugin_name.startswith("/"):
        return Location(plugin_name, "NCCL_NET_PLUGIN of the image")
    for stem, path in dict.fromkeys(stems(facts)):
        names = (
            (plugin_name, f"{stem}-{plugin_name}.so")
            if plugin_name
            else (f"{stem}.so",)
        )
        by = index.library(path) if path else None  # dlopen uses its RUNPATH
        for name in names:
            if location := index.find(name, by):
                why = "NCCL_NET_PLUGIN of the image; " if plugin_name else ""
                return Location(location.path, f"{why}{location.why}")
    return None


def stems(facts: Sequence[ImageFact]) -> Iterator[tuple[str, str]]:
    """Yield the name stems that the libraries in use search for, with their paths.

    If none is in use, the stems of all libraries are yielded, without a path.
    """
    signs = load_signs().plugins.looked_for
    image_facts = {fact.name: fact for fact in facts if fact.taken}
    names = [name for name in ("rccl", "nccl") if name in image_facts]
    yield from () if names else ((sign["stem"], "") for sign in signs)
    for name in names:
        number = version_number(image_facts[name].value)
        for sign in signs:
            since, before = (
                version_number(sign.get(n, "")) for n in ("since", "before")
            )
            is_so = since <= number and not (before and number >= before)
            if sign["fact"] == name and is_so:
                yield sign["stem"], image_facts[name].evidence
                break


def provider_facts(
    index: LibraryIndex, facts: Sequence[ImageFact]
) -> Iterator[ImageFact]:
    """Yield the providers of each libfabric: built-in ones, and those with their own
    files."""
    signs = load_signs()
    for fact in facts:
        if fact.name != "libfabric":
            continue
        path = fact.evidence
        providers = set(_parts_of(index, path, signs.providers))
        pattern = signs.provider_files.format(folder=posixpath.dirname(path))
        providers |= {
            posixpath.basename(file)[3:-6] for file in index.tree.glob(pattern)
        }
        if providers:
            words = " ".join(sorted(providers))
            yield ImageFact("providers", words, path, fact.taken, "of this libfabric")


def extension_facts(
    index: LibraryIndex, sites: Mapping[str, tuple[bool, str]]
) -> Iterator[ImageFact]:
    """Yield a fact for each compiled library of a Python package: its built-in parts.

    *sites* maps each package folder to whether it is in use, and the reason.
    """
    for sign in load_signs().extensions:
        for site, (is_taken, why) in sites.items():
            for path in index.glob(sign.path, [site]):
                if index.library(path):
                    value = ", ".join(_parts_of(index, path, sign.parts)) or "none"
                    yield ImageFact(sign.fact, value, path, is_taken, why)


def _parts_of(
    index: LibraryIndex, path: str, patterns: Mapping[str, str]
) -> Iterator[str]:
    """Yield the names of those *patterns* that match constants of the file at *path*."""
    pattern = "|".join(f"(?P<{name}>{word})" for name, word in patterns.items())
    names = {match.lastgroup for match in index.words(path, pattern)}
    return (name for name in patterns if name in names)
