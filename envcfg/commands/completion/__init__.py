"""``envcfg completion``: what lets a shell complete envcfg's command lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from envcfg.commands import Command, Next
from envcfg.errors import UsageError

SHELLS = ("bash", "zsh", "fish", "tcsh")
_EPILOG = """\
The script holds all commands and options; names of profiles, partitions and rules are
asked for when they are completed. Write it anew after an update of envcfg.

examples:
  envcfg completion bash >~/.local/share/bash-completion/completions/envcfg
  envcfg completion zsh >~/.zfunc/_envcfg    # in .zshrc: fpath=(~/.zfunc $fpath), compinit
  envcfg completion fish >~/.config/fish/completions/envcfg.fish
  envcfg completion tcsh >~/.envcfg.tcsh     # in .tcshrc: source ~/.envcfg.tcsh

  # in this shell alone
  source <(envcfg completion bash)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``completion``."""
    parser.add_argument(
        "shell", metavar="SHELL", nargs="?", choices=SHELLS, help=", ".join(SHELLS)
    )
    # The scripts ask by it; the words of the line so far stand behind a --.
    parser.add_argument("--values", metavar="KIND", help=argparse.SUPPRESS)


def run(
    options: argparse.Namespace, more: Sequence[str] | None, _: Sequence[str]
) -> int:
    """Write the script of a shell, or the values that may stand at a place.

    Args:
        options: ``build_parser`` in it makes the parser of all commands.
        more: of ``--values``, the words of the line, up to the one that is completed.
    """
    if options.values is not None:
        from envcfg.commands.completion.values import values

        sys.stdout.writelines(f"{each}\n" for each in values(options.values, more))
        return 0
    if more:
        msg = "envcfg completion runs no command"
        raise UsageError(msg, hint=f"leave out -- {more[0]}")
    if options.shell is None:
        msg = "no shell given"
        raise UsageError(msg, hint=f"envcfg completion {'|'.join(SHELLS)}")
    from envcfg.commands.completion.script import completion_script

    sys.stdout.write(completion_script(options.build_parser(), options.shell))
    return 0


COMMAND = Command(
    help="let the shell complete commands, options, profiles, rules",
    usage=f"envcfg completion {'|'.join(SHELLS)}",
    epilog=_EPILOG,
    add_options=add_options,
    run=run,
    next={"": Next("envcfg completion --help says where this belongs")},
    description="Write what lets a shell complete commands, options and their values.",
)
