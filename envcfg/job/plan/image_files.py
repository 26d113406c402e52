"""The user's image and binds, checked on this machine."""

from __future__ import annotations

import os.path
import re
import stat

from envcfg.backends.runtimes.runtime import Runtime
from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding
from envcfg.job.plan.plan import Container
from envcfg.job.plan.program_file import literal_path_fix, near_file

# USER:PASSWORD@. The digest after NAME:TAG@ does not match.
_LOGIN = r"[^/@]*:[^/@]*@(?!sha\d+:)"


def locate_image(
    container: str, folder: str, runtime: Runtime
) -> tuple[str | None, list[Finding]]:
    """Return the image as named in the job, and possible problems.

    A relative path that exists here becomes absolute, because the job may change its
    folder. Otherwise the job resolves it in its own folder.

    Args:
        container: the value of ``--container``; ``none`` is not a container.
        folder: the folder to which a relative path belongs.

    Raises:
        UsageError: the runtime does not accept this form of image.
    """
    if container == "none":
        return None, []
    if refusal := runtime.refuse(container):
        msg = f"{runtime.name} takes no such image: {container} is {refusal.problem}"
        raise UsageError(msg, hint=refusal.fix)
    _check_reference(container)
    if runtime.is_reference(container):
        return container, []
    path = os.path.join(folder, container)
    if mode := _mode(path):
        findings = _no_image(container, path, runtime) if stat.S_ISDIR(mode) else []
        # After a link, ".." is another folder than for normpath.
        is_plain = os.pardir not in path.split("/")
        return os.path.normpath(path) if is_plain else path, findings
    if meant := runtime.misspelt(container):
        fix = f"a URI is written {meant}"
        return container, [_not_here("image-not-here", container)._replace(fix=fix)]
    where = "" if container.startswith("/") else ", in the folder where it starts"
    finding = _not_here("image-not-here", container, where)
    if near := near_file(path):
        fix = f"did you mean {os.path.join(os.path.dirname(container), near)}?"
        finding = finding._replace(fix=fix)
    return container, [finding]


def _check_reference(container: str) -> None:
    """Raise UsageError if a registry URI contains a password, or leaves its path."""
    scheme, separator, name = container.partition("://")
    if scheme not in ("docker", "oras", "library", "shub"):
        return
    if separator and re.match(_LOGIN, name):
        msg = f"{scheme}://...@...: a password does not belong on a command line"
        raise UsageError(msg, hint="log in first, as in: apptainer registry login")
    if not name or {".", ".."} & {*name.split("/")}:
        msg = f"{container} is not the name of an image"
        raise UsageError(msg, hint=f"as in {scheme}://REGISTRY/NAME:TAG")


def missing_sources(container: Container | None) -> list[Finding]:
    """Return the mounts of the job that this machine lacks."""
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
    """Return a finding if a folder has no system files and so is not an image."""
    if any(os.path.exists(os.path.join(path, name)) for name in runtime.unpacked):
        return []
    message = "this is a folder, and no image unpacked: it has no bin and no usr"
    fix = "name the image file in it"
    return [Finding("image-no-sandbox", "warning", container, message, fix)]


def _not_here(rule: str, subject: str, where: str = "") -> Finding:
    message = f"does not exist on this machine; the job checks again{where}"
    fix = literal_path_fix(subject) or "give the path as the compute nodes see it"
    return Finding(rule, "warning", subject, message, fix)
