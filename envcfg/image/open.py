"""An image by its name, whatever its form: its bytes show what it is, not its suffix."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NoReturn

from envcfg.errors import ImageError
from envcfg.image import sif, unsupported_formats
from envcfg.image.blocks import MAGIC as SQUASHFS
from envcfg.image.bounded_file import BoundedFile, FormError
from envcfg.image.metadata import complete, parse_object, variables, words
from envcfg.image.podman import open_stored_image, stores
from envcfg.image.record import Metadata
from envcfg.image.squashfs import SquashTree
from envcfg.image.tree import MOST_BYTES, FolderTree, Tree

_READ = "can you read it?"
_SUFFIXES = (".sif", ".simg", ".img", ".sqfs", ".sqsh", ".squashfs", ".tar")
_LAUNCH = b"#!/usr/bin/env run-singularity\n"  # before the squashfs of Singularity 2


@contextmanager
def open_image(
    name: str, *, program: str | None = None
) -> Iterator[tuple[Tree, Metadata]]:
    """Open the image *name* to read its files, until the context ends.

    Args:
        name: a path of a SIF, a squashfs, a folder or a bundle; or the name of an image
            in a store of Podman or podman-hpc.
        program: of the runtime, ``apptainer``; asked only for what is not read here, and
            then the tree raises OSError for every path.

    Raises:
        ImageError: there is no such image, or it cannot be read. What is damaged further
            in raises OSError, with words for people, where it is read.
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
    except ValueError as err:  # a NUL
        raise FormError(str(err), _READ) from err
    if stat.S_ISDIR(status.st_mode):
        return _open_folder(name, puller)
    if not stat.S_ISREG(status.st_mode):
        what = unsupported_formats.special(status.st_mode)
        raise FormError(f"{what}, not an image", "give a file or a folder")  # noqa: EM102
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return _open_file(name, program, descriptor)


def _open_file(
    name: str, program: str | None, descriptor: int
) -> tuple[Tree, Metadata]:
    file = BoundedFile(descriptor)
    head = file.read_at(0, min(file.size, unsupported_formats.HEAD))
    if head.startswith(sif.MAGIC, sif.MAGIC_AT):
        try:
            return sif.read_sif(file)
        except FormError as err:
            if program is None:
                raise
            from envcfg.image.runtime import inspect_by_runtime

            if (metadata := inspect_by_runtime(name, program)) is None:
                raise
            return ClosedTree(err), metadata._replace(unread=(str(err),))
    if head.startswith(SQUASHFS):
        return SquashTree(file), Metadata("squashfs")
    if head.startswith(_LAUNCH + SQUASHFS):
        start = len(_LAUNCH)
        return SquashTree(file.part(start, file.size - start)), Metadata("squashfs")
    raise unsupported_formats.recognise(descriptor, head, name, program or "apptainer")


def _open_name(name: str, puller: str, stack: ExitStack) -> tuple[Tree, Metadata]:
    if (found := unsupported_formats.reference(name, puller)) is not None:
        raise found
    if not name or name.startswith(("/", ".", "~")) or name.endswith(_SUFFIXES):
        raise FormError("no such file or folder", "look at the path with ls")  # noqa: EM101
    stored = open_stored_image(name, stack)
    if stored is not None:
        return stored
    looked = ", ".join(stores()) or "there is none"
    msg = f"no such file, and no such image in the stores of Podman ({looked})"
    hint = f"give a path, or fetch it: podman pull {name}"
    raise FormError(msg, hint)


def _open_folder(name: str, puller: str) -> tuple[Tree, Metadata]:
    """Open a sandbox, or the root of an OCI bundle."""
    names = set(os.listdir(name))
    if not names:
        raise FormError("an empty folder", "build or unpack it once more")  # noqa: EM101
    if {"oci-layout", "index.json"} <= names:
        what = "an OCI layout, whose layers are archives"
        hint = f"make an image of it: {puller} build image.sif oci:{name}"
        raise FormError(what, hint)
    if {"config.json", "rootfs"} <= names:
        # OCI runtime-spec 1.1
        config = FolderTree(name).text("/config.json", MOST_BYTES) or ""
        process = parse_object(config).get("process")
        process = process if isinstance(process, dict) else {}
        environment, starts = variables(process.get("env")), words(process.get("args"))
        metadata = Metadata("folder", environment=environment, starts=starts)
        return FolderTree(os.path.join(name, "rootfs")), metadata
    return FolderTree(name), Metadata("folder")
