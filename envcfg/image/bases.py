"""From which images an image was made: what those who built it have left in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envcfg.image.tree import Tree

# By Apptainer's build (the definition's header), and of OCI images.
_LABELS = (
    "org.label-schema.usage.singularity.deffile.from",
    "org.opencontainers.image.base.name",
)
# Of each build before: its definition, the newest with the highest number.
_HISTORY = "/.singularity.d/bootstrap_history/*"
_NOW = "/.singularity.d/Singularity"
_MOST = 16
_FROM = re.compile(r"^[ \t]*from[ \t]*:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)


def bases_of(tree: Tree, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the images that this one was made from, the nearest first, each once."""
    return tuple(dict.fromkeys(_bases(tree, labels)))[:_MOST]


def _bases(tree: Tree, labels: Mapping[str, str]) -> Iterator[str]:
    yield from (labels[name] for name in _LABELS if labels.get(name))
    history = sorted(tree.glob(_HISTORY), key=_number, reverse=True)
    for path in (_NOW, *history[:_MOST]):
        text = tree.text(path, 1 << 16) or ""
        if found := _FROM.search(text):
            yield found[1].rstrip()


def _number(path: str) -> int:
    digits = re.search(r"\d{1,6}$", path)
    return int(digits[0]) if digits else -1
