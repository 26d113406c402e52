"""The profiles there are: layers of folders, families, and which one fits here.

A profile of the same name in a higher layer is laid over the one below it, entry by
entry. Order, lowest first: built-in, site, user, project.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from envcfg.digest import sha256_of
from envcfg.errors import Place, Problem, ProfileError, UsageError, suggest
from envcfg.profile.loader import load_profile
from envcfg.profile.model import Parent, Profile

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Catalog:
    """The profiles of some folders, lowest layer first; files are read when asked for."""

    def __init__(self, folders: Sequence[str]) -> None:
        """Look into *folders*, some of which may not exist."""
        self.folders = folders
        self.broken: list[str] = []  # files that ``detect`` could not use
        self._read: dict[str, bytes] = {}

    def names(self) -> list[str]:
        """Return the names of all profiles, sorted."""
        found: set[str] = set()
        for folder in self.folders:
            found |= {n[:-5] for n in _list(folder) if n.endswith(".yaml")}
        return sorted(name for name in found if self._files(name))

    def load(self, name: str) -> Profile:
        """Return the profile *name*, or that of the file *name*, families included.

        Raises:
            UsageError: if there is none.
            ProfileError: with all problems of all files that it needs.
        """
        if "/" in name or name.endswith((".yaml", ".yml")):
            if not os.path.isfile(name):
                msg = f"--profile {name}: no such file"
                raise UsageError(msg, hint="a name without / and .yaml is looked up")
            return self._resolve([name], ())
        files = self._files(name)
        if not files:
            msg = f"unknown profile {name!r}"
            raise UsageError(msg, hint=suggest(name, self.names()))
        return self._resolve(files, ())

    def digest(self) -> str:
        """Return the SHA-256 over all files read so far, hexadecimal."""
        return sha256_of(b"\0".join(self._read.values()))

    def detect(self, cluster: str | None, host: str) -> str | None:
        """Return the name of the one profile that knows this cluster or host, or None.

        Files that cannot be used are passed over and named in ``broken``.

        Raises:
            UsageError: if two profiles do.
        """
        found = []
        for name in self.names():
            try:
                known = self._merge(self._files(name)).detect
            except (
                ProfileError
            ) as err:  # another's mistake; it is said, and not in the way
                self.broken.append(err.problems[0].place.path)
                continue
            if known is None:
                continue
            by_cluster = cluster is not None and _matches(cluster, known.clusters)
            if by_cluster or (cluster is None and _matches(host, known.hosts)):
                found.append(name)
        self._read.clear()
        if len(found) > 1:
            msg = f"{' and '.join(found)} both claim cluster {cluster}, host {host}"
            raise UsageError(msg, hint="choose one with --profile")
        return found[0] if found else None

    def _files(self, name: str) -> list[str]:
        paths = [os.path.join(folder, f"{name}.yaml") for folder in self.folders]
        return [path for path in paths if os.path.isfile(path)]

    def _resolve(self, files: Sequence[str], below: tuple[str, ...]) -> Profile:
        profile = self._merge(files)
        parent = profile.extends
        if parent is None:
            return profile
        above = self._files(parent.name)
        if not above:
            hint = suggest(parent.name, self.names())
            _fail(parent, f"unknown profile {parent.name[:80]!r}", hint)
        # Files, not names: a file of one's own may extend the profile whose name it has.
        chain = (*below, files[-1])
        if above[-1] in chain:
            names = [os.path.basename(path)[:-5] for path in (*chain, above[-1])]
            circle = " -> ".join(names)
            _fail(parent, f"profiles extend each other in a circle: {circle}", None)
        return profile.over(self._resolve(above, chain))

    def _merge(self, files: Sequence[str]) -> Profile:
        problems: list[Problem] = []
        merged: Profile | None = None
        for path in files:
            data = self._bytes(path)
            stem = os.path.splitext(os.path.basename(path))[0]
            layer = load_profile(data, path=_shown(path), stem=stem, problems=problems)
            if layer is not None:
                merged = layer.over(merged) if merged else layer
        if problems or merged is None:
            raise ProfileError(
                sorted(problems, key=lambda p: (p.place.line, p.place.column))
            )
        return merged

    def _bytes(self, path: str) -> bytes:
        if path not in self._read:
            try:
                with open(path, "rb") as file:
                    self._read[path] = file.read()
            except OSError as err:
                place = Place(path=_shown(path), line=1)
                message = f"cannot be read: {err.strerror}"
                raise ProfileError(
                    [Problem(place=place, key="", message=message)]
                ) from err
        return self._read[path]


def profile_folders(environ: Mapping[str, str], start: str) -> list[str]:
    """Return the folders of the layers, lowest first; not all need exist.

    Args:
        environ: read for ``ENVCFG_SITE`` (default ``/etc/envcfg``), ``XDG_CONFIG_HOME``
            and ``HOME``.
        start: where the project layer is looked for: here or in the nearest folder above
            that has ``.envcfg``.
    """
    home = environ.get("HOME", "/nonexistent")
    user = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    site = environ.get("ENVCFG_SITE") or "/etc/envcfg"
    folders = [built_in_folder(), f"{site}/profiles", f"{user}/envcfg/profiles"]
    folder = os.path.abspath(start)
    while not os.path.isdir(f"{folder}/.envcfg"):
        if folder == os.path.dirname(folder):
            return folders
        folder = os.path.dirname(folder)
    return [*folders, f"{folder}/.envcfg/profiles"]


def built_in_folder() -> str:
    """Return the folder of the profiles that come with envcfg."""
    installed = f"{_PACKAGE}/profiles"
    return (
        installed
        if os.path.isdir(installed)
        else f"{os.path.dirname(_PACKAGE)}/profiles"
    )


def _shown(path: str) -> str:
    """Return how messages and comments name a file; built-in ones the same everywhere."""
    folder, name = os.path.split(path)
    return f"profiles/{name}" if folder == built_in_folder() else path


def _list(folder: str) -> list[str]:
    """Return what is in a folder; nothing where it is absent or closed to us."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _matches(text: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def _fail(parent: Parent, message: str, hint: str | None) -> None:
    raise ProfileError(
        [Problem(place=parent.place, key="extends", message=message, hint=hint)]
    )
