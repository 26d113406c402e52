"""scripts/retry: what fetches is tried again, and fails aloud in the end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support import ROOT

# Ends with the codes that it is given, one at each try; the last one stays.
PROGRAM = """\
tried=$(cat tried 2>/dev/null || echo 0)
echo $((tried + 1)) >tried
shift "$((tried < $# ? tried : $# - 1))"
exit "$1"
"""


@pytest.mark.parametrize(
    ("codes", "code", "tries"),
    [
        ("0", 0, 1),
        ("1 0", 0, 2),
        ("1 2 0", 0, 3),
        ("1 2 3 0", 3, 3),
        ("130 0", 130, 1),  # Ctrl-C
        ("127 0", 127, 1),  # no such program: there will be none later
    ],
)
def test_it_tries_three_times(
    codes: str, code: int, tries: int, tmp_path: Path
) -> None:
    done = subprocess.run(
        [ROOT / "scripts/retry", "sh", "-c", PROGRAM, "sh", *codes.split()],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "RETRY_PAUSE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, (tmp_path / "tried").read_text()) == (code, f"{tries}\n")
    failed = [line for line in done.stderr.splitlines() if "scripts/retry: try" in line]
    assert len(failed) == (tries if code in range(1, 126) else tries - 1)
