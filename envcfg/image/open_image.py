"""Open an image by its name, in any form: its bytes decide, not its suffix."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

from envcfg.common.datafile import load_yaml
from envcfg.common.errors import ImageError
from envcfg.common.foreign_data import mapping
from envcfg.image import sif
from envcfg.image.bounded_file import BoundedFile, DamageError, FormError
from envcfg.image.image_record import Metadata
from envcfg.image.metadata import complete, parse_object, variables, words
from envcfg.image.podman_store import open_stored_image, stores
from envcfg.image.squashfs import SquashTree
from envcfg.image.squashfs_blocks import MAGIC as SQUASHFS
from envcfg.image.tree import MOST_BYTES, FolderTree, Tree

_READ = "can you read it?"
_SUFFIXES = (".sif", ".simg", ".img", ".sqfs", ".sqsh", ".squashfs", ".tar")
_LAUNCH = b"#!/usr/bin/env run-singularity\n"  # precedes the squashfs of Singularity 2
_HEAD = 2048  # bytes that identify a file
_TAR_AT, _TAR = 257, b"ustar"
_MOST_MEMBERS = 500  # entries of an archive that are searched
_BY_ENROOT = ("dockerd", "podman")  # schemes that only enroot fetches
_REFERENCES = re.compile(
    "docker-archive|oci-archive|oci|docker-daemon|containers-storage"
)


@contextmanager
def open_image(
    name: str, *, program: str | None = None
) -> Iterator[tuple[Tree, Metadata]]:
    """Open the image *name* to read its files, until the context ends.

    Args:
        name: a path of a SIF, a squashfs, a folder or a bundle; or the name of an image
            in a store of Podman or podman-hpc.
        program: the runtime's, ``apptainer``; used only for images that envcfg cannot
            read. The tree then raises OSError for every path.

    Raises:
        ImageError: the image does not exist or cannot be read. Damage inside raises
            OSError with a readable message when it is read.
    """
    with ExitStack() as stack:
        try:
            tree, metadata = _open(name, program, stack)
            if not isinstance(tree, ClosedTree):
                metadata = complete(metadata, tree)
        except FormError as err:
            msg = f"{name}: {err}"
            raise ImageError(msg, hint=err.hint) from err
        except OSError as err:
            msg = f"{name}: {err.strerror or err}"
            raise ImageError(msg, hint=_READ) from err
        yield tree, metadata


class ClosedTree(Tree):
    """The files of an image that only its runtime can open."""

    is_closed = True

    def __init__(self, why: FormError) -> None:
        """Raise *why* for every path."""
        self._why = why

    def entry(self, path: str) -> NoReturn:
        """See ``Tree``."""
        msg = f"{path} cannot be read: {self._why}"
        raise FormError(msg, self._why.hint)

    children = open_entry = entry


def _open(name: str, program: str | None, stack: ExitStack) -> tuple[Tree, Metadata]:
    puller = program or "apptainer"
    try:
        status = os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return _open_name(name, puller, stack)
    except ValueError as err:  # a NUL byte in the name
        raise FormError(str(err), _READ) from err
    if stat.S_ISDIR(status.st_mode):
        return _open_folder(name, puller)
    if not stat.S_ISREG(status.st_mode):
        special_files = _unsupported()["special"]
        kind = special_files.get(f"{stat.S_IFMT(status.st_mode):o}", "no file")
        raise FormError(f"{kind}, not an image", "give a file or a folder")  # noqa: EM102
    # The descriptor stays open, so that the file cannot be replaced while it is
    # read.
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return _open_file(name, program, descriptor)


def _open_file(
    name: str, program: str | None, descriptor: int
) -> tuple[Tree, Metadata]:
    file = BoundedFile(descriptor)
    head = file.read_at(0, min(file.size, _HEAD))
    if head.startswith(sif.MAGIC, sif.MAGIC_AT):
        try:
            return sif.read_sif(file)
        except FormError as err:
            if program is None:
                raise
            from envcfg.image.runtime_query import inspect_by_runtime

            if (metadata := inspect_by_runtime(name, program)) is None:
                raise
            return ClosedTree(err), metadata._replace(unread=(str(err),))
    start = len(_LAUNCH) if head.startswith(_LAUNCH) else 0
    if head.startswith(SQUASHFS, start):
        return SquashTree(file.part(start, file.size - start)), Metadata("squashfs")
    raise _recognise(descriptor, head, name, program or "apptainer")


def _open_name(name: str, puller: str, stack: ExitStack) -> tuple[Tree, Metadata]:
    """Open an image in a store of Podman; URIs are never fetched."""
    scheme, colon, rest = name.partition(":")
    command, file = f"{puller} pull image.sif {name}", "image.sif"
    if scheme in _BY_ENROOT:
        command, file = f"enroot import -o image.sqsh {name}", "image.sqsh"
    hint = f"fetch it: {command}, then give {file}"
    is_archive = colon and _REFERENCES.fullmatch(scheme)
    if is_archive:
        hint = f"make one: {puller} build image.sif {name}, then give image.sif"
    if is_archive or rest.startswith("//"):
        raise FormError("a reference, not a file", hint)  # noqa: EM101
    # Such names are clearly paths, so the stores of Podman are not searched.
    if not name or name.startswith(("/", ".", "~")) or name.endswith(_SUFFIXES):
        raise FormError("no such file or folder", "look at the path with ls")  # noqa: EM101
    stored = open_stored_image(name, stack)
    if stored is not None:
        return stored
    looked = ", ".join(stores()) or "there is none"
    msg = f"no such file, and no such image in the stores of Podman ({looked})"
    raise FormError(msg, f"give a path, or fetch it: podman pull {name}")


def _open_folder(name: str, puller: str) -> tuple[Tree, Metadata]:
    """Open a sandbox, or the root of an OCI bundle."""
    names = set(os.listdir(name))
    if not names:
        raise FormError("an empty folder", "build or unpack it once more")  # noqa: EM101
    if {"oci-layout", "index.json"} <= names:
        message = "an OCI layout, whose layers are archives"
        hint = f"make an image of it: {puller} build image.sif oci:{name}"
        raise FormError(message, hint)
    if {"config.json", "rootfs"} <= names:
        # OCI runtime-spec 1.1
        config = FolderTree(name).text("/config.json", MOST_BYTES) or ""
        process = mapping(parse_object(config).get("process"))
        environment, starts = variables(process.get("env")), words(process.get("args"))
        metadata = Metadata("folder", environment=environment, starts=starts)
        return FolderTree(os.path.join(name, "rootfs")), metadata
    return FolderTree(name), Metadata("folder")


def _unsupported() -> Any:  # noqa: ANN401  # an own data file
    return load_yaml("image/unsupported_formats.yaml")


def _recognise(descriptor: int, head: bytes, path: str, program: str) -> FormError:
    """Return the error for the file *path*, which begins with *head* and is not an
    image."""
    if not head:
        return FormError("an empty file", "build or copy it once more")
    formats = _unsupported()
    for file in formats["files"]:
        if head.startswith(file["magic"].encode("latin-1"), file.get("at", 0)):
            kind = DamageError if file.get("text") else FormError
            return kind(file["what"], file.get("hint", formats["any"]))
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return _archive(descriptor, path, program)
    if not set(head) & set(range(9)):
        from envcfg.image.recipe import recipe_kind

        if recipe_kind(head.decode("latin-1")):
            hint = f"envcfg inspect {path} shows what the image will have"
            return DamageError("a recipe, which must be built first", hint)
        return DamageError("a text", formats["any"])
    return FormError("no image of a form that is known", formats["any"])


def _archive(descriptor: int, path: str, program: str) -> FormError:
    names = set(_members(descriptor))
    if "oci-layout" in names:
        scheme, of = "oci-archive", "an OCI image"
    elif "manifest.json" in names:
        scheme, of = "docker-archive", "docker save"
    else:
        return FormError("a tar archive", "unpack it, and give the folder")
    command = f"make an image of it: {program} build image.sif {scheme}:{path}"
    hint = f"{command}, or podman load -i {path}, and give its name"
    return FormError(f"an archive of {of} ({scheme})", hint)


def _members(descriptor: int) -> Iterator[str]:
    """Yield the names in a tar archive, going from header to header."""
    position = 0
    for _ in range(_MOST_MEMBERS):
        header = os.pread(descriptor, 512, position)
        size = header[124:136].rstrip(b"\0 ")
        if len(header) < 512 or not size.isdigit():
            return
        yield header[:100].rstrip(b"\0").decode(errors="replace").removeprefix("./")
        try:
            position += 512 + -(-int(size, 8) // 512) * 512
        except ValueError:
            return
