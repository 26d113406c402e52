"""``envcfg completion``: what lets a shell complete envcfg's command lines."""

import argparse
import sys

from envcfg.errors import UsageError

SHELLS = ("bash", "zsh", "fish", "tcsh")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``completion``."""
    parser.add_argument(
        "shell", metavar="SHELL", nargs="?", choices=SHELLS, help=", ".join(SHELLS)
    )
    # The scripts ask by it; the words of the line so far stand behind a --.
    parser.add_argument("--values", metavar="KIND", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Write the script of a shell, or the values that may stand at a place.

    Args:
        options: ``build_parser`` in it makes the parser of all commands; behind the ``--``
            stand, of ``--values``, the words of the line, up to the one to complete.
    """
    if options.values is not None:
        from envcfg.commands.completion.values import values

        found = values(options.values, options.command)
        sys.stdout.writelines(f"{each}\n" for each in found)
        return 0
    if options.command:
        msg = "envcfg completion runs no command"
        raise UsageError(msg, hint=f"leave out -- {options.command[0]}")
    if options.shell is None:
        msg = "no shell given"
        raise UsageError(msg, hint=f"envcfg completion {'|'.join(SHELLS)}")
    from envcfg.commands.completion.script import completion_script

    sys.stdout.write(completion_script(options.build_parser(), options.shell))
    return 0
