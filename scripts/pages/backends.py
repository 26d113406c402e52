"""The tables of what is a record: runtimes, launchers, schedulers, facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from envcfg import runtimes
from envcfg.datafile import load_yaml
from envcfg.launchers import LAUNCHERS
from envcfg.profile.conditions import FACTS
from envcfg.schedulers import SCHEDULERS
from envcfg.starters import STARTERS
from scripts.pages.markdown import code, text

_SAID = load_yaml(str(Path(__file__).with_suffix(".yaml")))


def runtime_rows() -> Iterator[list[str]]:
    """Yield the rows of docs/runtimes.md."""
    for name in runtimes.NAMES:
        known = runtimes.runtime(name)
        said = _SAID["runtimes"][name]
        cells = [said[each] for each in ("image", "environment", "tried")]
        yield [code(name), code(known.sign), *cells]


def launcher_rows() -> Iterator[list[str]]:
    """Yield the rows of docs/launchers.md."""
    for name, known in LAUNCHERS.items():
        task = STARTERS[name].task if name in STARTERS else "a rank"
        if known.is_agent:
            task = f"a node; {name} starts the ranks"
        elif known.is_whole:
            task = "a node, with all its GPUs and cores"
        yield [code(name), task, _SAID["launchers"].get(name, "nothing")]


def scheduler_rows() -> Iterator[list[str]]:
    """Yield the rows of docs/sbatch.md."""
    for name, known in SCHEDULERS.items():
        lacks = ", ".join(map(code, known.lacks)) or "none"
        yield [known.title, code(name), code(known.submit), lacks]


def fact_rows() -> Iterator[list[str]]:
    """Yield the rows of docs/profile-keys.md."""
    for name, known in FACTS.items():
        yield [code(name), known.kind, text(known.about)]
