"""The profiles there are: layers of folders, families, and which one fits here.

A profile of the same name in a higher layer is laid over the one below it, entry by
entry. Order, lowest first: built-in, site, user, project. ``LAYER:NAME`` is the profile
without the layers above that one.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NoReturn

from envcfg.cache import keep, kept_folder, recall
from envcfg.datafile import is_data, read_data, stamp
from envcfg.errors import ProfileError
from envcfg.findings import NOWHERE, Finding, Place
from envcfg.profile.folders import listed, shown
from envcfg.profile.model import Layer, Profile
from envcfg.profile.words import LAYERS, PROFILE_NAME, split_layer
from envcfg.provenance import sha256_of


class Catalog:
    """The profiles of some folders, lowest layer first; files are read when asked for."""

    def __init__(
        self,
        folders: Sequence[str],
        *,
        records: str | None = None,
        enforce: bool = True,
        strangers: Sequence[str] = (),
        here: Callable[["Catalog"], str] | None = None,
    ) -> None:
        """Look into *folders*, some of which may not exist.

        Args:
            folders: by layer; what is in the first one counts, whoever owns it.
            records: where the user's words on files of others are kept; None: nobody is
                asked, and every file counts.
            enforce: a file that does not count is an error; else it is read, and what
                would be said stands in ``refused``.
            strangers: folders that were passed over, as they are others'.
            here: the profile of this cluster that ``here`` names, made if there is none.
        """
        self.folders = folders
        self.records = records
        self.enforce = enforce
        self.strangers = strangers
        self.here = here
        self.ignored: dict[str, Finding] = {}  # by what is a stranger's
        self.refused: dict[str, Finding] = {}  # by the real path of each file
        self._read: dict[str, bytes] = {}
        self._merged: dict[tuple[str, ...], Profile] = {}

    def names(self) -> list[str]:
        """Return the names of all profiles, sorted."""
        files = {name for folder in self.folders for name in listed(folder)}
        names = (name[:-5] for name in files if name.endswith(".yaml"))
        return sorted(name for name in names if self._files(name))

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
        try:
            *families, lowest = map(
                self._merge, self._chain(self.files(name), self._top(name))
            )
            return reduce(lambda below, each: each.over(below), families[::-1], lowest)
        except ProfileError as err:
            if is_data(os.path.join(self.folders[0], f"{split_layer(name)[1]}.yaml")):
                from envcfg.profile.naming import with_built_in

                raise with_built_in(err, split_layer(name)[1]) from None
            raise

    def own(self, name: str) -> Profile:
        """Return what the files of this name say, without the families."""
        return self._merge(self.files(name))

    def layers(self, name: str) -> list[Layer]:
        """Return the files that make a profile, the lowest of its families first."""
        return [
            Layer(shown(path), self._bytes(path), self._merge([path]))
            for files in reversed(self._chain(self.files(name), self._top(name)))
            for path in files
        ]

    def files(self, name: str) -> list[str]:
        """Return the files of this name, lowest layer first.

        Raises:
            UsageError: if there is none.
        """
        if _is_path(name):
            if not os.path.isfile(name):
                from envcfg.profile.naming import no_profile_file

                raise no_profile_file(name, self.names())
            return [name]
        name = self.named(name)
        layer, rest = split_layer(name)
        top = self._top(name)
        files = self._files(rest, top)
        if not files or (layer and layer not in self._layers_of(files, top)):
            from envcfg.profile.naming import unknown_profile

            others = [n for n in self.names() if n != rest]
            raise unknown_profile(name, others, self._layers_of(self._files(rest)))
        return files

    def named(self, name: str) -> str:
        """Return the name of a profile: ``here`` stands for that of this cluster."""
        is_here = name == "here" and self.here and not self._files(name)
        return self.here(self) if is_here and self.here else name

    def qualified(self, name: str) -> str:
        """Return *name* with the highest layer that takes part, where that matters.

        It is what makes the same again where other layers may be: in the job's folder. What
        only built-in files make has no other name, and neither has a file.
        """
        name = self.named(name)
        if _is_path(name) or split_layer(name)[0]:
            return name
        *_, highest = (LAYERS[0], *self._layers_of(self.files(name)))
        return name if highest == LAYERS[0] else f"{highest}:{name}"

    def layer_folders(self) -> dict[str, str]:
        """Return the folder of each layer that is there, the lowest first."""
        return dict(zip(LAYERS, self.folders, strict=False))

    def _layers_of(self, files: Sequence[str], top: int | None = None) -> list[str]:
        """Return the layers that *files* and their families are of."""
        chain = self._chain(files, top) if files else []
        used = {os.path.dirname(path) for each in chain for path in each}
        return [name for name, path in self.layer_folders().items() if path in used]

    def _top(self, name: str) -> int | None:
        """Return how many folders there are for this name; None: all of them."""
        layer = "" if _is_path(name) else split_layer(name)[0]
        if not layer:
            return None
        folder = self.layer_folders().get(layer)
        return self.folders.index(folder) + 1 if folder else 0

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

    def _files(self, name: str, top: int | None = None) -> list[str]:
        """Return the files of this name in the first *top* folders, or in all."""
        if not PROFILE_NAME.fullmatch(name):
            return []
        found = []
        for folder in (*self.folders[:top], *self.strangers):
            path = os.path.join(folder, f"{name}.yaml")
            if not is_data(path):
                continue
            if self.records is not None and folder not in self.folders[:2]:
                from envcfg.profile.guard import ignored

                if note := ignored(path, folder):
                    self.ignored[note.subject] = note
                    continue
            found.append(path)
        return found

    def _chain(self, files: Sequence[str], top: int | None) -> list[Sequence[str]]:
        """Return the files of a profile, of its family, of that one's family ...

        Args:
            top: in how many folders families are looked for; None: in all.
        """
        chain = [files]
        while parent := self._merge(chain[-1]).extends:
            layer, name = split_layer(parent.name)
            if layer and ((own_top := self._top(parent.name)) or 0) <= (top or 99):
                top = own_top
            own, above = chain[-1], self._files(name, top)
            if above in ([], own):
                from envcfg.profile.naming import no_parent

                problem = no_parent(parent.name, own, self.names())
                _fail(parent.place, "extends", *problem)
            # Files, not names: one's own file may extend the profile whose name it has.
            tops = [each[-1] for each in chain]
            if above[-1] in tops:
                names = [os.path.basename(path)[:-5] for path in (*tops, above[-1])]
                said = f"profiles extend each other in a circle: {' -> '.join(names)}"
                _fail(parent.place, "extends", said)
            chain.append(above)
        return chain

    def _merge(self, files: Sequence[str]) -> Profile:
        if tuple(files) in self._merged:
            return self._merged[tuple(files)]
        # YAML takes longer than all else here, and names alone need none.
        from envcfg.profile.read.loader import load_profile

        kept = kept_folder(os.environ)
        merged: Profile | None = None
        problems: list[Finding] = []
        for path in files:
            data = self._bytes(path)
            folder, name = os.path.split(path)
            stem, end = os.path.splitext(name)
            is_kept = kept and [folder] == [*self.folders[:1]] and end == ".yaml"
            made = partial(_compose_once, f"{kept}/profiles", stem) if is_kept else None
            layer = load_profile(
                data, path=shown(path), stem=stem, problems=problems, compose=made
            )
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
                _fail(Place(shown(path), 1), "", f"cannot be read: {err.strerror}")
        return self._read[path]


def _compose_once(folder: str, name: str, text: str) -> Any:  # noqa: ANN401  # nodes
    """Return the nodes of a built-in profile, which are kept: YAML takes the longest."""
    key = [sha256_of(text.encode()), *stamp(f"{os.path.dirname(__file__)}/read")]
    node = recall(folder, name, key)
    if node is None:
        from envcfg.profile.read.yaml_text import compose

        node = compose(text)
        keep(folder, name, key, node)
    return node


def _is_path(name: str) -> bool:
    """Tell whether *name* is that of a file: builtin:a.yaml is none."""
    qualified = split_layer(name)[0] and "/" not in name
    return not qualified and ("/" in name or name.endswith((".yaml", ".yml")))


def _fail(place: Place, key: str, message: str, hint: str | None = None) -> NoReturn:
    from envcfg.profile.read.nodes import invalid

    raise ProfileError([invalid(place, key, message, hint)])
