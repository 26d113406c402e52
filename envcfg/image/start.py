"""How an image wants to be started, as its runscript or its entrypoint shows."""

from __future__ import annotations

import re

from envcfg.image.record import ImageFact, Metadata
from envcfg.image.tree import Tree

_RUNSCRIPT = "/.singularity.d/runscript"
_MOST = 1 << 18


def start_fact(tree: Tree, metadata: Metadata) -> ImageFact:
    """Return whether the image wants ``run`` or ``exec``, and what shows it."""
    text = tree.text(_RUNSCRIPT, _MOST)
    if text is None:
        if metadata.starts:
            why = "the entrypoint of an image of OCI gets the command as its arguments"
            return ImageFact("start", "exec", "entrypoint", why=why)
        return ImageFact("start", "exec", "no runscript", why="nothing else to start")
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    joined = "\n".join(lines)
    # What Apptainer and SingularityCE write for an image of OCI (oci2sif, docker://).
    if match := re.search(r"^OCI_ENTRYPOINT=(.*)$", joined, re.MULTILINE):
        value = match[1].strip("'\"")
        if not value:
            why = "the image has no entrypoint"
            return ImageFact("start", "exec", _RUNSCRIPT, why=why)
        why = "the entrypoint gets the command as its arguments"
        return ImageFact("start", "run", _RUNSCRIPT, why=why)
    if not re.search(r"\$[@*]|\$\{[@*]", joined):
        why = "the runscript does not run what it is given"
        return ImageFact("start", "exec", _RUNSCRIPT, why=why)
    if len(lines) > 1:
        why = "the runscript prepares something, then runs what it is given"
        return ImageFact("start", "run", _RUNSCRIPT, why=why)
    return ImageFact("start", "exec", _RUNSCRIPT, why="the runscript adds nothing")
