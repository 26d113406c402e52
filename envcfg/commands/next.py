"""What one does next: a line on a terminal's stderr, for those who are new here."""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from envcfg.characters import one_line
from envcfg.commands import load


def next_step(options: argparse.Namespace, code: int) -> str | None:
    """Return what comes after a command; None where nothing is to be said.

    Args:
        options: those of the command, as they were read.
        code: its exit code.
    """
    given = vars(options)
    name = ".".join(filter(None, (options.command_name, given.get("action"))))
    rows = load(name).next
    row = next((rows[each] for each in rows if given.get(each)), rows.get(""))
    if row is None or code not in {0, 1, 3} or given.get("values") is not None:
        return None
    text = row.done if code == 0 or row.found is None else row.found
    return text.format(**{each: _shown(value) for each, value in given.items()})


def say_next(options: argparse.Namespace, code: int) -> None:
    """Write it to stderr, but not where ``ENVCFG_QUIET`` is set."""
    if not os.environ.get("ENVCFG_QUIET") and (text := next_step(options, code)):
        sys.stdout.flush()
        sys.stderr.write(f"envcfg: next: {text}\n")


def _shown(value: object) -> str:
    first = value[0] if isinstance(value, list) and value else value
    return one_line(shlex.quote(str(first)))
