"""argparse, made to raise instead of leaving, and to start quickly."""

from __future__ import annotations

import argparse
from typing import NoReturn

from envcfg.errors import UsageError


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as it is written, 88 columns wide.

    argparse makes one for every option; to ask the terminal for its width each time would
    import a module that costs more than all of them.
    """

    def __init__(self, prog: str) -> None:
        """Format help for *prog*."""
        super().__init__(prog, max_help_position=30, width=88)


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving, so that one place decides what is said."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found wrong, with where to read on."""
        hint = f"see {self.prog} --help"
        if message.startswith("unrecognized arguments") and " -" not in message:
            hint = f"a command stands behind a --, as in -- {message.split(': ')[1]}"
        raise UsageError(message, hint=hint)
