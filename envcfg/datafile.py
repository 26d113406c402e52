"""The project's own data: YAML files beside the modules that use them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

_KNOWLEDGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "knowledge")


def load_yaml(path: str) -> Any:  # noqa: ANN401  # checked by tests, not at each start
    """Read one of our own data files."""
    with open(path, encoding="utf-8") as file:
        return parse_yaml(file.read())


def parse_yaml(text: str) -> Any:  # noqa: ANN401  # as above
    """Read the text of one of our own data files, or of a part of it."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(text, loader)  # noqa: S506  # a safe loader, in C where there is one


def load_knowledge_file(name: str) -> Any:  # noqa: ANN401  # as above
    """Read ``envcfg/knowledge/NAME``."""
    return load_yaml(knowledge_path(name))


def knowledge_path(name: str) -> str:
    """Return where ``envcfg/knowledge/NAME`` is."""
    return os.path.join(_KNOWLEDGE, name)


def load_kept(name: str, paths: Sequence[str]) -> list[Any]:
    """Read several of our own data files, whose YAML takes longer than all that follows.

    Args:
        name: under which what they say is kept in the user's folder, until one changes.
        paths: of the files.
    """
    from envcfg.kept import keep, kept_folder, recall

    stats = [os.stat(path) for path in paths]
    key = [
        [path, status.st_size, status.st_mtime_ns]
        for path, status in zip(paths, stats, strict=True)
    ]
    folder = kept_folder(os.environ)
    found: list[Any] | None = recall(folder, name, key) if folder else None
    if found is None:
        import json

        read = [load_yaml(path) for path in paths]
        # The same, kept or not: a date is text.
        found = json.loads(json.dumps(read, default=str))
        if folder:
            keep(folder, name, key, found)
    return found
