"""Whole scripts with the idioms of guides: the converted script starts the same programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compare import compared

GUIDES = sorted((Path(__file__).parent / "guides").iterdir())
# Options of ``wrap`` for a script, in its second line.
_OPTIONS = re.compile(r"\A.*\n# (--line .*)$", re.MULTILINE)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_script_of_a_guide_starts_the_same(guide: Path, tmp_path: Path) -> None:
    script = guide.read_text()
    options = _OPTIONS.match(script)
    words = options[1].split() if options else []
    assert compared(script, tmp_path, *words) == ""
