"""Docker: Podman's options, but a daemon, which takes no folder for an image."""

from __future__ import annotations

from envcfg.runtimes import podman
from envcfg.runtimes.model import Trouble

_IMPORT = "tar -C {} -c . | docker import - NAME"


def refuse(image: str) -> Trouble | None:
    """Return what *image* is, where it is not a name of an image."""
    if image.startswith("docker://"):
        name = image.removeprefix("docker://")
        return Trouble("a docker URI", f"docker wants the name: --container {name}")
    if refusal := podman.refuse(image):
        fix = refusal.fix.replace("podman", "docker")
        fix = fix.replace(podman.FOLDER, _IMPORT.format("FOLDER"))
        return refusal._replace(fix=fix)
    if podman.is_reference(image):
        return None
    return Trouble("a path", f"{_IMPORT.format(image)}, then --container NAME")


RUNTIME = podman.RUNTIME._replace(
    name="docker",
    sign="docker",
    same_module="podman",
    refuse=refuse,
    pull="pull it before: docker pull IMAGE",
)
