"""Shifter: images that the site's gateway has fetched, identified by name."""

from __future__ import annotations

import re

from envcfg.backends.runtimes.runtime import Runtime, Trouble, always
from envcfg.common.bind import Bind, is_read_only

# Shifter removes all other characters from a path or name, without a message.
_KEPT = r"[A-Za-z0-9_.+/-]*"
# Prefixes of paths; the rest of the path is free.
_OWN = ("/etc", "/var", "/opt/udiImage")
_NOT_OWN = "/var/tmp/"  # noqa: S108 # nothing is made there


def refuse(image: str) -> Trouble | None:
    """Return the error for *image* if Shifter cannot know the name."""
    scheme, is_uri, name = image.partition("://")
    if is_uri:
        reference = f"docker:{name}" if scheme == "docker" else "docker:NAME:TAG"
        return Trouble(f"a {scheme} URI", f"write it as Shifter does: {reference}")
    if image.startswith(("/", ".")) or re.search(r"\.(sif|sqfs|sqsh|tar|t?gz)$", image):
        fix = "shifterimg pull docker:NAME:TAG, then --container docker:NAME:TAG"
        return Trouble("a path", fix)
    if sign := _lost(image.replace(":", "")):
        fix = "name it by a tag, as shifterimg images does"
        return Trouble(f"a name with {sign!r}, which Shifter would leave out", fix)
    return None


def format_bind(bind: Bind) -> str:
    """Return the value of ``--volume``, ``SOURCE:TARGET``, maybe with ``:ro``.

    Raises:
        ValueError: a path has characters that Shifter removes or splits at; it does not
            allow the target; or there are options other than ``ro`` and ``rw``.
    """
    target = bind.target or bind.source
    for path in (bind.source, target):
        if ":" in path:
            msg = "it would split the path at the colon"
            raise ValueError(msg)
        if sign := _lost(path):
            msg = f"it would leave {sign!r} out of the path"
            raise ValueError(msg)
        if ".." in path:
            msg = "it takes no path with two dots"
            raise ValueError(msg)
    is_own = target.startswith(_OWN) and not f"{target}/".startswith(_NOT_OWN)
    if is_own or target.rstrip("/") == "/opt":
        msg = "it refuses mounts on /opt, below /etc, /var and /opt/udiImage"
        raise ValueError(msg)
    return f"{bind.source}:{target}{':ro' if is_read_only(bind) else ''}"


def _lost(text: str) -> str:
    """Return the first character of *text* that Shifter would remove, or nothing."""
    match = re.match(_KEPT, text)
    return text[match.end() :][:1] if match else ""


RUNTIME = Runtime(
    name="shifter",
    sign="shifter",
    example="docker:me/pytorch:2.9",
    directives={"slurm": "--image"},
    is_reference=always,  # shifterimg pulls them, never a job
    refuse=refuse,
    format_bind=format_bind,
)
