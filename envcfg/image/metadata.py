"""What those who built an image say of it: configuration, labels, variables, bases."""

import re
from collections.abc import Mapping
from typing import Any

from envcfg.image.fact_patterns import load_signs
from envcfg.image.record import Metadata
from envcfg.image.tree import Tree

BUILD_ARCHITECTURE = "org.label-schema.build-arch"  # a label that Apptainer writes
# As Go names them, and as `uname -m` does; the others have one name.
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64", "386": "i686"}
_LABELS = "/.singularity.d/labels.json"  # of Apptainer and SingularityCE
_CHARLIECLOUD = "/ch/environment"  # a line NAME=VALUE for each
_ENROOT, _ENROOT_START = "/etc/environment", "/etc/rc"
# By Apptainer's build (the definition's header), and of OCI images.
_BASE_LABELS = (
    "org.label-schema.usage.singularity.deffile.from",
    "org.opencontainers.image.base.name",
)
# Of each build before: its definition, the newest with the highest number.
_HISTORY = "/.singularity.d/bootstrap_history/*"
_NOW = "/.singularity.d/Singularity"
_MOST = 16
_FROM = re.compile(r"^[ \t]*from[ \t]*:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)


def machine(architecture: str) -> str:
    """Return Go's name of an *architecture* as ``uname -m`` has it."""
    return _ARCHITECTURES.get(architecture, architecture)


def parse_object(data: bytes | str) -> dict[str, Any]:
    """Return the JSON object in *data*; empty where it is none, or no JSON."""
    import json

    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def texts(found: object) -> dict[str, str]:
    """Return those entries of an object that are texts, of anything else none."""
    if not isinstance(found, Mapping):
        return {}
    return {str(key): value for key, value in found.items() if isinstance(value, str)}


def variables(lines: object) -> dict[str, str]:
    """Return the variables of ``NAME=VALUE`` in a list; other entries say nothing."""
    if not isinstance(lines, list):
        return {}
    pairs = (line.partition("=") for line in lines if isinstance(line, str))
    return {name: value for name, equals, value in pairs if name and equals}


def words(found: object) -> tuple[str, ...]:
    """Return the texts in a list, of anything else none."""
    if not isinstance(found, list):
        return ()
    return tuple(each for each in found if isinstance(each, str))


def read_config(form: str, data: bytes) -> Metadata:
    """Return what the configuration *data* of an image says (OCI image-spec 1.1)."""
    config = parse_object(data)
    inner = config.get("config")
    inner = inner if isinstance(inner, dict) else {}
    return Metadata(
        form,
        machine(str(config.get("architecture") or "")),
        texts(inner.get("Labels")),
        variables(inner.get("Env")),
        words(inner.get("Entrypoint")) + words(inner.get("Cmd")),
    )


def complete(metadata: Metadata, tree: Tree) -> Metadata:
    """Return *metadata* with what the files of *tree* say beside it.

    Raises:
        OSError: the image is damaged.
    """
    labels = dict(metadata.labels) | texts(parse_object(tree.text(_LABELS) or ""))
    environment = dict(metadata.environment)
    environment |= variables((tree.text(_CHARLIECLOUD) or "").splitlines())
    start = tree.text(_ENROOT_START) or ""
    if "/etc/rc.local" in start:  # as enroot's import writes it; labels are comments
        for line in start.splitlines():
            if not line.startswith("# "):
                break
            name, _, value = line[2:].partition(" ")
            labels[name] = value
        environment |= variables((tree.text(_ENROOT) or "").splitlines())
    said = machine(labels.get(BUILD_ARCHITECTURE, ""))
    return metadata._replace(
        architecture=metadata.architecture or said,
        labels=labels,
        environment=environment,
    )


def bases_of(tree: Tree, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the images that this one was made from, the nearest first, each once."""
    numbered = {path: re.search(r"\d{1,6}$", path) for path in tree.glob(_HISTORY)}
    numbers = {path: int(each[0]) if each else -1 for path, each in numbered.items()}
    history = sorted(numbers, key=lambda each: numbers[each], reverse=True)
    paths = (_NOW, *history[:_MOST])
    found = (_FROM.search(tree.text(path, 1 << 16) or "") for path in paths)
    named = (labels[name] for name in _BASE_LABELS if labels.get(name))
    signs = (each["name"] for each in load_signs().bases if tree.entry(each["path"]))
    bases = (*named, *(each[1].rstrip() for each in found if each), *signs)
    return tuple(dict.fromkeys(bases))[:_MOST]
