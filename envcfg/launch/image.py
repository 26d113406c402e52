"""The image and the binds that the user names, as they look on this machine."""

from __future__ import annotations

import os.path
import stat

from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch.plan import Container
from envcfg.runtimes.model import Runtime


def locate_image(
    container: str, folder: str, runtime: Runtime
) -> tuple[str | None, list[Finding]]:
    """Return the image as the job will name it, and what may go wrong with it.

    A relative path that exists here becomes absolute, so that the job may change its
    folder. One that does not is left to the job, which looks in its own folder.

    Args:
        container: what ``--container`` gave; ``none`` is not a container.
        folder: the folder to which a relative path belongs.

    Raises:
        UsageError: the runtime takes no image of such a form.
    """
    if container == "none":
        return None, []
    if refusal := runtime.refuse(container):
        msg = f"{runtime.name} takes no such image: {container} is {refusal.what}"
        raise UsageError(msg, hint=refusal.fix)
    if runtime.is_reference(container):
        return container, []
    path = os.path.join(folder, container)
    if mode := _mode(path):
        found = _no_image(container, path, runtime) if stat.S_ISDIR(mode) else []
        # Behind a link, ".." is another folder than normpath takes it for.
        is_plain = os.pardir not in path.split("/")
        return os.path.normpath(path) if is_plain else path, found
    if meant := runtime.misspelt(container):
        fix = f"a URI is written {meant}"
        return container, [_not_here("image-not-here", container)._replace(fix=fix)]
    where = "" if container.startswith("/") else ", in the folder where it starts"
    return container, [_not_here("image-not-here", container, where)]


def missing_sources(container: Container | None) -> list[Finding]:
    """Return what the job must bind and this machine does not have."""
    return [
        _not_here("bind-not-here", str(bind.bind))
        for bind in (container.binds if container else ())
        if bind.if_exists is None
        and not bind.bind.refers
        and not os.path.exists(bind.bind.source)
    ]


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):  # a NUL is not a path
        return 0


def _no_image(container: str, path: str, runtime: Runtime) -> list[Finding]:
    """Say that a folder is not an image, where it holds nothing that a system has."""
    if any(os.path.exists(os.path.join(path, name)) for name in runtime.unpacked):
        return []
    said = "this is a folder, and no image unpacked: it has no bin and no usr"
    fix = "name the image file in it"
    return [Finding("image-no-sandbox", "warning", container, said, fix)]


def _not_here(rule: str, subject: str, where: str = "") -> Finding:
    said = f"does not exist on this machine; the job looks again{where}"
    fix = "give the path as the compute nodes see it"
    return Finding(rule, "warning", subject, said, fix)
