"""Charliecloud: unpacked folders and squashfs files, in a user namespace."""

from __future__ import annotations

from envcfg.backends.runtimes.runtime import ARCHIVES, SQUASHED, Runtime, Trouble, never
from envcfg.common.bind import Bind


def refuse(image: str) -> Trouble | None:
    """Return the error for *image* if it is neither a folder nor a squashfs file."""
    if "://" in image:
        reference = image.partition("://")[2]
        fix = f"ch-image pull {reference}, then ch-convert {reference} image.sqfs"
        return Trouble("a reference", fix)
    if image.endswith(".sif"):
        fix = f"apptainer build --sandbox FOLDER {image}, then --container FOLDER"
        return Trouble("a .sif file", fix)
    if image.endswith(ARCHIVES):
        return Trouble("an archive", f"ch-convert {image} image.sqfs")
    return None


def doubt(image: str) -> Trouble | None:
    """Return the effect of signals on an image in a file; a folder is not affected."""
    if not image.endswith(SQUASHED):
        return None
    effect = (
        "a signal to a rank ends ch-run, which serves this file, and not the program, "
        "which then has no files"
    )
    return Trouble(effect, f"unpack it before: unsquashfs -d FOLDER {image}")


def format_bind(bind: Bind) -> str:
    """Return the value of ``--bind``, which is split at a colon and has no options.

    Raises:
        ValueError: a path has a colon, or there are options.
    """
    if ":" in f"{bind.source}{bind.target}":
        msg = "it would split the path at the colon"
        raise ValueError(msg)
    for option in bind.options:
        if option != "rw":  # all binds of Charliecloud are writable
            msg = f"it has no option {option!r}"
            raise ValueError(msg)
    return f"{bind.source}:{bind.target or bind.source}"


RUNTIME = Runtime(
    name="charliecloud",
    sign="ch-run",
    example="/images/pytorch",
    opens_file=True,
    makes_targets=False,
    is_reference=never,  # it opens every image by its path
    refuse=refuse,
    doubt=doubt,
    format_bind=format_bind,
)
