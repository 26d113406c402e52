"""Pictures of what commands print on a terminal, for pages of docs/."""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
_COLUMNS = 100
_LUMI = "--profile lumi-g --container pytorch.sif --no-inspect"
_MOST = 60  # lines of a picture


def pictures() -> Mapping[str, str]:
    """Return each picture by its path in docs/, as SVG.

    Raises:
        RuntimeError: a command ended in a way that it should not have.
    """
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copy(ROOT / "examples/slow-job.out", here / "slurm-123.out")
        (here / "pytorch.sif").touch()
        shown = {
            "readme": ("check-log slurm-123.out", 1),
            "explain": ("explain NCCL_NET_GDR_LEVEL --profile lumi-g", 0),
            "plan": (f"wrap {_LUMI} --print plan -- python train.py", 0),
        }
        return {
            f"images/{name}.svg": _drawn(words, code, here)
            for name, (words, code) in shown.items()
        }


def drawn_words(picture: str) -> str:
    """Return what a picture says, whichever version of Rich has drawn it."""
    lines = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    return " ".join("".join(lines).replace("&#160;", " ").split())


def _drawn(words: str, code: int, folder: Path) -> str:
    from rich.console import Console
    from rich.text import Text

    said = _run(words.split(), code, folder)
    said = said.replace(str(folder), "/users/me")
    lines = said.replace("\r\n", "\n").rstrip("\n").split("\n")
    if len(lines) > _MOST:
        lines = [*lines[:_MOST], "..."]
    console = Console(width=_COLUMNS, record=True, file=io.StringIO())
    console.print(Text(f"$ envcfg {words}", style="bold"))
    console.print(Text.from_ansi("\n".join(lines)))
    # Fonts of the reader's machine: nothing is fetched.
    svg = console.export_svg(title="", unique_id="p", font_aspect_ratio=0.61)
    start, end = svg.find("@font-face"), svg.rfind("@font-face")
    end = svg.find("}", end) + 1
    return svg[:start] + svg[end:] if start >= 0 else svg


def _run(words: list[str], code: int, folder: Path) -> str:
    """Return what a command of envcfg writes on a terminal."""
    ours, its = pty.openpty()
    env = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "TERM": "xterm-256color",
        "COLUMNS": str(_COLUMNS),
        "LANG": "C.UTF-8",
    }
    command = [sys.executable, "-m", "envcfg", *words]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**env, "PYTHONPATH": str(ROOT)},
        stdout=its,
        stderr=its,
    ) as process:
        os.close(its)
        said = b""
        while piece := _read(ours):
            said += piece
    os.close(ours)
    if process.returncode != code:
        msg = f"envcfg {' '.join(words)} ended with {process.returncode}, not {code}"
        raise RuntimeError(msg)
    return said.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the last writer has closed it
        return b""
