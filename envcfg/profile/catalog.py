"""The profiles there are: layers of folders, families, and which one fits here.

A profile of the same name in a higher layer is laid over the one below it, entry by
entry. Order, lowest first: built-in, site, added (from elsewhere, by the user), user,
project.
"""

import os.path
from collections.abc import Collection, Sequence
from typing import NamedTuple, NoReturn

from envcfg.datafile import is_data, read_data
from envcfg.digest import sha256_of
from envcfg.errors import ProfileError
from envcfg.findings import NOWHERE, Finding, Place
from envcfg.profile.folders import listed, shown
from envcfg.profile.model import Parent, Profile
from envcfg.profile.words import PROFILE_NAME


class Layer(NamedTuple):
    """One file of those that make a profile.

    Attributes:
        path: as messages name it.
        data: the file's bytes.
        profile: what this file alone says.
    """

    path: str
    data: bytes
    profile: Profile


class Catalog:
    """The profiles of some folders, lowest layer first; files are read when asked for."""

    def __init__(
        self,
        folders: Sequence[str],
        *,
        records: str | None = None,
        enforce: bool = True,
        added: Collection[str] = (),
    ) -> None:
        """Look into *folders*, some of which may not exist.

        Args:
            folders: by layer; what is in the first one counts, whoever owns it.
            records: where the user's words on files of others are kept; None: nobody is
                asked, and every file counts.
            enforce: a file that does not count is an error; else it is read, and what
                would be said stands in ``refused``.
            added: those of *folders* that hold profiles from elsewhere.
        """
        self.folders = folders
        self.records = records
        self.enforce = enforce
        self.added = added
        self.refused: dict[str, Finding] = {}  # by the real path of each file
        self._read: dict[str, bytes] = {}
        self._merged: dict[tuple[str, ...], Profile] = {}

    def names(self) -> list[str]:
        """Return the names of all profiles, sorted."""
        found: set[str] = set()
        for folder in self.folders:
            found |= {n[:-5] for n in listed(folder) if n.endswith(".yaml")}
        return sorted(name for name in found if self._files(name))

    def misnamed(self) -> list[str]:
        """Return the files whose names are none of profiles, so that they never count."""
        return [
            os.path.join(folder, name)
            for folder in self.folders[1:]
            for name in sorted(listed(folder))
            if name.endswith(".yaml") and not PROFILE_NAME.fullmatch(name[:-5])
        ]

    def load(self, name: str) -> Profile:
        """Return the profile *name*, or that of the file *name*, families included.

        Raises:
            UsageError: if there is none.
            ProfileError: with all problems of all files that it needs.
        """
        return self._resolve(self.files(name))

    def own(self, name: str) -> Profile:
        """Return what the files of this name say, without the families."""
        return self._merge(self.files(name))

    def layers(self, name: str) -> list[Layer]:
        """Return the files that make a profile, the lowest of its families first."""
        chain = self._chain(self.files(name))
        return [
            Layer(shown(path), self._bytes(path), self._merge([path]))
            for files in reversed(chain)
            for path in files
        ]

    def files(self, name: str) -> list[str]:
        """Return the files of this name, lowest layer first.

        Raises:
            UsageError: if there is none.
        """
        if "/" in name or name.endswith((".yaml", ".yml")):
            if not os.path.isfile(name):
                from envcfg.profile.naming import no_profile_file

                raise no_profile_file(name, self.names())
            return [name]
        files = self._files(name)
        if not files:
            from envcfg.profile.naming import unknown_profile

            raise unknown_profile(name, self.names())
        return files

    def over_built_in(self) -> list[str]:
        """Return the files loaded so far that lie over a built-in one."""
        return [
            path
            for path in self._read
            if os.path.dirname(path) in self.folders[1:]
            and os.path.join(self.folders[0], os.path.basename(path)) in self._read
        ]

    def files_read(self) -> list[str]:
        """Return the names of all files read so far."""
        return list(self._read)

    def digest(self) -> str:
        """Return the SHA-256 over all files read so far, hexadecimal."""
        return sha256_of(b"\0".join(self._read.values()))

    def read(self, path: str) -> bytes:
        """Return what is in a file, if it counts.

        Raises:
            OSError: it cannot be read.
            ProfileError: others may have written it, and it is not trusted.
        """
        if self.records is None or os.path.dirname(path) == self.folders[0]:
            return read_data(path)
        from envcfg.profile.guard import examine, refusal

        found = examine(path, site=self.folders[1])
        if problem := refusal(found, shown(path), self.records):
            if self.enforce:
                raise ProfileError([problem])
            self.refused[found.real] = problem
        return found.data

    def _files(self, name: str) -> list[str]:
        if not PROFILE_NAME.fullmatch(name):
            return []
        paths = [os.path.join(folder, f"{name}.yaml") for folder in self.folders]
        return [path for path in paths if is_data(path)]

    def _resolve(self, files: Sequence[str]) -> Profile:
        made: Profile | None = None
        for each in reversed(self._chain(files)):
            profile = self._merge(each)
            made = profile.over(made) if made else profile
        if made is None:
            raise AssertionError
        return made

    def _chain(self, files: Sequence[str]) -> list[Sequence[str]]:
        """Return the files of a profile, of its family, of that one's family ..."""
        chain = [files]
        while parent := self._merge(chain[-1]).extends:
            own, above = chain[-1], self._files(parent.name)
            if above in ([], own):
                from envcfg.profile.naming import no_parent

                _fail(parent, *no_parent(parent.name, own, self.names()))
            # Files, not names: one's own file may extend the profile whose name it has.
            tops = [each[-1] for each in chain]
            if above[-1] in tops:
                names = [os.path.basename(path)[:-5] for path in (*tops, above[-1])]
                circle = " -> ".join(names)
                _fail(parent, f"profiles extend each other in a circle: {circle}", None)
            chain.append(above)
        return chain

    def _merge(self, files: Sequence[str]) -> Profile:
        if tuple(files) in self._merged:
            return self._merged[tuple(files)]
        # YAML takes longer than all else here, and names alone need none.
        from envcfg.profile.read.loader import load_profile

        problems: list[Finding] = []
        merged: Profile | None = None
        for path in files:
            data = self._bytes(path)
            stem = os.path.splitext(os.path.basename(path))[0]
            layer = load_profile(data, path=shown(path), stem=stem, problems=problems)
            if layer is not None:
                merged = layer.over(merged) if merged else layer
        if problems or merged is None:
            raise ProfileError(
                sorted(problems, key=lambda each: (each.place or NOWHERE)[1:])
            )
        self._merged[tuple(files)] = merged
        return merged

    def _bytes(self, path: str) -> bytes:
        if path not in self._read:
            try:
                self._read[path] = self.read(path)
            except OSError as err:
                from envcfg.profile.read.nodes import invalid

                place = Place(path=shown(path), line=1)
                message = f"cannot be read: {err.strerror}"
                raise ProfileError([invalid(place, "", message)]) from err
        return self._read[path]


def _fail(parent: Parent, message: str, hint: str | None) -> NoReturn:
    from envcfg.profile.read.nodes import invalid

    raise ProfileError([invalid(parent.place, "extends", message, hint)])
