"""CSCS' Container Engine: a file describes the container, an option of srun names the
file.

The file is an EDF (environment definition file, in TOML), which the job writes for a step.
"""

from __future__ import annotations

import re

from envcfg.backends.runtimes import pyxis
from envcfg.backends.runtimes.runtime import Runtime, Trouble

_ANNOTATION = r"--annotation=[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*=.*"


def is_reference(image: str) -> bool:
    """Return whether *image* is a name: in a registry, or of an EDF in the search path."""
    return pyxis.is_reference(image) and not image.endswith(".toml")


def refuse(image: str) -> Trouble | None:
    """Return the error for *image* if it is not an EDF, a squashfs file or a reference."""
    if image.startswith("dockerd://"):
        return Trouble("of a Docker daemon", "as in docker://REGISTRY/NAME:TAG")
    return pyxis.refuse(image)


def spell(image: str) -> str:
    """Return *image* in the syntax of an EDF: ``REGISTRY#NAME:TAG``, or unchanged."""
    if not is_reference(image):
        return image
    name = image.removeprefix("docker://")
    host, slash, rest = name.partition("/")
    if "#" not in name and slash and ("." in host or ":" in host):
        return f"{host}#{rest}"
    # A name alone would be read as an environment.
    return name if slash or name == image else f"library/{name}"


def refuse_argument(word: str) -> Trouble | None:
    """Return the error in a word for the EDF, if any."""
    if word.partition("=")[0] == "--environment":
        fix = "name that file, or the name of its environment, by --container"
        return Trouble("envcfg writes a separate file for it", fix)
    if word.startswith("--annotation") and not re.fullmatch(_ANNOTATION, word):
        fix = "as in --annotation=com.hooks.cxi.enabled=true"
        return Trouble("it is not an annotation", fix)
    return None


RUNTIME = Runtime(
    name="ce",
    sign="--environment",
    example="/images/pytorch.toml",
    filed=("--annotation=", "--entrypoint"),
    described=(".toml",),
    is_reference=is_reference,
    spell=spell,
    # Images are pulled once into the user's folder, so the default of is_pulled is
    # right.
    refuse=refuse,
    refuse_argument=refuse_argument,
    # CE passes the file's content to Pyxis, on which it is based.
    format_bind=pyxis.format_bind,
)
