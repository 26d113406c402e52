"""``wrap --from``: the new script starts what the old one did, or there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from compare import compared
from old_scripts import PIECES_BEFORE, scripts

import fuzzing
from suites import NIGHTLY

SCRIPTS = scripts()


# The daily suite compares the forms of a line; the pieces before it are nightly.
GROUPS = [
    pytest.param(before, marks=NIGHTLY) for before in (*PIECES_BEFORE, ";", "other")
]


@pytest.mark.parametrize("before", [*GROUPS, ""])
def test_a_script_starts_the_same(before: str, tmp_path: Path) -> None:
    """In groups: what stands before the line; its forms; the faults that were found."""
    chosen = {
        name: script
        for name, script in SCRIPTS.items()
        if (
            name.startswith(f"{before}, ")
            if before not in {"", ";", "other"}
            else name.startswith("other ")
            if before == "other"
            else (";" in name) == (before == ";")
            and ", " not in name
            and not name.startswith("other ")
        )
    }
    assert chosen
    found = {}
    today = fuzzing.of_today(chosen, every=3)
    for number, (name, script) in enumerate(today.items()):
        (tmp_path / str(number)).mkdir()
        if said := compared(script, tmp_path / str(number)):
            found[name] = said
    assert found == {}


def test_there_are_as_many_scripts_as_promised() -> None:
    assert len(SCRIPTS) >= 400
