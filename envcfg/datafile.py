"""The project's own data: YAML files beside the modules that use them."""

from __future__ import annotations

import os
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
    return load_yaml(os.path.join(_KNOWLEDGE, name))
