"""The file that the user's command runs, as it looks on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence

from envcfg.errors import nearest
from envcfg.findings import Finding
from envcfg.launch.recognise import PYTHON_VALUES
from envcfg.launch.shell_text import SHELLS, script_file

_MOST = 2000  # names of a folder among which a near one is looked for


def program_notes(
    command: Sequence[str], folder: str, *, is_contained: bool
) -> list[Finding]:
    """Say that the file of *command* is not here, or that its Python file starts alone.

    It is a warning: the file may be there in the job alone. An absolute path in a
    container is the image's, unless a name like it stands in that folder here.

    Args:
        command: the program and its arguments, behind what names a launcher.
        folder: to which a relative path belongs.
        is_contained: the command runs in a container.
    """
    path = _file_of(command) if command else None
    if path is None or (path == command[0] and _is_program(path)):
        return []
    at = os.path.normpath(os.path.join(folder, path))
    is_python = path == command[0] and path.endswith(".py")
    if os.path.exists(at):
        said = "is not a program that can be started directly"
        fix = f"-- python {path} ..."
        note = Finding("program-not-started", "warning", path, said, fix)
        return [note] if is_python else []
    fix = "give the path as the job sees it"
    if near := _near(at):
        like = os.path.join(os.path.dirname(path), near)
        fix = f"did you mean {'python ' if is_python else ''}{like}?"
    elif is_contained and path.startswith("/"):
        return []
    said = (
        f"does not exist on this machine, in {os.path.dirname(at)}; the job looks again"
    )
    return [Finding("program-not-here", "warning", path, said, fix)]


def _file_of(command: Sequence[str]) -> str | None:
    """Return the file that Python or a shell is to run, or that is named by its path."""
    first, name = command[0], command[0].rpartition("/")[2]
    if name in SHELLS:
        return script_file(command)
    if name.rstrip("0123456789.") != "python":
        return first if "/" in first or first.endswith(".py") else None
    at = 1
    while at < len(command) and (word := command[at]).startswith("-"):
        if word == "-" or (word[1:2] != "-" and word[-1] in "cm"):
            return None  # standard input, a text or a module
        at += 2 if word in PYTHON_VALUES else 1
    return command[at] if at < len(command) else None


def _is_program(name: str) -> bool:
    from shutil import which

    return which(name) is not None


def _near(path: str) -> str | None:
    """Return the file with a name like that of *path*, with its ending, if one is there."""
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    try:
        names = os.listdir(folder)[:_MOST]
    except (OSError, ValueError):  # a NUL is not a path
        return None
    stems = [root for root, end in map(os.path.splitext, names) if end == ending]
    near = nearest(stem, stems)
    return near and f"{near}{ending}"
