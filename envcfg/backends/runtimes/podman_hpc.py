"""podman-hpc: Podman's options and some others, with squashed copies of images."""

from __future__ import annotations

from envcfg.backends.runtimes import podman
from envcfg.backends.runtimes.runtime import Trouble, always


def refuse(image: str) -> Trouble | None:
    """Return the error for *image* if it is not the name of an image."""
    return podman.refuse_unless_name(
        image,
        program="podman-hpc",
        import_folder=_import_folder,
        option="podman-hpc migrate and --container",
    )


def _import_folder(folder: str) -> str:
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
