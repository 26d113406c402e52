"""Docker: Podman's options, with a daemon that does not accept a folder as image."""

from __future__ import annotations

from envcfg.backends.runtimes import podman
from envcfg.backends.runtimes.runtime import Trouble


def refuse(image: str) -> Trouble | None:
    """Return the error for *image* if it is not the name of an image."""
    return podman.refuse_unless_name(
        image,
        program="docker",
        import_folder=_import_folder,
        use_path=", then --container NAME",
    )


def _import_folder(folder: str) -> str:
    return f"tar -C {folder} -c . | docker import - NAME"


RUNTIME = podman.RUNTIME._replace(
    name="docker",
    sign="docker",
    same_module="podman",
    refuse=refuse,
    pull="pull it before: docker pull IMAGE",
)
