"""The Python of an image: the one on PATH, its packages, and the libraries of PyTorch."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.common.characters import split_lines
from envcfg.image.fact_patterns import load_signs
from envcfg.image.image_environment import DEFAULT_PATH, folders_of
from envcfg.image.image_record import ImageFact, agree
from envcfg.image.tree import Tree

_LONGEST = 255  # characters of a file name
_NAMES = ("python3", "python")
# PyTorch for this kind of GPU: its name, then the facts of the other kind, which do
# not count.
_OTHER_KIND = {"rocm": ("ROCm", "cuda", "nccl"), "cuda": ("CUDA", "rocm", "rccl")}
_OWN = ("torch", "cuda")  # facts with a version of PyTorch itself


class Python(NamedTuple):
    """A Python interpreter and its package folders."""

    path: str  # the path found by PATH
    version: str  # `3.12`; empty if unknown
    kind: str  # `venv`, `conda`, or empty for the system's
    sites: tuple[str, ...]  # package folders, in the order of the search


def find_program(tree: Tree, name: str, path: str) -> str | None:
    """Return the first executable *name* on PATH; None if there is none."""
    for folder in (path or DEFAULT_PATH).split(":")[:100]:
        candidate = f"{folder.rstrip('/')}/{name}"
        entry = tree.look(candidate) if folder.startswith("/") else None
        if entry and entry.kind == "file" and entry.executable:
            return candidate
    return None


def find_python(tree: Tree, environ: Mapping[str, str]) -> Python | None:
    """Return the Python that a job finds on the image's own PATH."""
    names = (find_program(tree, name, environ.get("PATH", "")) for name in _NAMES)
    if (path := next(filter(None, names), None)) is None:
        return None
    own = folders_of(environ.get("PYTHONPATH", ""))
    prefix = posixpath.dirname(posixpath.dirname(path))
    text = tree.text(f"{prefix}/pyvenv.cfg", 1 << 16) or ""
    pairs = (line.partition("=") for line in split_lines(text))
    settings = {name.strip(): value.strip() for name, equals, value in pairs if equals}
    home = ""
    if settings:
        kind, version_text = (
            "venv",
            settings.get("version", settings.get("version_info", "")),
        )
        version = ".".join(version_text.split(".")[:2])
        if settings.get("include-system-site-packages") == "true":
            home = settings.get("home", "")
    else:
        real = tree.resolve(path) or path
        prefix = posixpath.dirname(posixpath.dirname(real))
        match = re.search(r"python(\d+\.\d+)[a-z]*$", real)
        version = match[1] if match else ""
        kind = "conda" if tree.look(f"{prefix}/conda-meta") else ""
    version = version or _version_of(tree, prefix)
    sites = [*own, *_sites(tree, prefix, version)]
    if home:
        sites += _sites(tree, posixpath.dirname(home.rstrip("/")), version)
    return Python(path, version, kind, tuple(dict.fromkeys(sites)))


def order_sites(
    tree: Tree, python: Python | None, more_sites: Sequence[str]
) -> list[str]:
    """Return all package folders: those of *python*, then those matching *more_sites*."""
    sites = list(python.sites) if python else []
    for pattern in more_sites:
        sites += tree.glob(pattern)
    return tree.distinct(sites)


def distributions(tree: Tree, site: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, version and path of the packages in *site*, names as in pip.

    >>> from envcfg.image.tree import FolderTree
    >>> list(distributions(FolderTree("/nowhere"), "/site-packages"))
    []
    """
    for entry in tree.names(site):
        if len(entry) > _LONGEST:
            continue
        if match := re.fullmatch(r"([^-]+)-(\d[^-]*).*\.(?:dist|egg)-info", entry):
            name = re.sub(r"[-_.]+", "-", match[1]).lower()
            yield name, match[2], f"{site}/{entry}"


def _sites(tree: Tree, prefix: str, version: str) -> list[str]:
    own = load_signs().python_sites
    places = [pattern.format(prefix=prefix, version=version) for pattern in own]
    return [place for place in places if tree.look(place) is not None]


def _version_of(tree: Tree, prefix: str) -> str:
    for path in tree.glob(f"{prefix}/lib/python3.*"):
        if match := re.fullmatch(r"python(\d+\.\d+)", posixpath.basename(path)):
            return match[1]
    return ""


def said_by_torch(facts: Sequence[ImageFact], counted: str | None) -> dict[str, str]:
    """Return PyTorch's own version and its CUDA or ROCm, for the copy in *counted*."""
    mine = [fact for fact in facts if fact.evidence == f"{counted}/torch/version.py"]
    return {image_fact.name: image_fact.value for image_fact in reversed(mine)}


def fitting(facts: Sequence[ImageFact], versions: Mapping[str, str]) -> list[ImageFact]:
    """Return the facts, counting only libraries that this PyTorch can load.

    A leftover wheel, or one installed for another program, is not a fact of the job.
    """
    image_facts = list(facts)
    kinds = versions.keys() & _OTHER_KIND.keys()
    if len(kinds) == 1:
        spelt, *alternatives = _OTHER_KIND[kinds.pop()]
        why = f"PyTorch is made for {spelt}"
        demoted = (fact._replace(taken=False, why=why) for fact in facts)
        image_facts = [
            b if a.name in alternatives else a
            for a, b in zip(facts, demoted, strict=True)
        ]
    own = {name: versions[name] for name in _OWN if name in versions}
    image_facts.sort(key=lambda e: e.name in own and not agree(own[e.name], e.value))
    return image_facts


def prefer_wheel(
    tree: Tree, facts: list[ImageFact], counted: str | None
) -> list[ImageFact]:
    """Return the facts, preferring the ROCm inside PyTorch, because PyTorch loads it."""
    libraries = tree.names(f"{counted}/torch/lib") if counted else []
    if not any(library.startswith("libamdhip64.so") for library in libraries):
        return facts
    own = f"{counted}/"
    mine = [e for e in facts if e.name == "rocm" and e.evidence.startswith(own)]
    image_facts = [fact for fact in facts if fact not in mine]
    why = "PyTorch brings its own ROCm, and loads that"
    return [*(image_fact._replace(why=why) for image_fact in mine), *image_facts]
