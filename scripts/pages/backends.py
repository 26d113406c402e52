"""The tables of what is a record: runtimes, launchers, schedulers, facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from envcfg.backends import programs, runtimes
from envcfg.backends.launchers import LAUNCHERS
from envcfg.backends.schedulers import SCHEDULERS
from envcfg.backends.starters import STARTERS
from envcfg.common.datafile import load_yaml
from envcfg.profile.conditions import FACTS
from scripts.pages.markdown import code, text

_SAID = load_yaml(str(Path(__file__).with_suffix(".yaml")))


def runtime_rows() -> Iterator[list[str]]:
    """Yield the rows of docs/runtimes.md."""
    folder = Path(programs.__file__).parent
    entries = [load_yaml(str(path)) for path in folder.glob("*.yaml")]
    pages = {k: v for entry in entries for k, v in entry.get("pages", {}).items()}
    for name in runtimes.NAMES:
        known = runtimes.runtime(name)
        cells = [pages[name][each] for each in ("image", "environment", "tried")]
        yield [code(name), code(known.sign), *cells]


def launcher_rows() -> Iterator[list[str]]:
    """Yield the rows of docs/launchers.md."""
    for name, known in LAUNCHERS.items():
        task = STARTERS[name].task if name in STARTERS else "a rank"
        if known.is_agent:
            task = f"a node; {name} starts the ranks"
        elif known.is_whole:
            task = "a node, with all its GPUs and cores"
        if known.is_once:
            task = "the job; it has the first node"
        yield [code(name), task, _SAID["launchers"].get(name, "nothing")]


def program_rows() -> Iterator[list[str]]:
    """Yield the table of programs in docs/launchers.md."""
    for row in load_yaml("knowledge/programs.yaml").values():
        words = [*row.get("options", ()), *row.get("variables", ())]
        gets = ", ".join(map(code, words)) or "nothing"
        if "launcher" in row:
            gets = f"replaced by `--launcher {row['launcher']}`"
        elif "needs" in row:
            gets = f"the cluster of `--launcher {row['needs']}`"
        begins = ", ".join(map(code, row["begins"]))
        when = f", with {code(row['when'])}" if "when" in row else ""
        source = f"{row['source']}, {row['date']}"
        yield [f"{begins}{when}", row["kind"], gets, str(row.get("since", "")), source]


def scheduler_rows() -> Iterator[list[str]]:
    """Yield the rows of docs/job.md."""
    for name, known in SCHEDULERS.items():
        lacks = ", ".join(map(code, known.lacks)) or "none"
        yield [known.title, code(name), code(known.submit), lacks]


def fact_rows() -> Iterator[list[str]]:
    """Yield the rows of docs/profile-keys.md."""
    for name, known in FACTS.items():
        yield [code(name), known.kind, text(known.about)]
