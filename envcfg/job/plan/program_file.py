"""The words of the user's command, checked on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence

from envcfg.common.errors import nearest
from envcfg.common.findings import Finding
from envcfg.job.plan.command_launcher import python_end
from envcfg.job.plan.shell_text import SHELLS, script_file

_MOST = 2000  # names of a folder that are compared with a missing one


def program_notes(
    command: Sequence[str], folder: str, *, is_contained: bool
) -> list[Finding]:
    """Warn if the file of *command* is missing here, or is Python code without "python".

    It is a warning because the file may exist only in the job. In a container, an
    absolute path belongs to the image, unless that folder here has a similar name.

    Args:
        command: the program and its arguments, without the launcher.
        folder: the base of a relative path.
        is_contained: the command runs in a container.
    """
    first = command[0] if command else ""
    if " " in first and not os.path.exists(os.path.join(folder, first)):
        fix = f"leave out the quotes: -- {first}"
        message = "is one word, and no program has this name"
        return [Finding("program-not-here", "warning", first, message, fix)]
    path = _file_of(command) if command else None
    if path is None or (path == command[0] and _is_program(path)):
        return []
    program = os.path.normpath(os.path.join(folder, path))
    is_python = path == command[0] and path.endswith(".py")
    if os.path.exists(program):
        message = "is not a program that can be started directly"
        fix = f"-- python {path} ..."
        note = Finding("program-not-started", "warning", path, message, fix)
        return [note] if is_python else []
    fix = "give the path as the job sees it"
    if near := _near(program):
        like = os.path.join(os.path.dirname(path), near)
        fix = f"did you mean {'python ' if is_python else ''}{like}?"
    elif is_contained and path.startswith("/"):
        return []
    folder_of = os.path.dirname(program)
    message = f"does not exist on this machine, in {folder_of}; the job checks again"
    return [Finding("program-not-here", "warning", path, message, fix)]


def literal_notes(command: Sequence[str]) -> list[Finding]:
    """Note the words that begin with a variable: envcfg passes them on unchanged."""
    import re

    name = r"(?:[^=$]+=)?\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})(?:[/:.-].*)?"
    literal = [
        word
        for before, word in zip(("", *command), command, strict=False)
        # The word after -c is the text of a shell, which expands it.
        if re.fullmatch(name, word, re.S) and not re.fullmatch(r"-\w*c", before)
    ]
    message = "stays as it is written, because envcfg expands no variables"
    fix = "let your shell expand it, in double quotes instead of single quotes"
    words = ", ".join(dict.fromkeys(literal))
    return [Finding("variable-literal", "note", words, message, fix)] * bool(literal)


def _file_of(command: Sequence[str]) -> str | None:
    """Return the file that Python or a shell would run, or that the command names by
    path."""
    first, name = command[0], command[0].rpartition("/")[2]
    if name in SHELLS:
        return script_file(command)
    if name.rstrip("0123456789.") != "python":
        return first if "/" in first or first.endswith(".py") else None
    end = python_end(command)
    return end.value if end and not end.name and end.value != "-" else None


def _is_program(name: str) -> bool:
    from shutil import which

    return which(name) is not None


def _near(path: str) -> str | None:
    """Return a file with a name similar to that of *path*, and the same suffix, if any."""
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    try:
        names = os.listdir(folder)[:_MOST]
    except (OSError, ValueError):  # a NUL is not a path
        return None
    stems = [root for root, end in map(os.path.splitext, names) if end == ending]
    near = nearest(stem, stems)
    return near and f"{near}{ending}"
