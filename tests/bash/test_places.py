"""Nothing is written where somebody else could have put a link: every shell file, by its tree."""

from __future__ import annotations

from pathlib import Path

import envcfg

ROOT = Path(envcfg.__file__).parent
FILES = sorted(ROOT.glob("**/*.sh"))
# What makes or changes a file, and where it may: a folder that place.sh has made.
WRITERS = "cp dd install ln mkfifo mknod mktemp mv tee touch truncate".split()
KNOWN = {
    # file, what is written to: why nobody else can have put it there
    ("place.sh", 'mkdir -m 700 -- "$1"'): "the helper itself",
}
