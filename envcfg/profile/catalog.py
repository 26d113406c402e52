"""Find profiles: layers of folders, families, and the profile of this system.

A profile in a higher layer overrides the profile of the same name below it, entry by
entry. Order, lowest first: built-in, site, user, project. ``LAYER:NAME`` is the profile
without the layers above that one.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, Literal, NoReturn, TypeAlias

from envcfg.common.cache import remember
from envcfg.common.datafile import is_data, read_data, stamp
from envcfg.common.errors import ProfileError
from envcfg.common.findings import NOWHERE, Finding, Place
from envcfg.common.provenance import sha256_of
from envcfg.profile.folders import listed, shown
from envcfg.profile.profile_model import ChosenKind, Layer, Profile
from envcfg.profile.words import (
    LAYERS,
    PROFILE_NAME,
    is_profile_path,
    split_kind,
    split_layer,
)

# The treatment of a file that other users may have written: use it, raise an error,
# leave it out with a note, or use it with a note.
Policy: TypeAlias = Literal["accept", "refuse", "leave out", "show"]


class Catalog:
    """The profiles of some folders, lowest layer first; a file is read when it is
    needed."""

    def __init__(
        self,
        folders: Sequence[str],
        *,
        policy: Policy = "accept",
        writable: bool = False,
        strangers: Sequence[str] = (),
        here: Callable[["Catalog"], str] | None = None,
    ) -> None:
        """Read profiles in *folders*, some of which may be missing.

        Args:
            folders: by layer; the first folder counts, whoever owns it.
            policy: the treatment of files that other users may have written.
            writable: members of the user's groups may write the files.
            strangers: project folders that were ignored because other users own them.
            here: returns the name of this cluster's own profile, and makes it if
                necessary.
        """
        self.folders = folders
        self.policy = policy
        self.writable = writable
        self.strangers = strangers
        self.here = here
        self.ignored: dict[str, Finding] = {}  # by path of the ignored file
        self.refused: dict[str, Finding] = {}  # by path that others may write
        self._read: dict[str, bytes] = {}
        self._merged: dict[tuple[str, ...], Profile] = {}

    def names(self) -> list[str]:
        """Return the names of all profiles, sorted."""
        files = {name for folder in self.folders for name in listed(folder)}
        names = (name[:-5] for name in files if name.endswith(".yaml"))
        # A file in a stranger's folder has a name but no usable file, so it is left
        # out.
        return sorted(name for name in names if self._files(name))

    def misnamed(self) -> list[str]:
        """Return the files with invalid profile names, which are never used."""
        return [
            os.path.join(folder, name)
            # Built-in files are tested when envcfg is built, so only the other
            # folders are checked.
            for folder in self.folders[1:]
            for name in sorted(listed(folder))
            if name.endswith(".yaml") and not PROFILE_NAME.fullmatch(name[:-5])
        ]

    def load(self, name: str) -> Profile:
        """Return the profile *name*, or that of the file *name*, families included.

        A system with several kinds of nodes has the chosen kind laid over the rest:
        that of ``NAME/KIND``, otherwise the first.

        Raises:
            UsageError: if there is none.
            ProfileError: with all problems of all files that it needs.
        """
        whole, (name, kind) = name, split_kind(name)
        try:
            # The chain begins with the profile itself; merging must begin with the
            # most general family.
            *families, lowest = map(
                self._merge, self._chain(self.files(name), self._top(name))
            )
            profile = reduce(
                lambda below, above: above.over(below), families[::-1], lowest
            )
            if not (kind or profile.nodes):
                return profile
            from envcfg.profile.node_kinds import lay_kind, with_kinds

            profile = with_kinds(profile)
            chosen = ChosenKind(kind, f"--profile {whole}")
            return lay_kind(profile, chosen) if kind else profile
        except ProfileError as err:
            # The hint is only useful if the broken file has the name of a working
            # built-in profile.
            if is_data(os.path.join(self.folders[0], f"{split_layer(name)[1]}.yaml")):
                from envcfg.profile.naming import name_built_in

                name_built_in(err, split_layer(name)[1])
            raise

    def own(self, name: str) -> Profile:
        """Return the content of the files of this name, without the families."""
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
        name, _ = split_kind(name)
        if is_profile_path(name):
            if not os.path.isfile(name):
                from envcfg.profile.naming import no_profile_file

                raise no_profile_file(name, self.names())
            return [name]
        name = self.resolve_name(name)
        layer, rest = split_layer(name)
        top = self._top(name)
        files = self._files(rest, top)
        if not files or (layer and layer not in self._layers_of(files, top)):
            from envcfg.profile.naming import unknown_profile

            # The suggestions need the names of all profiles, which is slow.
            remaining = [n for n in self.names() if n != rest]
            raise unknown_profile(name, remaining, self._layers_of(self._files(rest)))
        return files

    def resolve_name(self, name: str) -> str:
        """Return the name of a profile; ``here`` means the profile of this cluster."""
        begin, *kind = name.split("/", 1)
        # A real file named here.yaml wins, because the user wrote it.
        is_here = begin == "here" and self.here and not self._files(begin)
        return "/".join([self.here(self), *kind]) if is_here and self.here else name

    def qualified(self, name: str) -> str:
        """Return *name* with its highest layer, if other layers could change the
        result.

        The qualified name gives the same profile in the job's folder, which may have
        other layers. A built-in profile and a file need no qualification.
        """
        name = self.resolve_name(name)
        if is_profile_path(name) or split_layer(name)[0]:
            return name
        # A kind of node does not change the layers.
        *_, highest = (LAYERS[0], *self._layers_of(self.files(name)))
        return name if highest == LAYERS[0] else f"{highest}:{name}"

    def leave_out_project(self, name: str, *, is_projects: bool) -> str | None:
        """Leave out the project's layer; return its file of this name, if any.

        Args:
            is_projects: a file of the project names the profile, so that a path is the
                project's file too.
        """
        name, _ = split_kind(name)
        path = name if is_projects and is_profile_path(name) else None
        layer, rest = ("-", "") if is_profile_path(name) else split_layer(name)
        if layer in {"", LAYERS[-1]}:
            own = [
                file
                for file in self._files(rest)
                if os.path.dirname(file) in self.folders[3:]
            ]
            path = own[0] if own else None
        self.folders, self.strangers = self.folders[:3], ()
        return path

    def layer_folders(self) -> dict[str, str]:
        """Return the folder of each layer that is there, the lowest first."""
        return dict(zip(LAYERS, self.folders, strict=False))

    def _layers_of(self, files: Sequence[str], top: int | None = None) -> list[str]:
        """Return the layers that supply *files* and their families."""
        chain = self._chain(files, top) if files else []
        used = {os.path.dirname(path) for group in chain for path in group}
        return [name for name, path in self.layer_folders().items() if path in used]

    def _top(self, name: str) -> int | None:
        """Return the number of folders to search for this name; None: all of them."""
        layer = "" if is_profile_path(name) else split_layer(name)[0]
        if not layer:
            return None
        folder = self.layer_folders().get(layer)
        # An unknown layer has no folders, so nothing is found and the caller
        # reports the name.
        return self.folders.index(folder) + 1 if folder else 0

    def over_built_in(self) -> list[str]:
        """Return the files loaded so far that override a built-in one."""
        return [
            path
            for path in self._read
            if os.path.dirname(path) in self.folders[1:]
            and os.path.join(self.folders[0], os.path.basename(path)) in self._read
        ]

    def project_files(self) -> list[str]:
        """Return the files read so far that no other layer holds."""
        return [
            path for path in self._read if os.path.dirname(path) not in self.folders[:3]
        ]

    def files_read(self) -> list[str]:
        """Return the names of all files read so far."""
        return list(self._read)

    def digest(self) -> str:
        """Return the SHA-256 over all files read so far, hexadecimal."""
        return sha256_of(b"\0".join(self._read.values()))

    def read(self, path: str) -> bytes:
        """Return the content of a file, if its users allow it.

        Raises:
            OSError: it cannot be read.
            ProfileError: other users may have written it.
        """
        # Built-in files belong to the installation, which the user already trusts
        # by running it.
        if self.policy == "accept" or os.path.dirname(path) == self.folders[0]:
            return read_data(path)
        from envcfg.profile.guard import examine, refuse

        real, data, doubt = examine(path, site=self.folders[1], writable=self.writable)
        if doubt:
            problem = refuse(doubt, real, shown(path))
            if self.policy != "show":
                raise problem
            # One note is enough for all files in a folder that others may write.
            cause = doubt.entries[-1].path
            self.refused.setdefault(cause, problem.findings[0])
        return data

    def _files(self, name: str, top: int | None = None) -> list[str]:
        """Return the files of this name in the first *top* folders, or in all."""
        # The pattern also keeps a name such as ../x out of the paths.
        if not PROFILE_NAME.fullmatch(name):
            return []
        files = []
        for folder in (*self.folders[:top], *self.strangers):
            path = os.path.join(folder, f"{name}.yaml")
            if not is_data(path):
                continue
            if note := self._left_out(path, folder):
                self.ignored[note.subject] = note
                continue
            files.append(path)
        return files

    def _left_out(self, path: str, folder: str) -> Finding | None:
        """Return the note on a file of a layer that is left out; None if it counts."""
        if self.policy == "accept" or folder == self.folders[0]:
            return None
        from envcfg.profile.guard import as_note, examine, ignored, refuse

        # The site's files may have any owner at the site.
        if folder != self.folders[1] and (note := ignored(path, folder)):
            return note
        if self.policy != "leave out":
            return None
        try:
            real, _, doubt = examine(path, site=self.folders[1], writable=self.writable)
        except OSError:  # its reader reports it
            return None
        if doubt is None:
            return None
        (finding,) = refuse(doubt, real, path).findings
        return as_note(finding, "the file is left out")

    def _chain(self, files: Sequence[str], top: int | None) -> list[Sequence[str]]:
        """Return the files of a profile, of its family, of the family's family and so
        on.

        Args:
            top: the number of folders to search for families; None: all.
        """
        chain = [files]
        while parent := self._merge(chain[-1]).extends:
            layer, name = split_layer(parent.name)
            # A family may restrict itself to a lower layer, but never reach above
            # the requested one.
            if layer and ((own_top := self._top(parent.name)) or 0) <= (top or 99):
                top = own_top
            own, above = chain[-1], self._files(name, top)
            if above in ([], own):
                from envcfg.profile.naming import no_parent

                problem = no_parent(parent.name, own, self.names())
                _fail(parent.place, "extends", *problem)
            # Files are compared, not names: a user's file may extend the built-in
            # profile of its own name.
            tops = [group[-1] for group in chain]
            if above[-1] in tops:
                names = [os.path.basename(path)[:-5] for path in (*tops, above[-1])]
                message = (
                    f"profiles extend each other in a circle: {' -> '.join(names)}"
                )
                _fail(parent.place, "extends", message)
            chain.append(above)
        return chain

    def _merge(self, files: Sequence[str]) -> Profile:
        if tuple(files) in self._merged:
            return self._merged[tuple(files)]
        # Imported late: YAML takes longer than everything else here, and listing
        # names needs none.
        from envcfg.profile.read.profile_loader import load_profile

        merged: Profile | None = None
        problems: list[Finding] = []
        for path in files:
            data = self._bytes(path)
            folder, name = os.path.split(path)
            stem, end = os.path.splitext(name)
            # Only built-in profiles are cached. Other files may change in the same
            # second, with the same size.
            is_kept = [folder] == [*self.folders[:1]] and end == ".yaml"
            composer = partial(_compose_once, stem) if is_kept else None
            layer = load_profile(
                data, path=shown(path), stem=stem, problems=problems, compose=composer
            )
            if layer is not None:
                merged = layer.over(merged) if merged else layer
        if problems or merged is None:
            # A fixed order makes the messages independent of the order of the
            # layers.
            raise ProfileError(
                sorted(problems, key=lambda finding: (finding.place or NOWHERE)[1:])
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


def _compose_once(name: str, text: str) -> Any:  # noqa: ANN401  # nodes
    """Return the nodes of a built-in profile from a cache, because YAML takes the
    longest."""
    # The key contains the readers' own date, because a new reader may build other
    # nodes.
    key = [sha256_of(text.encode()), *stamp(f"{os.path.dirname(__file__)}/read")]

    def make() -> Any:  # noqa: ANN401  # nodes
        from envcfg.profile.read.yaml_text import compose

        return compose(text)

    return remember(f"profiles/{name}", key, make)


def _fail(place: Place, key: str, message: str, hint: str | None = None) -> NoReturn:
    from envcfg.profile.read.yaml_nodes import invalid

    raise ProfileError([invalid(place, key, message, hint)])
