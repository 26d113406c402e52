"""The script by which a shell completes: made by shtab of the parsers as they are.

What shtab cannot know stands in ``shells/``: where values are asked for, and what comes
behind a ``--``.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

SHELLS_FOLDER = Path(__file__).parent / "shells"
_FILE, _FOLDER = "file", "folder"  # what a shell completes by itself
# What an option's metavar means; None: a text or number that nobody can guess.
MEANT: Mapping[str, str | None] = {
    "NAME|FILE": "profiles",
    "A": "profiles",
    "B": "profiles",
    "FAMILY": "profiles",
    "PARTITION": "partitions",
    "RULE[,RULE...]": "rules",
    "RULE|VARIABLE|WORDS": "subjects",
    "FILE": _FILE,
    "FILE|CMD": _FILE,
    "FILE.json": _FILE,
    "PROFILE.yaml": _FILE,
    "REPORT.json": _FILE,
    "IMAGE": _FILE,
    "SCRIPT": _FILE,
    "SPEC": _FILE,
    "DIR": _FOLDER,
    **dict.fromkeys(
        "ARG COMMAND GIB JOBID LIST N NAME NAME=VALUE N[,N...] OPTION PATTERN "
        "PERCENT SECONDS SIZE TEXT TIME TIME[=stop] WHAT [NAME@]SECONDS".split()
    ),
}
_BOTH = {"profiles"}  # a file may stand there as well
_NATIVE = {
    "zsh": {_FILE: "_files", _FOLDER: "_files -/"},
    "fish": {
        _FILE: "(__fish_complete_path (commandline -ct))",
        _FOLDER: "(__fish_complete_directories (commandline -ct))",
    },
    "tcsh": {_FILE: "f", _FOLDER: "d"},
}


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the completion script of *shell* for all that *parser* reads.

    The parser is of no other use afterwards.
    """
    import shtab

    for action in taking_values(parser):
        if action.choices is None and (kind := MEANT.get(str(action.metavar))):
            action.complete = {shell: _completer(shell, kind)}  # type: ignore[attr-defined]
        if shell == "zsh":  # its --profile= is --profile NAME as well
            action.option_strings = [
                f"{each}=" if each.startswith("--") else each
                for each in action.option_strings
            ]
    path = SHELLS_FOLDER / f"completion.{shell}"
    preamble = path.read_text(encoding="utf-8") if path.exists() else ""
    text: str = shtab.complete(parser, shell, preamble=preamble)
    return _mended(text, shell).rstrip("\n") + "\n"


def taking_values(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield what takes a value, of all commands and of the commands' commands."""
    for action in parser._actions:  # noqa: SLF001  # argparse has no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for each in action.choices.values():
                yield from taking_values(each)
        elif action.nargs != 0:
            yield action


def _completer(shell: str, kind: str) -> str:
    """Return what *shell* calls for values of *kind*."""
    if shell == "bash":
        return f"_envcfg_{kind}"
    native = _NATIVE[shell]
    if kind in native:
        return native[kind]
    if shell == "zsh":
        return f"_envcfg_{kind}"
    if shell == "tcsh":
        return f"`envcfg completion --values {kind}`"
    files = f"; {native[_FILE][1:-1]}" if kind in _BOTH else ""
    return f"(_envcfg_values {kind}{files})"


def _mended(text: str, shell: str) -> str:
    """Return what shtab made, with what it leaves to be wished for."""
    # The directions are ours to give: envcfg completion --help.
    text = re.sub(r"(?m)^# (?:Usage:|\d\) |See also: |   ).*\n", "", text)
    if shell == "bash":
        return text.replace("-F _shtab_envcfg envcfg", "-F _envcfg envcfg")
    if shell == "fish":
        behind = "contains -- -- (commandline -opc)"
        return f"{text}complete -c envcfg -n '{behind}' -xa '(_envcfg_command)'\n"
    if shell == "zsh":  # which may also be sourced
        return text.replace("[-1] == eval ", "[-1] == (eval|file) ")
    if shell == "tcsh":
        # What stands on the line is data: without :x, tcsh would run what is in `...`.
        text = text.replace("($COMMAND_LINE ", "($COMMAND_LINE:x ")
        # A second argument of one command would be that of all.
        text = re.sub(r"(?m)^ *'p/[2-9]/.*\n", "", text)
        return text.replace("'p/*/()/'", "'p/*/f/'")
    return text
