"""What an image's own files say of it: labels and variables that a builder left there."""

from __future__ import annotations

from envcfg.image.oci import BUILD_ARCHITECTURE, machine, parse_object, texts, variables
from envcfg.image.record import Metadata
from envcfg.image.tree import Tree

_LABELS = "/.singularity.d/labels.json"  # of Apptainer and SingularityCE
_CHARLIECLOUD = "/ch/environment"  # a line NAME=VALUE for each
_ENROOT, _ENROOT_START = "/etc/environment", "/etc/rc"


def complete(metadata: Metadata, tree: Tree) -> Metadata:
    """Return *metadata* with what the files of *tree* say beside it.

    Raises:
        OSError: the image is damaged.
    """
    labels = dict(metadata.labels) | texts(parse_object(_read(tree, _LABELS)))
    environment = dict(metadata.environment)
    environment |= variables(_read(tree, _CHARLIECLOUD).splitlines())
    start = _read(tree, _ENROOT_START)
    if "/etc/rc.local" in start:  # as enroot's import writes it; labels are comments
        for line in start.splitlines():
            if not line.startswith("# "):
                break
            name, _, value = line[2:].partition(" ")
            labels[name] = value
        environment |= variables(_read(tree, _ENROOT).splitlines())
    said = machine(labels.get(BUILD_ARCHITECTURE, ""))
    return metadata._replace(
        architecture=metadata.architecture or said,
        labels=labels,
        environment=environment,
    )


def _read(tree: Tree, path: str) -> str:
    return tree.text(path) or ""
