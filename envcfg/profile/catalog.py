"""The profiles there are: layers of folders, families, and which one fits here.

A profile of the same name in a higher layer is laid over the one below it, entry by
entry. Order, lowest first: built-in, site, user, project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from envcfg.errors import Place, Problem, ProfileError, UsageError, suggest
from envcfg.profile.loader import load_profile
from envcfg.profile.model import Parent, Profile

_PACKAGE = Path(__file__).parent.parent


@dataclass(slots=True)
class Catalog:
    """The profiles of some folders, lowest layer first; files are read when asked for."""

    folders: Sequence[Path]
    _read: dict[Path, bytes] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return the names of all profiles, sorted."""
        found = {path.stem for each in self.folders for path in each.glob("*.yaml")}
        return sorted(found)

    def load(self, name: str) -> Profile:
        """Return the profile *name*, or that of the file *name*, families included.

        Raises:
            UsageError: if there is none.
            ProfileError: with all problems of all files that it needs.
        """
        if "/" in name or name.endswith((".yaml", ".yml")):
            path = Path(name)
            if not path.is_file():
                msg = f"--profile {name}: no such file"
                raise UsageError(msg, hint="a name without / and .yaml is looked up")
            return self._resolve([path], ())
        files = self._files(name)
        if not files:
            msg = f"unknown profile {name!r}"
            raise UsageError(msg, hint=suggest(name, self.names()))
        return self._resolve(files, ())

    def digest(self) -> str:
        """Return the SHA-256 over all files read so far, hexadecimal."""
        from hashlib import sha256

        return sha256(b"\0".join(self._read.values())).hexdigest()

    def detect(self, cluster: str | None, host: str) -> str | None:
        """Return the name of the one profile that knows this cluster or host, or None.

        Raises:
            UsageError: if two profiles do.
        """
        found = []
        for name in self.names():
            profile = self._merge(self._files(name))
            known = profile.detect
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

    def _files(self, name: str) -> list[Path]:
        paths = [folder / f"{name}.yaml" for folder in self.folders]
        return [path for path in paths if path.is_file()]

    def _resolve(self, files: Sequence[Path], path: tuple[str, ...]) -> Profile:
        profile = self._merge(files)
        parent = profile.extends
        if parent is None:
            return profile
        chain = (*path, profile.name)
        if parent.name in chain:
            circle = " -> ".join((*chain, parent.name))
            _fail(parent, f"profiles extend each other in a circle: {circle}", None)
        above = self._files(parent.name)
        if not above:
            hint = suggest(parent.name, self.names())
            _fail(parent, f"unknown profile {parent.name!r}", hint)
        return profile.over(self._resolve(above, chain))

    def _merge(self, files: Sequence[Path]) -> Profile:
        problems: list[Problem] = []
        merged: Profile | None = None
        for path in files:
            data = self._bytes(path)
            layer = load_profile(
                data, path=_shown(path), stem=path.stem, problems=problems
            )
            if layer is not None:
                merged = layer.over(merged) if merged else layer
        if problems or merged is None:
            raise ProfileError(
                sorted(problems, key=lambda p: (p.place.line, p.place.column))
            )
        return merged

    def _bytes(self, path: Path) -> bytes:
        if path not in self._read:
            try:
                self._read[path] = path.read_bytes()
            except OSError as err:
                place = Place(path=_shown(path), line=1)
                message = f"cannot be read: {err.strerror}"
                raise ProfileError(
                    [Problem(place=place, key="", message=message)]
                ) from err
        return self._read[path]


def profile_folders(environ: Mapping[str, str], start: Path) -> list[Path]:
    """Return the folders of the layers, lowest first.

    Args:
        environ: read for ``ENVCFG_SITE`` (default ``/etc/envcfg``), ``XDG_CONFIG_HOME``
            and ``HOME``.
        start: where the project layer is looked for: here or in the nearest folder above
            that has ``.envcfg``.
    """
    home = environ.get("HOME", "/nonexistent")
    user = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    folders = [
        built_in_folder(),
        Path(environ.get("ENVCFG_SITE") or "/etc/envcfg") / "profiles",
        Path(user) / "envcfg" / "profiles",
    ]
    for folder in (start, *start.parents):
        if (folder / ".envcfg").is_dir():
            folders.append(folder / ".envcfg" / "profiles")
            break
    return folders


def built_in_folder() -> Path:
    """Return the folder of the profiles that come with envcfg."""
    installed = _PACKAGE / "profiles"
    return installed if installed.is_dir() else _PACKAGE.parent / "profiles"


def _shown(path: Path) -> str:
    """Return how messages and comments name a file; built-in ones the same everywhere."""
    return f"profiles/{path.name}" if path.parent == built_in_folder() else str(path)


def _matches(text: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def _fail(parent: Parent, message: str, hint: str | None) -> None:
    raise ProfileError(
        [Problem(place=parent.place, key="extends", message=message, hint=hint)]
    )
