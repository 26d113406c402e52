"""What is in an image, and whether its libraries would load."""

from __future__ import annotations

from shutil import which
from typing import NamedTuple

from envcfg.budget import Budget
from envcfg.core.host_check import judge_image
from envcfg.errors import OutputError
from envcfg.image.facts import inspect_tree
from envcfg.image.host import Host, parse_host
from envcfg.image.links import Chain
from envcfg.image.open import open_image
from envcfg.image.record import Inspection
from envcfg.image.tree import MOST_BYTES

# The largest images take a few seconds, and 200 MB.
_SECONDS, _MEGABYTES = 120.0, 2000.0


class Inspected(NamedTuple):
    """What was read of an image, and what is loaded with NCCL and its plug-in."""

    found: Inspection
    chain: Chain


def inspect(
    image: str, *, profile: str | None = None, host: Host | None = None
) -> Inspected:
    """Return what is in *image*: a file, a folder, or a name that the runtime here knows.

    Args:
        image: nothing of it is run, and nothing is unpacked.
        profile: whose binds are laid over it; None: none are.
        host: the machine that they come from; None: this one.

    Raises:
        OutputError: it cannot be read; also ``ImageError`` and ``ProfileError``.
    """
    program = next(filter(which, ("apptainer", "singularity")), None)
    try:
        with (
            Budget(image, seconds=_SECONDS, megabytes=_MEGABYTES),
            open_image(image, program=program) as (tree, metadata),
        ):
            found = inspect_tree(tree, metadata, image)
            chain, findings = judge_image(tree, found, profile, host)
    except OSError as err:
        msg = f"{image}: cannot be read: {err.strerror or err}"
        raise OutputError(
            msg, hint="is it whole? a download may have ended early"
        ) from err
    return Inspected(found._replace(findings=(*findings, *found.findings)), chain)


def read_host_file(name: str) -> Host:
    """Return the machine that a file of ``envcfg inspect --host`` describes.

    Raises:
        OutputError: it cannot be read; also ``ImageError``.
    """
    try:
        with open(name, "rb") as file:
            data = file.read(MOST_BYTES)
    except OSError as err:
        msg = f"{name}: cannot be read: {err.strerror}"
        hint = "make one on a compute node: envcfg inspect --host -o host.json"
        raise OutputError(msg, hint=hint) from err
    return parse_host(data.decode("utf-8", "replace"), name)
