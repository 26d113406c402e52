"""The start of a step with 2 GB of kept compile caches, against staging them by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.race import Command, best
from benchmarks.rows import Row, ratio_row

FILES, SIZE = 16_000, 125_000  # bytes of each; half of them are zeros, as in libraries
MOST = 2.0  # times the staging by hand, which checks nothing
_FILLER = f"""\
import os, random
random.seed(0)
for number in range({FILES}):
    folder = f"{{os.environ['TORCHINDUCTOR_CACHE_DIR']}}/{{number % 256:02x}}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{{folder}}/{{number}}", "wb") as file:
        file.write(random.randbytes({SIZE // 2}) + bytes({SIZE // 2}))
"""
_PROFILE = """\
name: bench
launch: {{launchers: [local]}}
scratch: {{root: {disk}, why: for measurements, source: none, date: 2026-11-25}}
"""
# An archive is copied to the node, unpacked there, and removed after the step.
_BY_HAND = """\
set -eu
folder=$(mktemp -d {disk}/by-hand-XXXXXX)
cp {archive} "$folder/archive"
mkdir "$folder/inductor"
tar -I zstd -xf "$folder/archive" -C "$folder/inductor"
rm "$folder/archive"
TORCHINDUCTOR_CACHE_DIR=$folder/inductor true
rm -rf "$folder"
"""


def measure(folder: Path) -> list[Row]:
    """Keep 2 GB by one job, and time the next one; and jobs that keep nothing."""
    disk, env = (
        folder / "disk",
        folder / "env/lib/python3.11/site-packages/x-1.dist-info",
    )
    disk.mkdir()
    env.mkdir(parents=True)
    filler = folder / "fill.py"
    filler.write_text(_FILLER)
    Path("bench.yaml").write_text(_PROFILE.format(disk=disk))
    words = {"VIRTUAL_ENV": str(folder / "env"), "PYTHONPATH": ""}
    environ = {**os.environ, **words}
    fill = _script(folder / "kept", f"exec {sys.executable} {filler}")
    subprocess.run(["bash", "-c", fill], env=environ, check=True)
    (archive,) = (folder / "kept").glob("*/inductor-*.tar.zst")
    scripts = {
        "kept": _script(folder / "kept", "true"),
        "by hand": _BY_HAND.format(disk=disk, archive=archive),
        "nothing kept": _script(folder / "none", "true"),
        "plain": _script(None, "true"),
    }
    usages = best(
        {
            name: Command(["/bin/bash", "-c", script], environ)
            for name, script in scripts.items()
        },
        rounds=3,
    )
    return [
        ratio_row(
            "start and end of a step with 2 GB of kept caches",
            measured=usages["kept"].seconds,
            peer=usages["by hand"].seconds,
            against="cp, tar and rm by hand",
            unit="s",
            most=MOST,
        ),
        ratio_row(
            "step with --keep-caches, nothing kept",
            measured=usages["nothing kept"].seconds * 1000,
            peer=usages["plain"].seconds * 1000,
            against="a step without",
        ),
    ]


def _script(kept: Path | None, command: str) -> str:
    """Return the script of a step, with its caches in *kept*."""
    keep = ["--keep-caches", str(kept)] if kept else []
    words = ["--profile", "./bench.yaml", "--container", "none", "--no-inspect", *keep]
    argv = [sys.executable, "-m", "envcfg", "wrap", *words, "--", "sh", "-c", command]
    return subprocess.run(argv, capture_output=True, check=True, text=True).stdout
