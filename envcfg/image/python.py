"""The Python of an image: which one PATH finds, its packages, and what PyTorch loads."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.image.environment import DEFAULT_PATH, folders_of
from envcfg.image.fact_patterns import load_signs
from envcfg.image.record import ImageFact, agree
from envcfg.image.tree import Tree

_LONGEST = 255  # characters of the name of a file, where a system makes it
_NAMES = ("python3", "python")
# What a PyTorch that is made for one kind of GPU does not load, and what it says itself.
_OTHER_KIND = {"rocm": ("ROCm", "cuda", "nccl"), "cuda": ("CUDA", "rocm", "rccl")}
_OWN = ("torch", "cuda")


class Python(NamedTuple):
    """A Python, and where its packages are.

    Attributes:
        path: as PATH finds it.
        version: ``3.12``; empty where nothing shows it.
        kind: ``venv``, ``conda``, or empty: the system's.
        sites: folders of packages, in the order in which it looks.
    """

    path: str
    version: str
    kind: str
    sites: tuple[str, ...]


def find_program(tree: Tree, name: str, path: str) -> str | None:
    """Return the first *name* of PATH that may be run; None where none is."""
    for folder in (path or DEFAULT_PATH).split(":")[:100]:
        here = f"{folder.rstrip('/')}/{name}"
        entry = tree.look(here) if folder.startswith("/") else None
        if entry and entry.kind == "file" and entry.executable:
            return here
    return None


def find_python(tree: Tree, environ: Mapping[str, str]) -> Python | None:
    """Return the Python that a job finds by the image's own PATH."""
    names = (find_program(tree, each, environ.get("PATH", "")) for each in _NAMES)
    if (path := next(filter(None, names), None)) is None:
        return None
    own = folders_of(environ.get("PYTHONPATH", ""))
    prefix = posixpath.dirname(posixpath.dirname(path))
    text = tree.text(f"{prefix}/pyvenv.cfg", 1 << 16) or ""
    pairs = (line.partition("=") for line in text.splitlines())
    settings = {name.strip(): value.strip() for name, equals, value in pairs if equals}
    home = ""
    if settings:
        kind, said = "venv", settings.get("version", settings.get("version_info", ""))
        version = ".".join(said.split(".")[:2])
        if settings.get("include-system-site-packages") == "true":
            home = settings.get("home", "")
    else:
        real = tree.resolve(path) or path
        prefix = posixpath.dirname(posixpath.dirname(real))
        match = re.search(r"python(\d+\.\d+)[a-z]*$", real)
        version = match[1] if match else ""
        kind = "conda" if tree.look(f"{prefix}/conda-meta") else ""
    version = version or _version_of(tree, prefix)
    found = [*own, *_sites(tree, prefix, version)]
    if home:
        found += _sites(tree, posixpath.dirname(home.rstrip("/")), version)
    return Python(path, version, kind, tuple(dict.fromkeys(found)))


def order_sites(tree: Tree, python: Python | None, others: Sequence[str]) -> list[str]:
    """Return all folders of packages: those of *python*, then by patterns *others*."""
    found = list(python.sites) if python else []
    for pattern in others:
        found += tree.glob(pattern)
    seen: dict[str, str] = {}  # a folder may have two names
    for each in found:
        seen.setdefault(tree.resolve(each) or each, each)
    return list(seen.values())


def distributions(tree: Tree, site: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, version and path of what is installed in *site*, names as pip has them.

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
    places = [each.format(prefix=prefix, version=version) for each in own]
    return [each for each in places if tree.look(each) is not None]


def _version_of(tree: Tree, prefix: str) -> str:
    for path in tree.glob(f"{prefix}/lib/python3.*"):
        if match := re.fullmatch(r"python(\d+\.\d+)", posixpath.basename(path)):
            return match[1]
    return ""


def said_by_torch(facts: Sequence[ImageFact], counted: str | None) -> dict[str, str]:
    """Return what the PyTorch in *counted* says of itself: its version, CUDA or ROCm."""
    mine = [each for each in facts if each.evidence == f"{counted}/torch/version.py"]
    return {each.name: each.value for each in reversed(mine)}


def fitting(facts: Sequence[ImageFact], said: Mapping[str, str]) -> list[ImageFact]:
    """Let only count what PyTorch can load, by what it has *said* of itself.

    A wheel that is left over, or was installed for something else, is no fact of the job.
    """
    found = list(facts)
    kinds = said.keys() & _OTHER_KIND.keys()
    if len(kinds) == 1:
        spelt, *others = _OTHER_KIND[kinds.pop()]
        why = f"PyTorch is made for {spelt}"
        left = (each._replace(taken=False, why=why) for each in facts)
        found = [b if a.name in others else a for a, b in zip(facts, left, strict=True)]
    own = {name: said[name] for name in _OWN if name in said}
    found.sort(key=lambda e: e.name in own and not agree(own[e.name], e.value))
    return found


def prefer_wheel(
    tree: Tree, facts: list[ImageFact], counted: str | None
) -> list[ImageFact]:
    """Let the ROCm that PyTorch brings count before the system's: it is what it loads."""
    libraries = tree.names(f"{counted}/torch/lib") if counted else []
    if not any(each.startswith("libamdhip64.so") for each in libraries):
        return facts
    own = f"{counted}/"
    mine = [e for e in facts if e.name == "rocm" and e.evidence.startswith(own)]
    left = [each for each in facts if each not in mine]
    why = "PyTorch brings its own ROCm, and loads that"
    return [*(each._replace(why=why) for each in mine), *left]
