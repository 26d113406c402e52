"""How far a long work is, on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from envcfg.interrupts import raise_signals
from envcfg.log.source import LARGE
from envcfg.report.styled import is_screen


@contextmanager
def reading(files: Sequence[str]) -> Iterator[Any]:
    """Show how far reading is, on a terminal and for much to read."""
    total = sum(os.path.getsize(name) for name in files if os.path.isfile(name))
    if total < LARGE or not is_screen(sys.stderr):
        yield lambda _: None
        return
    raise_signals()  # the bar hides the terminal's cursor
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = ("reading", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)
