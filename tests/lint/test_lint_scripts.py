"""Job scripts after training material: each of their faults is found, and none invented.

They have the structure and the faults of scripts on slides and in courses; a line with a
fault says which, behind ``#:``, that is cut off before the script is read.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from following import found_in

SCRIPTS = Path(__file__).parent / "scripts"
_EXPECTED = re.compile(r"[ \t]*#: ((?:EC\d+ ?)+)$", re.MULTILINE)


@pytest.mark.parametrize(
    "folder", sorted(SCRIPTS.iterdir()), ids=lambda each: each.name
)
def test_each_fault_is_found_and_none_invented(folder: Path, tmp_path: Path) -> None:
    texts, expected = {}, set()
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if said := _EXPECTED.search(line):
                expected |= {(path.name, number, rule) for rule in said[1].split()}
        texts[path.name] = _EXPECTED.sub("", text)
    assert set(found_in(texts, tmp_path)) == expected
