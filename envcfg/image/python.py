"""The Python of an image: which one PATH finds, and what is installed for it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.image.environment import DEFAULT_PATH
from envcfg.image.tree import Tree

_LONGEST = 255  # characters of the name of a file, where a system makes it
_NAMES = ("python3", "python")
_SITES = (
    "{prefix}/lib/python{version}/site-packages",
    "{prefix}/lib64/python{version}/site-packages",
    "{prefix}/local/lib/python{version}/dist-packages",
    "{prefix}/lib/python3/dist-packages",
)


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
    path = next(
        filter(None, (find_program(tree, n, environ.get("PATH", "")) for n in _NAMES)),
        None,
    )
    if path is None:
        return None
    own = _split(environ.get("PYTHONPATH", ""))
    prefix = posixpath.dirname(posixpath.dirname(path))
    settings = _settings(tree.text(f"{prefix}/pyvenv.cfg", 1 << 16) or "")
    if settings:
        version = _short(settings.get("version", settings.get("version_info", "")))
        version = version or _version_of(tree, prefix)
        sites = [*own, *_sites(tree, prefix, version)]
        home = settings.get("home", "")
        if settings.get("include-system-site-packages", "") == "true" and home:
            sites += _sites(tree, posixpath.dirname(home.rstrip("/")), version)
        return Python(path, version, "venv", tuple(dict.fromkeys(sites)))
    real = tree.resolve(path) or path
    prefix = posixpath.dirname(posixpath.dirname(real))
    match = re.search(r"python(\d+\.\d+)[a-z]*$", real)
    version = match[1] if match else _version_of(tree, prefix)
    kind = "conda" if tree.look(f"{prefix}/conda-meta") else ""
    found = [*own, *_sites(tree, prefix, version)]
    return Python(path, version, kind, tuple(dict.fromkeys(found)))


def order_sites(tree: Tree, python: Python | None, others: Sequence[str]) -> list[str]:
    """Return all folders of packages; those of *python* first.

    Args:
        tree: the image.
        python: that PATH finds.
        others: patterns of folders that it need not look into.
    """
    found = list(python.sites) if python else []
    for pattern in others:
        found += tree.glob(pattern)
    seen: dict[str, str] = {}  # a folder may have two names
    for each in found:
        seen.setdefault(tree.resolve(each) or each, each)
    return list(seen.values())


def distributions(tree: Tree, site: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, version and path of what is installed in *site*, names as pip has them.

    >>> from envcfg.image.folder import FolderTree
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
    places = [each.format(prefix=prefix, version=version) for each in _SITES]
    return [each for each in places if tree.look(each) is not None]


def _settings(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def _version_of(tree: Tree, prefix: str) -> str:
    for path in tree.glob(f"{prefix}/lib/python3.*"):
        if match := re.fullmatch(r"python(\d+\.\d+)", posixpath.basename(path)):
            return match[1]
    return ""


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _split(path: str) -> list[str]:
    return [each.rstrip("/") for each in path.split(":") if each.startswith("/")]
