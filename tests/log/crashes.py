"""The logs of ``crashes.txt`` by name, each with the first line that is expected of it."""

from __future__ import annotations

import re
from pathlib import Path

_FILE = Path(__file__).with_name("crashes.txt")
CRASHES = {
    found[1]: (found[2], found[3])
    for found in re.finditer(
        r"^=== (\S+)\n> (.*)\n((?:(?!=== ).*\n)*)",
        _FILE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}
