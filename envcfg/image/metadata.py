"""Metadata that the builder stored in an image: configuration, labels, variables, bases."""

import re
from collections.abc import Mapping
from typing import Any

from envcfg.common.characters import split_lines
from envcfg.common.foreign_data import mapping, read_json, sequence
from envcfg.image.fact_patterns import load_signs
from envcfg.image.image_record import Metadata
from envcfg.image.tree import Tree

BUILD_ARCHITECTURE = "org.label-schema.build-arch"  # a label of Apptainer
# Architectures by Go's name, with the name of `uname -m`; others are the same.
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64", "386": "i686"}
_LABELS = "/.singularity.d/labels.json"  # from Apptainer and SingularityCE
_CHARLIECLOUD = "/ch/environment"  # lines of NAME=VALUE
_ENROOT, _ENROOT_START = "/etc/environment", "/etc/rc"
# Labels of Apptainer's build (the definition's header), and of OCI images.
_BASE_LABELS = (
    "org.label-schema.usage.singularity.deffile.from",
    "org.opencontainers.image.base.name",
)
# The definitions of all earlier builds; the newest has the highest number.
_HISTORY = "/.singularity.d/bootstrap_history/*"
_NOW = "/.singularity.d/Singularity"
_MOST = 16
FROM = re.compile(r"^[ \t]*from[ \t]*:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)


def machine(architecture: str) -> str:
    """Return the name of *architecture*, given in Go's form, as in ``uname -m``."""
    return _ARCHITECTURES.get(architecture, architecture)


def parse_object(data: bytes | str) -> Mapping[str, Any]:
    """Return the JSON object in *data*; empty if it is missing or not JSON."""
    try:
        return mapping(read_json(data))
    except ValueError:
        return {}


def texts(result: object) -> dict[str, str]:
    """Return the text entries of an object; empty for anything else."""
    return {k: value for k, value in mapping(result).items() if isinstance(value, str)}


def variables(lines: object) -> dict[str, str]:
    """Return the variables of ``NAME=VALUE`` in a list; other entries are ignored."""
    pairs = (line.partition("=") for line in words(lines))
    return {name: value for name, equals, value in pairs if name and equals}


def words(data: object) -> tuple[str, ...]:
    """Return the texts in a list; empty for anything else."""
    return tuple(word for word in sequence(data) if isinstance(word, str))


def read_config(form: str, data: bytes) -> Metadata:
    """Return the metadata in an image's configuration *data* (OCI image-spec 1.1)."""
    config = parse_object(data)
    inner = mapping(config.get("config"))
    return Metadata(
        form,
        machine(str(config.get("architecture") or "")),
        texts(inner.get("Labels")),
        variables(inner.get("Env")),
        words(inner.get("Entrypoint")) + words(inner.get("Cmd")),
    )


def complete(metadata: Metadata, tree: Tree) -> Metadata:
    """Return *metadata* with the facts from the files of *tree*.

    Raises:
        OSError: the image is damaged.
    """
    labels = dict(metadata.labels) | texts(parse_object(tree.text(_LABELS) or ""))
    environment = dict(metadata.environment)
    environment |= variables(split_lines(tree.text(_CHARLIECLOUD) or ""))
    start = tree.text(_ENROOT_START) or ""
    if "/etc/rc.local" in start:  # written by enroot's import; the labels are comments
        for line in split_lines(start):
            if not line.startswith("# "):
                break
            name, _, value = line[2:].partition(" ")
            labels[name] = value
        environment |= variables(split_lines(tree.text(_ENROOT) or ""))
    architecture = machine(labels.get(BUILD_ARCHITECTURE, ""))
    return metadata._replace(
        architecture=metadata.architecture or architecture,
        labels=labels,
        environment=environment,
    )


def bases_of(tree: Tree, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the images from which this one was built, the nearest first, without
    repetitions."""
    numbered = {path: re.search(r"\d{1,6}$", path) for path in tree.glob(_HISTORY)}
    numbers = {path: int(match[0]) if match else -1 for path, match in numbered.items()}
    history = sorted(numbers, key=lambda path: numbers[path], reverse=True)
    paths = (_NOW, *history[:_MOST])
    matches = (FROM.search(tree.text(path, 1 << 16) or "") for path in paths)
    named_bases = (labels[name] for name in _BASE_LABELS if labels.get(name))
    signs = (base["name"] for base in load_signs().bases if tree.entry(base["path"]))
    bases = (*named_bases, *(match[1].rstrip() for match in matches if match), *signs)
    return tuple(dict.fromkeys(bases))[:_MOST]
