"""Pyxis, a plug-in of Slurm: tasks enter an Enroot container by options of srun."""

from __future__ import annotations

from envcfg.backends.runtimes.runtime import ARCHIVES, SQUASHED, Runtime, Trouble
from envcfg.common.bind import Bind

IMPORT = "enroot import -o image.sqsh docker://REGISTRY#NAME:TAG"
# Pyxis cannot escape the first two, and writes paths into a line that bash reads.
_NEVER = ',:$`"'
_OURS = {
    "--container-image": "--container IMAGE",
    "--container-mounts": "--bind SOURCE:TARGET",
}


def is_reference(image: str) -> bool:
    """Return whether *image* is a name in a registry, not a path or squashfs file."""
    return not image.startswith(("/", "./", "../")) and not image.endswith(SQUASHED)


def refuse(image: str) -> Trouble | None:
    """Return the error for *image* if it is neither a reference nor a squashfs file."""
    if image.endswith(".sif"):
        fix = f"make one of the same image: {IMPORT}, then --container ./image.sqsh"
        return Trouble("a .sif file", fix)
    if image.endswith(ARCHIVES):
        fix = f"podman load -i {image}, enroot import -o image.sqsh podman://NAME"
        return Trouble("an archive", fix)
    scheme, is_uri, _ = image.partition("://")
    if is_uri and scheme not in {"docker", "dockerd"}:
        return Trouble(f"a {scheme} URI", "as in docker://REGISTRY#NAME:TAG")
    return None


def refuse_argument(word: str) -> Trouble | None:
    """Return the error if envcfg sets the option *word* itself: srun uses only the last."""
    instead = _OURS.get(word.partition("=")[0])
    if instead is None:
        return None
    return Trouble("srun uses only the last of two", f"give {instead}")


def format_bind(bind: Bind) -> str:
    """Return the bind as a part of ``--container-mounts``, which joins all with commas.

    Raises:
        ValueError: a path or option has a character that is not possible there.
    """
    for text in (bind.source, bind.target, *bind.options):
        if wrong := next((sign for sign in text if sign in _NEVER), None):
            msg = f"it cannot write {wrong}"
            raise ValueError(msg)
    if not bind.target and not bind.options:
        return bind.source
    options = "+".join(bind.options)
    return f"{bind.source}:{bind.target or bind.source}" + (options and f":{options}")


RUNTIME = Runtime(
    name="pyxis",
    sign="--container-image",
    example="/images/pytorch.sqsh",
    opens_file=True,
    is_reference=is_reference,
    is_pulled=is_reference,
    refuse=refuse,
    refuse_argument=refuse_argument,
    format_bind=format_bind,
    pulled="each node would pull and unpack this image as each step starts",
    pull=f"fetch it once before the job ({IMPORT}), and give --container ./image.sqsh",
)
