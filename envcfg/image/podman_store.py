"""Images in the stores of Podman and podman-hpc, read without starting either.

A store (containers/storage 1.55) has a list of images, a list of layers with their
parents, and a folder for each layer. podman-hpc's store also has a squashfs of all
layers.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from envcfg.common.foreign_data import mappings, read_json
from envcfg.image.bounded_file import BoundedFile, FormError, refuse
from envcfg.image.image_record import Metadata
from envcfg.image.layers import LayeredTree
from envcfg.image.metadata import read_config, words
from envcfg.image.squashfs import SquashTree
from envcfg.image.tree import MOST_BYTES, FolderTree, Tree

_DRIVERS = ("overlay", "vfs")
_SYSTEM = ("/etc/containers/storage.conf", "/usr/share/containers/storage.conf")
_PREFIXES = ("", "localhost/", "docker.io/library/", "docker.io/")
_MOST_LIST = 64 << 20  # bytes of a store's lists: thousands of images
_MOST_LAYERS = 500  # the limit of overlayfs
_SHORTEST_ID = 12


def stores() -> list[str]:
    """Return the folders that may contain images, those of podman-hpc first.

    Compute nodes see only its squashed images.
    """
    folders = [os.environ.get("SQUASH_DIR", "")]
    if scratch := os.environ.get("SCRATCH"):
        folders.append(f"{scratch}/storage")
    home = os.path.expanduser("~")
    configuration = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    own = f"{configuration}/containers/storage.conf"
    for path in (os.environ.get("CONTAINERS_STORAGE_CONF", ""), own, *_SYSTEM):
        folders += _configured(path)
    data = os.environ.get("XDG_DATA_HOME") or f"{home}/.local/share"
    folders += [f"{data}/containers/storage", "/var/lib/containers/storage"]
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def _configured(path: str) -> list[str]:
    """Return the stores in a storage.conf with the usual lines."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(MOST_BYTES)
    except OSError:
        return []
    keys = "graphroot|rootless_storage_path"
    values = re.findall(rf'^\s*(?:{keys})\s*=\s*"([^"\n]+)"', text, re.MULTILINE)
    more = r"^\s*additionalimagestores\s*=\s*\[([^\]]*)\]"
    for inside in re.findall(more, text, re.MULTILINE):
        values += re.findall(r'"([^"\n]+)"', re.sub(r"(?m)^\s*#.*", "", inside))
    own = str(os.getuid())
    return [os.path.expandvars(value.replace("$UID", own)) for value in values]


def open_stored_image(name: str, stack: ExitStack) -> tuple[Tree, Metadata] | None:
    """Return the files and metadata of the image *name*; None: not found.

    Names have Podman's forms: ``localhost/pytorch:24.1``, ``pytorch``, or an ID.

    Raises:
        OSError: the image exists but cannot be read.
    """
    for store in stores():
        for driver in _DRIVERS:
            images = _list(f"{store}/{driver}-images/images.json")
            if (image := _find_image(images, name)) is not None:
                tree = _tree(store, driver, str(image.get("layer")), stack)
                return tree, _metadata(store, driver, str(image["id"]))
    return None


def _list(path: str) -> list[Mapping[str, Any]]:
    """Return the objects in a list of a store; empty if the list is missing."""
    try:
        with open(path, "rb") as file:
            document = read_json(file.read(_MOST_LIST))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    except ValueError:
        refuse(f"{path} is not JSON")
    return [
        entry
        for entry in mappings(document)
        if re.fullmatch("[0-9a-f]+", str(entry.get("id")))
    ]


def _find_image(images: list[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    tagged = ":" in name.rpartition("/")[2] or "@" in name
    full = name if tagged else f"{name}:latest"
    for prefix in _PREFIXES:
        for image in images:
            if prefix + full in words(image.get("names")):
                return image
    short = name.removeprefix("sha256:")
    same = (image for image in images if image["id"].startswith(short))
    return next(same, None) if len(short) >= _SHORTEST_ID else None


def _tree(store: str, driver: str, top: str, stack: ExitStack) -> Tree:
    chain = list(_chain(store, driver, top))
    if driver == "vfs":  # each layer contains all files
        return FolderTree(f"{store}/vfs/dir/{chain[0]}")
    squashed = _squashed(store, chain[0])
    if squashed is not None:
        descriptor = os.open(squashed, os.O_RDONLY | os.O_CLOEXEC)
        stack.callback(os.close, descriptor)
        return SquashTree(BoundedFile(descriptor))
    folders = [f"{store}/overlay/{layer}/diff" for layer in chain]
    for folder in folders:
        if not os.path.isdir(folder):
            refuse(f"its layer {folder} is not there")
        if not os.access(folder, os.R_OK | os.X_OK):
            hint = "run envcfg as the one to whom the store belongs"
            raise FormError(f"its layer {folder} is not ours to read", hint)  # noqa: EM102
    return LayeredTree([FolderTree(folder) for folder in folders])


def _chain(store: str, driver: str, top: str) -> Iterator[str]:
    """Yield the layer *top*, its parent, and so on."""
    layers = {
        layer["id"]: layer
        for name in ("layers.json", "volatile-layers.json")
        for layer in _list(f"{store}/{driver}-layers/{name}")
    }
    for _ in range(_MOST_LAYERS):
        if top not in layers:
            refuse(f"the store {store} does not know its layer {top}")
        yield top
        if not (top := str(layers[top].get("parent") or "")):
            return
    refuse(f"more than {_MOST_LAYERS} layers, or a circle of them")


def _squashed(store: str, layer: str) -> str | None:
    """Return podman-hpc's squashfs of *layer* and all lower layers, if it exists."""
    try:
        with open(f"{store}/overlay/{layer}/link", encoding="ascii") as file:
            link = file.read(64).strip()
    except (OSError, ValueError):
        return None
    path = f"{store}/overlay/l/{os.path.basename(link)}.squash"
    return path if link and os.path.isfile(path) else None


def _metadata(store: str, driver: str, image: str) -> Metadata:
    """Return the metadata in the configuration, a file with a base64 name."""
    import base64

    name = "=" + base64.b64encode(f"sha256:{image}".encode()).decode()
    try:
        with open(f"{store}/{driver}-images/{image}/{name}", "rb") as file:
            return read_config("podman", file.read(MOST_BYTES))
    except OSError:  # Podman needs this file only to start the image
        return Metadata("podman")
