"""From the files of an image to its facts, each with what shows it; nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from envcfg.image.communication import library_facts, plugin_facts, provider_facts
from envcfg.image.environment import read_environment
from envcfg.image.python import (
    Python,
    distributions,
    find_program,
    find_python,
    order_sites,
)
from envcfg.image.pytorch import fitting, prefer_wheel, said_by_torch
from envcfg.image.record import ImageFact, Inspection, Library, Metadata
from envcfg.image.remarks import (
    agree,
    program_remarks,
    torch_remarks,
    unread_remarks,
    variable_remarks,
    with_labels,
)
from envcfg.image.shelf import Shelf
from envcfg.image.signs import load_signs
from envcfg.image.start import start_fact
from envcfg.image.tree import Tree

# What people look for first, first; the others follow in the order in which they are read.
_ORDER = (
    "torch rocm cuda rccl nccl plugin interfaces libfabric providers libcxi rdma-core ucx "
    "mpich open-mpi python"
).split()
_LONGEST = 1 << 16  # characters of a text that a sign is looked for in
_ELSEWHERE = "PyTorch is here, and not where the image's PATH leads to"
_LAST = "glibc architecture distribution start sh bash mkdir env".split()


def inspect_tree(tree: Tree, metadata: Metadata, image: str) -> Inspection:
    """Return all that the files of an image show.

    Args:
        tree: its files.
        metadata: what its form says.
        image: its path or name, as it was given.

    Raises:
        OSError: the image is damaged, or cannot be read.
    """
    variables = read_environment(tree, metadata)
    environ = {name: each.value for name, each in variables.items()}
    metadata = metadata._replace(environment=environ)
    shelf = Shelf(tree, environ)
    python = find_python(tree, environ)
    sites = order_sites(tree, python, load_signs().sites)
    counted = next((each for each in sites if _has_torch(tree, each)), None)
    if counted:  # the libraries of this one are those that a job loads
        sites.sort(key=lambda each: each != counted)
    own = python.sites if python else ()
    installed = [
        *_package_facts(tree, sites, own, counted),
        *_text_facts(tree, sites, own, counted),
    ]
    said = said_by_torch(installed, counted)
    facts = [
        *_python_facts(python),
        *fitting(installed, said),
        *_shared_facts(shelf, environ, sites, said),
        *_system_facts(tree, shelf, metadata, environ),
    ]
    facts, remarks = with_labels(prefer_wheel(tree, facts, counted), metadata.labels)
    return Inspection(
        image=image,
        metadata=metadata,
        facts=tuple(_settled(tree, facts)),
        libraries=tuple(_libraries(shelf, facts)),
        findings=(
            *unread_remarks(metadata.unread),
            *remarks,
            *torch_remarks([each for each in sites if _has_torch(tree, each)]),
            *program_remarks(facts),
            *variable_remarks(variables),
            *shelf.damaged,
        ),
    )


def unclear_facts(found: Inspection) -> set[str]:
    """Return the names of facts in which environments differ, of which PATH takes none.

    Which one a job activates is not in the image.
    """
    chosen = found.taken().get("torch")
    if chosen is None or chosen.why != _ELSEWHERE:
        return set()
    taken = found.taken()
    sites = {_site(each) for each in found.facts if each.name == "torch"}
    others = tuple(f"{site}/" for site in sites - {_site(chosen)})
    return {
        each.name
        for each in found.facts
        if each.name in taken
        and each.evidence.startswith(others)
        and not agree(each.value, taken[each.name].value)
    }


def _site(fact: ImageFact) -> str:
    return fact.evidence.rpartition("/torch")[0]


def _python_facts(python: Python | None) -> Iterator[ImageFact]:
    if python:
        why = (
            f"{python.kind + '; ' if python.kind else ''}the PATH of the image finds it"
        )
        yield ImageFact("python", python.version or "yes", python.path, why=why)


def _has_torch(tree: Tree, site: str) -> bool:
    return tree.look(f"{site}/torch/version.py") is not None


def _why(site: str, own: Sequence[str], counted: str | None) -> tuple[bool, str]:
    """Return whether what stands in *site* counts, and why."""
    if site in own and (counted is None or counted in own):
        return True, "the Python of the image's PATH finds it"
    if site == counted:
        return True, _ELSEWHERE
    return False, "the Python that counts does not look here"


def _package_facts(
    tree: Tree, sites: Sequence[str], own: Sequence[str], counted: str | None
) -> Iterator[ImageFact]:
    names = {
        name: fact for fact, all_ in load_signs().packages.items() for name in all_
    }
    for site in sites:
        taken, why = _why(site, own, counted)
        for name, version, path in distributions(tree, site):
            if name in names:
                number = re.match(r"\d+(\.\d+)*", version)
                value = number[0] if number else version
                yield ImageFact(names[name], value, path, taken, why)


def _text_facts(
    tree: Tree, sites: Sequence[str], own: Sequence[str], counted: str | None
) -> Iterator[ImageFact]:
    for sign in load_signs().texts:
        for pattern in sign.paths:
            places: list[tuple[str, bool, str]] = []
            if pattern.startswith("{site}"):
                for site in sites:
                    taken, why = _why(site, own, counted)
                    places.append((site + pattern.removeprefix("{site}"), taken, why))
            else:
                places = [(path, True, "") for path in tree.glob(pattern)]
            for path, taken, why in places:
                text = tree.text(path, _LONGEST) or ""
                if match := re.search(sign.pattern, text):
                    yield ImageFact(sign.fact, match["value"], path, taken, why)


def _shared_facts(
    shelf: Shelf,
    environ: Mapping[str, str],
    sites: Sequence[str],
    said: Mapping[str, str],
) -> list[ImageFact]:
    facts = fitting(
        [
            fact
            for sign in load_signs().libraries
            for fact in library_facts(shelf, sign, sites)
        ],
        said,
    )
    return [*facts, *plugin_facts(shelf, environ, facts), *provider_facts(shelf, facts)]


def _system_facts(
    tree: Tree, shelf: Shelf, metadata: Metadata, environ: Mapping[str, str]
) -> Iterator[ImageFact]:
    libc = shelf.loader.find("libc.so.6")
    library = shelf.library(libc.path if libc else "/bin/sh")
    if library:
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
    order = {name: at for at, name in enumerate(_ORDER)}
    last = {name: len(facts) + len(order) + at for at, name in enumerate(_LAST)}
    names = dict.fromkeys(each.name for each in facts)
    for name in sorted(names, key=lambda n: order.get(n, last.get(n, len(order)))):
        mine = [each for each in facts if each.name == name]
        mine.sort(key=lambda each: not each.taken)
        yield mine[0]
        seen = {(mine[0].value, tree.resolve(mine[0].evidence))}
        for each in mine[1:]:
            what = each.value, tree.resolve(each.evidence) or each.evidence
            is_shorter = each.evidence == mine[0].evidence and agree(
                each.value, mine[0].value
            )
            if what not in seen and not is_shorter:
                seen.add(what)
                why = (
                    each.why if not each.taken else f"{mine[0].evidence} says it first"
                )
                yield each._replace(taken=False, why=why)


def _libraries(shelf: Shelf, facts: Sequence[ImageFact]) -> Iterator[Library]:
    """Yield those that the chain is made of, each once."""
    names = {sign.fact for sign in load_signs().libraries if sign.in_chain}
    seen: set[str] = set()
    for fact in facts:
        if fact.name in {*names, "plugin", "interfaces"}:
            library = shelf.library(fact.evidence)
            if library and library.path not in seen:
                seen.add(library.path)
                yield library
