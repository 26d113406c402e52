"""argparse, made to raise instead of leaving, and to start quickly."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from envcfg.errors import UsageError


class ParseError(UsageError):
    """A command line that argparse refuses.

    Attributes:
        taken: the options that it had taken before, with the defaults of the others.
    """

    def __init__(self, message: str, *, hint: str, taken: argparse.Namespace) -> None:
        """Keep what went wrong, what to do, and what was taken."""
        super().__init__(message, hint=hint)
        self.taken = taken


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

    taken = argparse.Namespace()

    def parse_known_args(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        namespace: Any = None,  # noqa: ANN401  # as argparse has it
    ) -> tuple[Any, list[str]]:
        """Parse as always, and remember what is taken, so that errors can tell."""
        self.taken = argparse.Namespace() if namespace is None else namespace
        return super().parse_known_args(args, self.taken)

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ANN401
        """Write *message*; where argparse says nothing of an error, this one is raised."""
        if file is not None:
            file.write(message)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found wrong, with where to read on."""
        hint = f"see {self.prog} --help"
        if message.startswith("unrecognized arguments") and " -" not in message:
            hint = f"a command stands behind a --, as in -- {message.split(': ')[1]}"
        raise ParseError(message, hint=hint, taken=self.taken)
