"""The facts of an image from its files, each with its evidence; nothing is executed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from envcfg.common.findings import Finding, finding_in
from envcfg.image.communication import (
    extension_facts,
    library_facts,
    plugin_facts,
    provider_facts,
)
from envcfg.image.fact_patterns import load_signs
from envcfg.image.image_environment import ImageVariable, read_environment, start_fact
from envcfg.image.image_record import ImageFact, Inspection, Library, Metadata, agree
from envcfg.image.library_index import LibraryIndex
from envcfg.image.python_packages import (
    distributions,
    find_program,
    find_python,
    fitting,
    order_sites,
    prefer_wheel,
    said_by_torch,
)
from envcfg.image.tree import Tree

_LONGEST = 1 << 16  # characters of a text that is searched for a sign
_ELSEWHERE = "PyTorch is here, and not where the image's PATH leads to"

Standing = tuple[bool, str]  # whether a package folder is in use, and the reason


def inspect_tree(tree: Tree, metadata: Metadata, image: str) -> Inspection:
    """Return all facts in the files of an image.

    Raises:
        OSError: the image is damaged, or cannot be read.
    """
    if tree.is_closed:
        facts, remarks = add_labels([*_declared(metadata)], metadata)
        return Inspection(image, metadata, tuple(facts), findings=tuple(remarks))
    variables = read_environment(tree, metadata)
    environ = {name: variable.value for name, variable in variables.items()}
    metadata = metadata._replace(environment=environ)
    index = LibraryIndex(tree, environ)
    python = find_python(tree, environ)
    # The order of sites is that of Python's import path, because the first match is
    # imported.
    sites = order_sites(tree, python, load_signs().sites)
    with_torch = [site for site in sites if tree.look(f"{site}/torch/version.py")]
    counted = with_torch[0] if with_torch else None
    if counted:  # a job loads the libraries of this site
        sites.sort(key=lambda site: site != counted)
    own = python.sites if python else ()
    standing = {site: _standing(site, own, counted) for site in sites}
    installed = [*_package_facts(tree, standing), *_text_facts(tree, standing)]
    # The version that torch itself reports decides between several copies of a
    # library.
    versions = said_by_torch(installed, counted)
    facts = []
    if python:
        why = "the PATH of the image finds it"
        why = f"{python.kind}; {why}" if python.kind else why
        facts.append(ImageFact("python", python.version or "yes", python.path, why=why))
    signs = load_signs().libraries
    shared = [fact for sign in signs for fact in library_facts(index, sign, sites)]
    shared = fitting(shared, versions)
    # Later facts with the same name rank lower, so the order of this list is the
    # order of trust.
    facts += [
        *fitting(installed, versions),
        *shared,
        *plugin_facts(index, environ, shared),
        *provider_facts(index, shared),
        *extension_facts(index, standing),
        *_system_facts(tree, index, metadata, environ),
    ]
    # Labels come last: they describe the maker's intention, and files may differ.
    facts, remarks = add_labels(prefer_wheel(tree, facts, counted), metadata)
    return Inspection(
        image=image,
        metadata=metadata,
        facts=tuple(_settled(tree, facts)),
        libraries=tuple(_libraries(index, facts)),
        findings=(
            *remarks,
            *_remarks(with_torch, {fact.name for fact in facts}, variables),
            *index.damaged,
        ),
    )


def _standing(site: str, own: Sequence[str], counted: str | None) -> Standing:
    """Return whether the packages in *site* are in use, and the reason."""
    if site in own and (counted is None or counted in own):
        return True, "the Python of the image's PATH finds it"
    # Many images have Python in an environment that the entry point activates.
    if site == counted:
        return True, _ELSEWHERE
    # The packages are still reported, because another environment may use them.
    return False, "the Python that counts does not look here"


def unclear_facts(inspection: Inspection) -> set[str]:
    """Return the names of facts that differ between environments, if PATH selects none.

    The image does not show which environment a job activates.
    """
    image_facts = inspection.taken()
    image_fact = image_facts.get("torch")
    # With PyTorch on the image's PATH, the choice is clear.
    if image_fact is None or image_fact.why != _ELSEWHERE:
        return set()
    everywhere = (fact.evidence for fact in inspection.facts if fact.name == "torch")
    sites = {path.rpartition("/torch")[0] for path in everywhere}
    own = image_fact.evidence.rpartition("/torch")[0]
    foreign = tuple(f"{site}/" for site in sites - {own})
    return {
        fact.name
        for fact in inspection.facts
        if fact.name in image_facts
        and fact.evidence.startswith(foreign)
        and not agree(fact.value, image_facts[fact.name].value)
    }


def _package_facts(tree: Tree, sites: Mapping[str, Standing]) -> Iterator[ImageFact]:
    packages = load_signs().packages
    names = {name: fact for fact, all_ in packages.items() for name in all_}
    for site, (is_taken, why) in sites.items():
        for name, version, path in distributions(tree, site):
            if name in names:
                # A local suffix such as +cu124 is not part of the version that
                # conditions compare.
                number = re.match(r"\d+(\.\d+)*", version)
                value = number[0] if number else version
                yield ImageFact(names[name], value, path, is_taken, why)


def _text_facts(tree: Tree, sites: Mapping[str, Standing]) -> Iterator[ImageFact]:
    for sign in load_signs().texts:
        for pattern in sign.paths:
            below = pattern.removeprefix("{site}")
            places = {site + below: standing for site, standing in sites.items()}
            if below == pattern:
                # A pattern without a site is a fixed path, which belongs to no
                # environment.
                places = dict.fromkeys(tree.glob(pattern), (True, ""))
            for path, (is_taken, why) in places.items():
                # The length is limited, because a sign is near the beginning of its
                # file.
                text = tree.text(path, _LONGEST) or ""
                if match := re.search(sign.pattern, text):
                    value = match["value"]
                    if sign.items:
                        items = re.finditer(sign.items, value)
                        value = ", ".join(item["value"] for item in items) or "none"
                    yield ImageFact(sign.fact, value, path, is_taken, why)


def _declared(metadata: Metadata) -> Iterator[ImageFact]:
    """Yield the architecture that the metadata state."""
    if metadata.architecture:
        where = f"header of the {metadata.form}"
        yield ImageFact("architecture", metadata.architecture, where)


def _system_facts(
    tree: Tree, index: LibraryIndex, metadata: Metadata, environ: Mapping[str, str]
) -> Iterator[ImageFact]:
    # libc has the architecture of all programs; /bin/sh serves images with another
    # libc.
    libc = index.find("libc.so.6")
    if library := index.library(libc.path if libc else "/bin/sh"):
        yield ImageFact("architecture", library.machine, library.path)
    # Metadata is only the second choice: an image can be labelled wrongly.
    else:
        yield from _declared(metadata)
    yield start_fact(tree, metadata)
    for name in load_signs().programs:
        program = find_program(tree, name, environ.get("PATH", ""))
        path = "/bin/sh" if name == "sh" else program or ""  # the name in the rank part
        entry = tree.look(path) if path else None
        if entry and entry.kind == "file":
            yield ImageFact(name, "yes", path)


def _settled(tree: Tree, facts: Sequence[ImageFact]) -> Iterator[ImageFact]:
    """Yield the facts in order: for each name, the first valid fact, then the others."""
    names = dict.fromkeys(fact.name for fact in facts)
    first, last = load_signs().first, load_signs().last
    middle = [name for name in names if name not in (*first, *last)]
    for name in (name for name in (*first, *middle, *last) if name in names):
        mine = [fact for fact in facts if fact.name == name]
        mine.sort(key=lambda fact: not fact.taken)
        yield mine[0]
        # The same file may appear under several links, and would be reported twice.
        visited = {(mine[0].value, tree.resolve(mine[0].evidence))}
        for image_fact in mine[1:]:
            reason = (
                image_fact.value,
                tree.resolve(image_fact.evidence) or image_fact.evidence,
            )
            # Two signs in one file often give the same version with different
            # precision.
            is_same_place = image_fact.evidence == mine[0].evidence
            if reason in visited or (
                is_same_place and agree(image_fact.value, mine[0].value)
            ):
                continue
            visited.add(reason)
            why = (
                f"{mine[0].evidence} says it first"
                if image_fact.taken
                else image_fact.why
            )
            yield image_fact._replace(taken=False, why=why)


def _libraries(index: LibraryIndex, facts: Sequence[ImageFact]) -> Iterator[Library]:
    """Yield the libraries of the chain, each once."""
    names = {sign.fact for sign in load_signs().libraries if sign.in_chain}
    names |= {"plugin", "interfaces"}
    libraries = (index.library(fact.evidence) for fact in facts if fact.name in names)
    yield from {library.path: library for library in libraries if library}.values()


def add_labels(
    facts: list[ImageFact], metadata: Metadata
) -> tuple[list[ImageFact], list[Finding]]:
    """Add the facts of labels that files do not contradict; report unread parts."""
    findings = [
        finding_in("image", "image-part-unread", part) for part in metadata.unread
    ]
    for label, value in metadata.labels.items():
        match = re.fullmatch(load_signs().labels, label)
        # Other values, such as "latest", cannot be compared.
        if match is None or not re.fullmatch(r"\d+(\.\d+)*", value):
            continue
        name = match["fact"]
        image_fact = next((f for f in facts if f.name == name and f.taken), None)
        why = "from the image's labels"
        facts.append(ImageFact(name, value, f"label {label}", why=why))
        if image_fact and not agree(image_fact.value, value):
            words = {
                "value": value,
                "evidence": image_fact.evidence,
                "own": image_fact.value,
            }
            findings.append(finding_in("image", "image-label-wrong", label, **words))
    return facts, findings


def _remarks(
    places: Sequence[str],
    present: Iterable[str],
    variables: Mapping[str, ImageVariable],
) -> Iterator[Finding]:
    """Yield findings on several copies of PyTorch, missing files and variables.

    *places* are the sites with PyTorch; *present* are the names of the image's facts.
    """
    if len(places) > 1:
        words = {"count": len(places), "places": ", ".join(places), "first": places[0]}
        yield finding_in("image", "image-torch-twice", "torch", **words)
    if "sh" not in present:
        yield finding_in("image", "image-no-shell", "/bin/sh")
    if "mkdir" not in present:
        yield finding_in("image", "image-no-mkdir", "mkdir")
    packages: dict[str, list[str]] = {}
    for sign in load_signs().extensions:
        packages.setdefault(sign.package, []).append(sign.fact)
    for package, facts in packages.items():
        # The package without its compiled extension falls back to slow code without
        # an error.
        if package in present and not any(fact in present for fact in facts):
            yield finding_in("image", "image-extension-missing", package)
    yield from variable_remarks(variables)


def variable_remarks(variables: Mapping[str, ImageVariable]) -> Iterator[Finding]:
    """Yield a finding on each variable that matters to communication."""
    for name, (value, evidence) in sorted(variables.items()):
        if re.fullmatch(load_signs().variables, name):
            # Values may be long or contain control characters.
            words = {"value": repr(value[:120]), "evidence": evidence}
            yield finding_in("image", "image-sets-variable", name, **words)
