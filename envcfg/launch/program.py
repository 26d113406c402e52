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
    """Say that the file of *command* is not here, or is started as no program can be.

    It is a warning: the file may be there in the job alone. An absolute path in a
    container is the image's own, unless a name like it stands in that folder here.

    Args:
        command: the program and its arguments, behind what names a launcher.
        folder: to which a relative path belongs.
        is_contained: the command runs in a container.
    """
    from shutil import which

    first = command[0] if command else ""
    path = _file_of(command)
    if path is None or (path == first and which(path)):
        return []
    at = os.path.normpath(os.path.join(folder, path))
    is_python = path == first and path.endswith(".py")
    fix = f"-- python {path} ..." if is_python else "give the path as the job sees it"
    if os.path.exists(at):
        if path != first:
            return []
        what = "is not executable" if "/" in path else "is no program on PATH"
        said = f"{what}; the job cannot start it as it stands"
        fix = fix if is_python else f"chmod +x {path}"
        return [Finding("program-not-started", "warning", path, said, fix)]
    near = _near(at)
    if near:
        like = os.path.join(os.path.dirname(path), near)
        fix = f"did you mean {'python ' if is_python else ''}{like}?"
    elif is_contained and path.startswith("/"):
        return []
    where = os.path.dirname(at) or "/"
    said = f"does not exist on this machine, in {where}; the job looks again"
    return [Finding("program-not-here", "warning", path, said, fix)]


def _file_of(command: Sequence[str]) -> str | None:
    """Return the file that Python or a shell is to run, or that is named by its path."""
    if not command:
        return None
    first, name = command[0], command[0].rpartition("/")[2]
    if name in SHELLS:
        return script_file(command)
    if name.rstrip("0123456789.") == "python":
        return _python_file(command)
    return first if "/" in first or first.endswith(".py") else None


def _python_file(words: Sequence[str]) -> str | None:
    """Return the file that Python runs; None of a module, a text or standard input."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        if word == "-" or (word[1:2] != "-" and word[-1] in "cm"):
            return None
        at += 2 if word in PYTHON_VALUES else 1
    return words[at] if at < len(words) else None


def _near(path: str) -> str | None:
    """Return the file with a name like that of *path*, with its ending, if one is there."""
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    try:
        with os.scandir(folder) as there:
            names = [each.name for each, _ in zip(there, range(_MOST), strict=False)]
    except (OSError, ValueError):  # a NUL is no path
        return None
    stems = [root for root, end in map(os.path.splitext, names) if end == ending]
    near = nearest(stem, stems)
    return None if near is None else f"{near}{ending}"
