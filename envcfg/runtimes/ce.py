"""CSCS' Container Engine: a file says what the container is, an option of srun names it.

The file is an EDF (environment definition file, in TOML), which the job writes for a step.
"""

from __future__ import annotations

import re

from envcfg.runtimes import pyxis
from envcfg.runtimes.model import Runtime, Trouble

_ANNOTATION = r"--annotation=[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*=.*"


def is_reference(image: str) -> bool:
    """Tell whether *image* is a name: in a registry, or of an EDF in the search path."""
    return pyxis.is_reference(image) and not image.endswith(".toml")


def refuse(image: str) -> Trouble | None:
    """Return what *image* is, where it is no EDF, no squashfs file and of no registry."""
    if image.startswith("dockerd://"):
        return Trouble("of a Docker daemon", "as in docker://REGISTRY/NAME:TAG")
    return pyxis.refuse(image)


def spell(image: str) -> str:
    """Return *image* as an EDF has it: ``REGISTRY#NAME:TAG``, or what it is else."""
    if not is_reference(image):
        return image
    name = image.removeprefix("docker://")
    host, slash, rest = name.partition("/")
    if "#" not in name and slash and ("." in host or ":" in host):
        return f"{host}#{rest}"
    # A name alone would be that of an environment.
    return name if slash or name == image else f"library/{name}"


def refuse_argument(word: str) -> Trouble | None:
    """Return what is wrong with a word that is for the EDF, and must be right in it."""
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
    # What it pulls is kept in the user's own store, for all nodes: is_pulled is never.
    refuse=refuse,
    refuse_argument=refuse_argument,
    # What the file says is handed to Pyxis, which CE is made of.
    format_bind=pyxis.format_bind,
)
