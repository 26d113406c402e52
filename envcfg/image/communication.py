"""What ranks talk through: NCCL or RCCL, its plug-in, libfabric; which of each counts."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from envcfg.image.fact_patterns import LibrarySign, load_signs
from envcfg.image.library_index import Found, LibraryIndex
from envcfg.image.record import ImageFact, version_number


def library_facts(
    index: LibraryIndex, sign: LibrarySign, sites: Sequence[str]
) -> Iterator[ImageFact]:
    """Yield a fact for each file of one library, the one that counts first."""
    counted = _counted(index, sign, sites)
    built_in = None if counted else next(_built_in(index, sign, sites), None)
    if counted is None and built_in is None:
        counted = index.find(sign.soname)
    found = (counted, index.find(sign.soname))
    paths = [each.path for each in found if each]
    for pattern in sign.also:
        paths += index.glob(pattern, list(sites))
    by_file: dict[str | None, str] = {}
    for path in paths:
        by_file.setdefault(index.tree.resolve(path), path)
    made: list[ImageFact] = []
    for path in by_file.values():
        if index.library(path) is None:
            continue
        value, taken = index.version(sign, path), counted is not None and not made
        why = counted.why if counted and taken else ""
        made.append(ImageFact(sign.fact, value, path, taken, why))
    if built_in:
        made.insert(0, built_in)
    if made and not made[0].taken:
        why = "the only one" if len(made) == 1 else "the first of several"
        why += "; the loader does not find it"
        made[0] = made[0]._replace(taken=True, why=why)
    yield from made[:1]
    for each in made[1:]:
        yield each._replace(why=f"{made[0].evidence} comes before it")


def _counted(
    index: LibraryIndex, sign: LibrarySign, sites: Sequence[str]
) -> Found | None:
    """Return the file that PyTorch loads; None where it needs none."""
    stem = sign.soname.partition(".so")[0] + ".so"
    for path in index.preloaded:
        if posixpath.basename(path).startswith(stem) and index.library(path):
            return Found(path, "LD_PRELOAD of the image: its symbols come first")
    for path in (f"{a}/torch/lib/{b}" for a in sites for b in sign.needed_by):
        torch = index.library(path)
        for soname in torch.needed if torch else ():
            if soname.startswith(stem):
                # Not the libraries that stand beside one that is a link.
                return index.find(soname, torch)
    return None


def _built_in(
    index: LibraryIndex, sign: LibrarySign, sites: Sequence[str]
) -> Iterator[ImageFact]:
    why = "built into PyTorch, which needs no other"
    for path in (f"{a}/torch/lib/{b}" for a in sites for b in sign.built_into):
        if said := index.first_words(path, sign.strings):
            yield ImageFact(sign.fact, said["value"], path, why=why)


def plugin_facts(
    index: LibraryIndex, environ: Mapping[str, str], facts: Sequence[ImageFact]
) -> Iterator[ImageFact]:
    """Yield for each plug-in its version and interfaces, that which is loaded first.

    Of *environ*, which the image sets, ``NCCL_NET_PLUGIN`` counts.
    """
    counted = loaded_plugin(index, environ, facts)
    by_file: dict[str | None, str] = {}
    for path in (*([counted.path] if counted else ()), *_plugin_files(index)):
        by_file.setdefault(index.tree.resolve(path), path)
    for path in by_file.values():
        if (library := index.library(path)) is None:
            continue
        taken = counted is not None and path == counted.path
        why = "no NCCL of the image looks for it here"
        if counted and index.library(counted.path):
            why = counted.why if taken else f"{counted.path} comes before it"
        interfaces = " ".join(
            each.replace("nccl", "", 1).replace("Plugin_", "_").lower()
            for each in sorted(library.symbols, key=_sorting)
        )
        for pattern in load_signs().plugins.strings:
            if said := index.first_words(path, (pattern,)):
                kind = f"{said['kind']}; {why}"
                yield ImageFact("plugin", said["value"], path, taken, kind)
        if interfaces:
            yield ImageFact("interfaces", interfaces, path, taken, "what it exports")


def _plugin_files(index: LibraryIndex) -> Iterator[str]:
    """Yield the paths of files that are called like a plug-in, where plug-ins lie."""
    signs, tree = load_signs().plugins, index.tree
    for folder in signs.folders:
        for each in index.folders() if folder == "{lib}" else tree.glob(folder):
            for name in tree.names(each):
                if any(fnmatchcase(name, pattern) for pattern in signs.names):
                    yield f"{each}/{name}"


def _sorting(symbol: str) -> tuple[str, int]:
    name, _, number = symbol.partition("_v")
    return name, int(number)


def loaded_plugin(
    index: LibraryIndex, environ: Mapping[str, str], facts: Sequence[ImageFact]
) -> Found | None:
    """Return the plug-in that NCCL or RCCL loads, and what leads to it."""
    named = environ.get("NCCL_NET_PLUGIN", "").partition(",")[0]
    if named.startswith("/"):
        return Found(named, "NCCL_NET_PLUGIN of the image")
    for stem, path in dict.fromkeys(_stems(facts)):
        names = (named, f"{stem}-{named}.so") if named else (f"{stem}.so",)
        by = index.library(path) if path else None  # whose RUNPATH counts for dlopen
        for name in names:
            if found := index.find(name, by):
                why = "NCCL_NET_PLUGIN of the image; " if named else ""
                return Found(found.path, f"{why}{found.why}")
    return None


def _stems(facts: Sequence[ImageFact]) -> Iterator[tuple[str, str]]:
    """Yield what the libraries that count look for, and their paths.

    Where none is: what any looks for, and nothing.
    """
    signs = load_signs().plugins.looked_for
    taken = {each.name: each for each in facts if each.taken}
    names = [name for name in ("rccl", "nccl") if name in taken]
    yield from () if names else ((each["stem"], "") for each in signs)
    for name in names:
        number = version_number(taken[name].value)
        for each in signs:
            since, before = (
                version_number(each.get(n, "")) for n in ("since", "before")
            )
            is_so = since <= number and not (before and number >= before)
            if each["fact"] == name and is_so:
                yield each["stem"], taken[name].evidence
                break


def provider_facts(
    index: LibraryIndex, facts: Sequence[ImageFact]
) -> Iterator[ImageFact]:
    """Yield the providers of each libfabric: built in, and with files of their own."""
    signs = load_signs()
    pattern = "|".join(f"(?P<{n}>{p})" for n, p in signs.providers.items())
    for fact in facts:
        if fact.name != "libfabric":
            continue
        path = fact.evidence
        found = {str(match.lastgroup) for match in index.words(path, pattern)}
        here = signs.provider_files.format(folder=posixpath.dirname(path))
        found |= {posixpath.basename(file)[3:-6] for file in index.tree.glob(here)}
        if found:
            words = " ".join(sorted(found))
            yield ImageFact("providers", words, path, fact.taken, "of this libfabric")
