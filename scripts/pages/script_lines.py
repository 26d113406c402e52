"""The lines of scripts, by profile, and those of the modules of bash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from envcfg import api
from envcfg.backends.runtimes import USUAL, runtime
from envcfg.job.plan.script_files import MachineryPlace
from envcfg.job.script.host_part import render_files
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder

_FORMER = Path(__file__).with_name("former_lines.txt")
_COMMAND = ["python", "t.py"]


def former_lines() -> dict[str, int]:
    """Return the lines of each module before the modules had a head (49b3afca)."""
    pairs = (line.split() for line in _FORMER.read_text().splitlines())
    return {name: int(lines) for name, lines in pairs}


def profile_rows() -> Iterator[list[str]]:
    """Yield each profile with the lines of its script, and of one with ``--inline``."""
    catalog = Catalog([built_in_folder()])
    for name in catalog.names():
        known = (catalog.load(name).runtimes or USUAL)[0]
        image = runtime(known).example
        plan = api.make_plan(
            _COMMAND, container=image, profile=name, runtime=known, no_inspect=True
        )
        place = MachineryPlace("/home/me/.envcfg", "envcfg wrap")
        texts = [render_files(plan, _COMMAND, folder) for folder in (place, None)]
        yield [f"`{name}`", *(str(files.script.count("\n")) for files in texts)]
