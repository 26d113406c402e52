"""The image that the user names: a path, a URI, or none; looked at, never opened."""

from __future__ import annotations

import os.path
import re

from envcfg.findings import Finding

_URI = re.compile(
    r"[a-z][a-z0-9+-]*://.+|(docker-archive|docker-daemon|oci|oci-archive|oci-sif):.+"
)


def is_uri(container: str) -> bool:
    """Tell whether the runtime is to fetch the image, rather than open a path."""
    return _URI.fullmatch(container) is not None


def locate_image(container: str, folder: str) -> tuple[str | None, list[Finding]]:
    """Return the image as the job will name it, and what may go wrong with it.

    A relative path that exists here becomes absolute, so that the job may change its
    folder. One that does not is left to the job, which looks in its own folder.

    Args:
        container: what ``--container`` gave; ``none`` is no container.
        folder: the folder to which a relative path belongs.
    """
    if container == "none":
        return None, []
    if is_uri(container):
        return container, []
    path = os.path.join(folder, container)
    if os.path.exists(path):
        return os.path.normpath(path), []
    where = "" if container.startswith("/") else ", in the folder where it starts"
    missing = Finding(
        rule="image-not-here",
        severity="warning",
        subject=container,
        message=f"does not exist on this machine; the job looks again{where}",
        fix="give the path as the compute nodes see it",
    )
    return container, [missing]
