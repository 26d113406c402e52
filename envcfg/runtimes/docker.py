"""Docker: Podman's options, but a daemon, which takes no folder for an image."""

from __future__ import annotations

from envcfg.runtimes import podman
from envcfg.runtimes.model import Row, Trouble


def refuse(image: str) -> Trouble | None:
    """Return what *image* is, where it is no name of an image."""
    if image.startswith("docker://"):
        name = image.removeprefix("docker://")
        return Trouble("a docker URI", f"docker wants the name: --container {name}")
    if refusal := podman.refuse(image):
        fix = refusal.fix.replace("podman", "docker")
        return refusal._replace(fix=fix.replace(podman.FOLDER, _import("FOLDER")))
    if podman.is_reference(image):
        return None
    return Trouble("a path", f"{_import(image)}, then --container NAME")


def _import(folder: str) -> str:
    return f"tar -C {folder} -c . | docker import - NAME"


RUNTIME = podman.RUNTIME._replace(
    name="docker",
    sign="docker",
    row=Row(
        image="a name",
        environment="none passes",
        tried="not: no daemon was there; only what is generated is looked at",
    ),
    same_module="podman",
    refuse=refuse,
    pull="pull it before: docker pull IMAGE",
)
