"""The data files of this room, each read once."""

from functools import cache
from typing import Any

from envcfg.common.datafile import load_kept_file


@cache
def load_table(name: str) -> Any:  # noqa: ANN401  # checked by tests, not at each start
    """Return the content of ``envcfg/log/NAME.yaml``, which nobody changes."""
    return load_kept_file(f"log/{name}.yaml")
