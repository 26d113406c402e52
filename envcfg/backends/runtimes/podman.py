"""Podman: images of the node's store, or an unpacked folder."""

from __future__ import annotations

from collections.abc import Callable

from envcfg.backends.runtimes.runtime import ARCHIVES, SQUASHED, Runtime, Trouble
from envcfg.common.bind import Bind, is_read_only


def is_reference(image: str) -> bool:
    """Return whether *image* is a name in a store or registry, not a path."""
    return not image.startswith(("/", "."))


def is_pulled(image: str) -> bool:
    """Return whether *image* is in a registry."""
    return is_reference(image) and not image.startswith("localhost/")


def refuse_unless_name(
    image: str,
    *,
    program: str,
    import_folder: Callable[[str], str],
    option: str = "--container",
    use_path: str = "",
) -> Trouble | None:
    """Return the error for *image* if it is not a name, for programs like Podman.

    *import_folder* returns the commands that store a folder as an image; *option* is
    the text before the name of a loaded image; *use_path* ends the remedy for a path.
    """
    if image.startswith("docker://"):
        name = image.removeprefix("docker://")
        return Trouble("a docker URI", f"{program} wants the name: --container {name}")
    folder = import_folder("FOLDER")
    if refusal := _refuse_file(image, program=program, folder=folder, option=option):
        return refusal
    if is_reference(image):
        return None
    return Trouble("a path", import_folder(image) + use_path)


def _refuse_file(
    image: str,
    *,
    program: str = "podman",
    folder: str = "--container ./FOLDER",
    option: str = "--container",
) -> Trouble | None:
    scheme, is_uri, _ = image.partition("://")
    if is_uri and scheme != "docker":
        fix = "give a name in a registry, as in docker.io/NAME:TAG"
        return Trouble(f"a {scheme} URI", fix)
    if image.endswith(".sif"):
        fix = f"apptainer build --sandbox FOLDER {image}, then {folder}"
        return Trouble("a .sif file", fix)
    if image.endswith(SQUASHED):
        fix = f"unsquashfs -d FOLDER {image}, then {folder}"
        return Trouble("a squashfs file", fix)
    if image.endswith(ARCHIVES):
        fix = f"{program} load -i {image}, then {option} with the name that it says"
        return Trouble("an archive", fix)
    return None


def format_bind(bind: Bind) -> str:
    """Return the value of ``--mount``, a line of CSV that accepts every path.

    Raises:
        ValueError: there are options other than ``ro`` and ``rw``.
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
    refuse=_refuse_file,
    format_bind=format_bind,
    pulled="each node whose store lacks this image would pull it as the job starts",
    pull="pull it on each node before: srun --ntasks-per-node=1 podman pull IMAGE",
)
