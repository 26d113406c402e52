"""The image and the binds that the user names, as they look on this machine."""

from __future__ import annotations

import os.path
import re

from envcfg.findings import Finding
from envcfg.launch.plan import Container

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
    return container, [_not_here("image-not-here", container, where)]


def missing_sources(container: Container | None) -> list[Finding]:
    """Return what the job must bind and this machine does not have."""
    return [
        _not_here("bind-not-here", bind.spec)
        for bind in (container.binds if container else ())
        if bind.if_exists is None and not os.path.exists(bind.spec.split(":")[0])
    ]


def _not_here(rule: str, subject: str, where: str = "") -> Finding:
    return Finding(
        rule=rule,
        severity="warning",
        subject=subject,
        message=f"does not exist on this machine; the job looks again{where}",
        fix="give the path as the compute nodes see it",
    )
