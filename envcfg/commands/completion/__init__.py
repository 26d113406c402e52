"""``envcfg completion``: scripts for the completion of envcfg's command lines."""

import argparse
import sys

from envcfg.common.errors import UsageError

SHELLS = ("bash", "zsh")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``completion``."""
    parser.add_argument(
        "shell", metavar="SHELL", nargs="?", choices=SHELLS, help=", ".join(SHELLS)
    )
    # The scripts use it; the words of the line come after a --.
    parser.add_argument("--values", metavar="KIND", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Write the script of a shell, or the possible values at a position.

    Args:
        options: its ``build_parser`` makes the parser of all commands. With
            ``--values``, the words of the line, up to the one to complete, come after
            ``--``.
    """
    if options.values is not None:
        from envcfg.commands.completion.completion_values import values

        candidates = values(options.values, options.command or ())
        sys.stdout.writelines(f"{name}\n" for name in candidates)
        return 0
    if options.command:
        msg = "envcfg completion runs no command"
        raise UsageError(msg, hint=f"leave out -- {options.command[0]}")
    if options.shell is None:
        msg = "no shell given"
        raise UsageError(msg, hint=f"envcfg completion {'|'.join(SHELLS)}")
    from envcfg.commands.completion.completion_script import completion_script

    sys.stdout.write(completion_script(options.build_parser(), options.shell))
    return 0
