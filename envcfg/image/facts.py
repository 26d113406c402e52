"""From the files of an image to its facts, each with what shows it; nothing is run."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from envcfg.datafile import finding_in
from envcfg.findings import Finding
from envcfg.image.communication import library_facts, plugin_facts, provider_facts
from envcfg.image.environment import Variable, read_environment, start_fact
from envcfg.image.fact_patterns import load_signs
from envcfg.image.library_index import LibraryIndex
from envcfg.image.python import (
    distributions,
    find_program,
    find_python,
    fitting,
    order_sites,
    prefer_wheel,
    said_by_torch,
)
from envcfg.image.record import ImageFact, Inspection, Library, Metadata, agree
from envcfg.image.tree import Tree

_LONGEST = 1 << 16  # characters of a text that a sign is looked for in
_ELSEWHERE = "PyTorch is here, and not where the image's PATH leads to"

Standing = tuple[bool, str]  # of a folder of packages: whether it counts, and why


def inspect_tree(tree: Tree, metadata: Metadata, image: str) -> Inspection:
    """Return all that the files of an image show.

    Raises:
        OSError: the image is damaged, or cannot be read.
    """
    variables = read_environment(tree, metadata)
    environ = {name: each.value for name, each in variables.items()}
    metadata = metadata._replace(environment=environ)
    index = LibraryIndex(tree, environ)
    python = find_python(tree, environ)
    sites = order_sites(tree, python, load_signs().sites)
    with_torch = [each for each in sites if tree.look(f"{each}/torch/version.py")]
    counted = with_torch[0] if with_torch else None
    if counted:  # the libraries of this one are those that a job loads
        sites.sort(key=lambda each: each != counted)
    own = python.sites if python else ()
    standing = {site: _standing(site, own, counted) for site in sites}
    installed = [*_package_facts(tree, standing), *_text_facts(tree, standing)]
    said = said_by_torch(installed, counted)
    facts = []
    if python:
        why = "the PATH of the image finds it"
        why = f"{python.kind}; {why}" if python.kind else why
        facts.append(ImageFact("python", python.version or "yes", python.path, why=why))
    signs = load_signs().libraries
    shared = [fact for sign in signs for fact in library_facts(index, sign, sites)]
    shared = fitting(shared, said)
    facts += [
        *fitting(installed, said),
        *shared,
        *plugin_facts(index, environ, shared),
        *provider_facts(index, shared),
        *_system_facts(tree, index, metadata, environ),
    ]
    facts, remarks = _with_labels(prefer_wheel(tree, facts, counted), metadata)
    return Inspection(
        image=image,
        metadata=metadata,
        facts=tuple(_settled(tree, facts)),
        libraries=tuple(_libraries(index, facts)),
        findings=(
            *remarks,
            *_remarks(with_torch, {each.name for each in facts}, variables),
            *index.damaged,
        ),
    )


def _standing(site: str, own: Sequence[str], counted: str | None) -> Standing:
    """Return whether what stands in *site* counts, and why."""
    if site in own and (counted is None or counted in own):
        return True, "the Python of the image's PATH finds it"
    if site == counted:
        return True, _ELSEWHERE
    return False, "the Python that counts does not look here"


def unclear_facts(found: Inspection) -> set[str]:
    """Return the names of facts in which environments differ, of which PATH takes none.

    Which one a job activates is not in the image.
    """
    taken = found.taken()
    chosen = taken.get("torch")
    if chosen is None or chosen.why != _ELSEWHERE:
        return set()
    everywhere = (each.evidence for each in found.facts if each.name == "torch")
    sites = {each.rpartition("/torch")[0] for each in everywhere}
    own = chosen.evidence.rpartition("/torch")[0]
    others = tuple(f"{site}/" for site in sites - {own})
    return {
        each.name
        for each in found.facts
        if each.name in taken
        and each.evidence.startswith(others)
        and not agree(each.value, taken[each.name].value)
    }


def _package_facts(tree: Tree, sites: Mapping[str, Standing]) -> Iterator[ImageFact]:
    packages = load_signs().packages
    names = {name: fact for fact, all_ in packages.items() for name in all_}
    for site, (taken, why) in sites.items():
        for name, version, path in distributions(tree, site):
            if name in names:
                number = re.match(r"\d+(\.\d+)*", version)
                value = number[0] if number else version
                yield ImageFact(names[name], value, path, taken, why)


def _text_facts(tree: Tree, sites: Mapping[str, Standing]) -> Iterator[ImageFact]:
    for sign in load_signs().texts:
        for pattern in sign.paths:
            below = pattern.removeprefix("{site}")
            places = {site + below: each for site, each in sites.items()}
            if below == pattern:
                places = dict.fromkeys(tree.glob(pattern), (True, ""))
            for path, (taken, why) in places.items():
                text = tree.text(path, _LONGEST) or ""
                if match := re.search(sign.pattern, text):
                    yield ImageFact(sign.fact, match["value"], path, taken, why)


def _system_facts(
    tree: Tree, index: LibraryIndex, metadata: Metadata, environ: Mapping[str, str]
) -> Iterator[ImageFact]:
    libc = index.find("libc.so.6")
    if library := index.library(libc.path if libc else "/bin/sh"):
        yield ImageFact("architecture", library.machine, library.path)
    elif metadata.architecture:
        where = f"header of the {metadata.form}"
        yield ImageFact("architecture", metadata.architecture, where)
    yield start_fact(tree, metadata)
    for name in load_signs().programs:
        found = find_program(tree, name, environ.get("PATH", ""))
        path = "/bin/sh" if name == "sh" else found or ""  # the rank part names it so
        entry = tree.look(path) if path else None
        if entry and entry.kind == "file":
            yield ImageFact(name, "yes", path)


def _settled(tree: Tree, facts: Sequence[ImageFact]) -> Iterator[ImageFact]:
    """Yield the facts in order; of each name the first that counts, then the others."""
    names = dict.fromkeys(each.name for each in facts)
    first, last = load_signs().first, load_signs().last
    middle = [name for name in names if name not in (*first, *last)]
    for name in (each for each in (*first, *middle, *last) if each in names):
        mine = [each for each in facts if each.name == name]
        mine.sort(key=lambda each: not each.taken)
        yield mine[0]
        seen = {(mine[0].value, tree.resolve(mine[0].evidence))}
        for each in mine[1:]:
            what = each.value, tree.resolve(each.evidence) or each.evidence
            is_same_place = each.evidence == mine[0].evidence
            if what in seen or (is_same_place and agree(each.value, mine[0].value)):
                continue
            seen.add(what)
            why = f"{mine[0].evidence} says it first" if each.taken else each.why
            yield each._replace(taken=False, why=why)


def _libraries(index: LibraryIndex, facts: Sequence[ImageFact]) -> Iterator[Library]:
    """Yield those that the chain is made of, each once."""
    names = {sign.fact for sign in load_signs().libraries if sign.in_chain}
    names |= {"plugin", "interfaces"}
    found = (index.library(each.evidence) for each in facts if each.name in names)
    yield from {each.path: each for each in found if each}.values()


def _with_labels(
    facts: list[ImageFact], metadata: Metadata
) -> tuple[list[ImageFact], list[Finding]]:
    """Add what labels state, where files do not say otherwise; remark on what is unread."""
    findings = [
        finding_in("image", "image-part-unread", part) for part in metadata.unread
    ]
    for label, value in metadata.labels.items():
        match = re.fullmatch(load_signs().labels, label)
        if match is None or not re.fullmatch(r"\d+(\.\d+)*", value):
            continue
        name = match["fact"]
        read = next((f for f in facts if f.name == name and f.taken), None)
        why = "the maker of the image says so"
        facts.append(ImageFact(name, value, f"label {label}", why=why))
        if read and not agree(read.value, value):
            words = {"value": value, "evidence": read.evidence, "own": read.value}
            findings.append(finding_in("image", "image-label-wrong", label, **words))
    return facts, findings


def _remarks(
    places: Sequence[str], there: Iterable[str], variables: Mapping[str, Variable]
) -> Iterator[Finding]:
    """Remark on PyTorch in several *places*, programs, and variables by which jobs talk."""
    if len(places) > 1:
        words = {"count": len(places), "places": ", ".join(places), "first": places[0]}
        yield finding_in("image", "image-torch-twice", "torch", **words)
    if "sh" not in there:
        yield finding_in("image", "image-no-shell", "/bin/sh")
    if "mkdir" not in there:
        yield finding_in("image", "image-no-mkdir", "mkdir")
    for name, (value, evidence) in sorted(variables.items()):
        if re.fullmatch(load_signs().variables, name):
            words = {"value": repr(value[:120]), "evidence": evidence}
            yield finding_in("image", "image-sets-variable", name, **words)
