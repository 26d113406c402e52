"""podman-hpc: Podman's options and some more, with squashed copies of images."""

from __future__ import annotations

from envcfg.runtimes import podman
from envcfg.runtimes.model import Trouble, always


def refuse(image: str) -> Trouble | None:
    """Return what *image* is, where it is not a name of an image."""
    if image.startswith("docker://"):
        name = image.removeprefix("docker://")
        return Trouble("a docker URI", f"podman-hpc wants the name: --container {name}")
    if refusal := podman.refuse(image):
        fix = refusal.fix.replace("podman load", "podman-hpc load")
        fix = fix.replace("--container with", "podman-hpc migrate and --container with")
        return refusal._replace(fix=fix.replace(podman.FOLDER, _import("FOLDER")))
    if podman.is_reference(image):
        return None
    return Trouble("a path", _import(image))


def _import(folder: str) -> str:
    return (
        f"tar -C {folder} -c . | podman-hpc import - NAME, then podman-hpc migrate NAME "
        "and --container localhost/NAME"
    )


RUNTIME = podman.RUNTIME._replace(
    name="podman-hpc",
    sign="podman-hpc",
    same_module="podman",
    is_reference=always,
    refuse=refuse,
    pulled="each node would pull this image as the job starts, if it was not pulled before",
    pull="pull it once, which makes a squashed copy for all nodes: podman-hpc pull IMAGE",
)
