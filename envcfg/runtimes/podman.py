"""Podman: images of the node's store, or an unpacked folder."""

from __future__ import annotations

from envcfg.bind import Bind, is_read_only
from envcfg.runtimes.model import ARCHIVES, SQUASHED, Runtime, Trouble

FOLDER = "--container ./FOLDER"


def is_reference(image: str) -> bool:
    """Tell whether *image* is a name in a store or registry; paths begin with a sign."""
    return not image.startswith(("/", "."))


def is_pulled(image: str) -> bool:
    """Tell whether *image* is of a registry."""
    return is_reference(image) and not image.startswith("localhost/")


def refuse(image: str) -> Trouble | None:
    """Return what *image* is, where it is neither a name nor a folder."""
    scheme, is_uri, _ = image.partition("://")
    if is_uri and scheme != "docker":
        fix = "give a name in a registry, as in docker.io/NAME:TAG"
        return Trouble(f"a {scheme} URI", fix)
    if image.endswith(".sif"):
        fix = f"apptainer build --sandbox FOLDER {image}, then {FOLDER}"
        return Trouble("a .sif file", fix)
    if image.endswith(SQUASHED):
        fix = f"unsquashfs -d FOLDER {image}, then {FOLDER}"
        return Trouble("a squashfs file", fix)
    if image.endswith(ARCHIVES):
        fix = f"podman load -i {image}, then --container with the name that it says"
        return Trouble("an archive", fix)
    return None


def format_bind(bind: Bind) -> str:
    """Return the value of ``--mount``, a line of CSV, which takes every path.

    Raises:
        ValueError: there are options but ``ro`` and ``rw``.
    """
    ending = ["readonly"] if is_read_only(bind) else []
    fields = ["type=bind", f"source={bind.source}"]
    fields.append(f"target={bind.target or bind.source}")
    fields += ending
    return ",".join(map(_field, fields))


def _field(text: str) -> str:
    if not any(sign in text for sign in ',"\r\n'):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


RUNTIME = Runtime(
    name="podman",
    sign="podman",
    example="docker.io/me/pytorch:2.9",
    is_reference=is_reference,
    is_pulled=is_pulled,
    refuse=refuse,
    format_bind=format_bind,
    pulled="each node whose store lacks this image would pull it as the job starts",
    pull="pull it on each node before: srun --ntasks-per-node=1 podman pull IMAGE",
)
