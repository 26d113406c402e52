"""Notes which functions a process calls; begun by every Python that a test starts.

It imports next to nothing: tests look at what envcfg imports, too.
"""

from __future__ import annotations

import os
import sys
from types import FrameType

_seen: dict[int, object] = {}  # code by its id, kept so that no other gets the id
_called: set[str] = set()
_tree = _package = _folder = ""
_file = -1


def watch(lab: str, package: str) -> None:
    """Note the calls of *package* in the folder ``calls`` of *lab*, if there is one."""
    global _tree, _package, _folder, _file  # noqa: PLW0603 (there is one process)
    _tree = os.path.join(lab, "tree", "")
    _package = os.path.join(_tree, package, "")
    _folder = os.path.join(lab, "calls")
    try:
        name = os.path.join(_folder, str(os.getpid()))
        _file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return
    sys.settrace(_note)


def keep() -> None:
    """Keep what this process calls for :func:`take_calls`: it runs the tests."""
    global _file  # noqa: PLW0603
    if _file >= 0:
        os.close(_file)
        _file = -1
    _seen.clear()


def take_calls() -> list[str]:
    """Return what was called since the last time, by this process and its children."""
    calls = set(_called)
    _called.clear()
    _seen.clear()
    for entry in os.scandir(_folder) if os.path.isdir(_folder) else ():
        with open(entry.path, encoding="utf-8") as file:
            calls.update(file.read().splitlines())
        os.unlink(entry.path)
    return sorted(calls)


def _note(frame: FrameType, _event: str, _argument: object) -> None:
    code = frame.f_code
    if id(code) in _seen:
        return
    _seen[id(code)] = code
    if code.co_filename.startswith(_package):
        call = f"{code.co_filename[len(_tree) :]}:{code.co_firstlineno}"
        if _file < 0:
            _called.add(call)
        else:  # at once: who knows how this process ends
            os.write(_file, f"{call}\n".encode())
