"""The project's own data: files beside the modules that use them.

They are named by path, as in a folder. Where envcfg is one archive (a zipapp, or what
``scripts/build-zipapp`` makes), a path goes on behind that of the archive, and what imports
the modules reads the data too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from envcfg.findings import Finding

Record = TypeVar("Record")
_HERE = os.path.dirname(os.path.abspath(__file__))
_KNOWLEDGE = os.path.join(_HERE, "knowledge")
_LOADER: Any = __spec__.loader if __spec__ else None
# The zip that we are in, if any: zipimport's importers say where it is.
_PATH: str = getattr(_LOADER, "archive", "")
ARCHIVE = os.path.abspath(_PATH) if _PATH else ""


def read_data(path: str) -> bytes:
    """Return what is in a file: one of our own, wherever they are, or any other.

    Raises:
        OSError: it cannot be read.
    """
    if inside := _inside(path):
        found: bytes = _LOADER.get_data(inside)
        return found
    with open(path, "rb") as file:
        return file.read()


def read_text(path: str) -> str:
    """Return the text of one of our own files."""
    return read_data(path).decode("utf-8")


def names_in(folder: str) -> list[str]:
    """Return the names in a folder, as ``os.listdir`` has them.

    Raises:
        OSError: it cannot be read.
    """
    inside = _inside(folder)
    if not inside:
        return os.listdir(folder)
    if hasattr(_LOADER, "names_in"):
        names: list[str] = _LOADER.names_in(inside)
        return names
    import zipfile

    with zipfile.ZipFile(ARCHIVE) as archive:
        return [each.name for each in zipfile.Path(archive, f"{inside}/").iterdir()]


def is_data(path: str) -> bool:
    """Tell whether there is such a file."""
    inside = _inside(path)
    if not inside:
        return os.path.isfile(path)
    try:
        _LOADER.get_data(inside)
    except OSError:
        return False
    return True


def stamp(path: str) -> list[int]:
    """Return by what it is known that a file, or a folder, of ours has not changed.

    Returns:
        size in bytes and time of the last change in ns: the archive's, where we are one.
    """
    status = os.stat(ARCHIVE if _inside(path) else path)
    return [status.st_size, status.st_mtime_ns]


def _inside(path: str) -> str:
    """Return where in the archive a path is; empty for all that is not in one."""
    if not ARCHIVE:
        return ""
    whole = os.path.abspath(path)
    return whole[len(ARCHIVE) + 1 :] if whole.startswith(f"{ARCHIVE}/") else ""


def load_yaml(path: str) -> Any:  # noqa: ANN401  # checked by tests, not at each start
    """Read one of our own data files."""
    return parse_yaml(read_text(path))


def parse_yaml(text: str) -> Any:  # noqa: ANN401  # as above
    """Read the text of one of our own data files, or of a part of it."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(text, loader)  # noqa: S506  # a safe loader, in C where there is one


def record(kind: type[Record], entry: Mapping[str, Any]) -> Record:
    """Return an entry as a named tuple; of what it has no field for, nothing.

    Lists become tuples, and a date text.
    """
    fields: Sequence[str] = getattr(kind, "_fields", ())
    found = {name: entry[name] for name in fields if name in entry}
    for name, value in found.items():
        found[name] = tuple(value) if isinstance(value, list) else value
        if name == "date":
            found[name] = str(value)
    return kind(**found)


def load_knowledge_file(name: str) -> Any:  # noqa: ANN401  # as above
    """Read ``envcfg/knowledge/NAME``."""
    return load_yaml(knowledge_path(name))


def knowledge_path(name: str) -> str:
    """Return where ``envcfg/knowledge/NAME`` is."""
    return os.path.join(_KNOWLEDGE, name)


@cache
def _texts(room: str) -> Any:  # noqa: ANN401  # as above
    return load_yaml(os.path.join(_HERE, room, "findings.yaml"))


def finding_in(
    room: str, rule: str, subject: str, which: str = "", /, **words: object
) -> Finding:
    """Return what ``findings.yaml`` of a *room* says of a *rule*, filled with *words*.

    Of a rule that has several texts, *which* names one: ``RULE/WHICH``.
    """
    known = _texts(room)[f"{rule}/{which}" if which else rule]
    said = {name: text.format(**words) for name, text in known.items()}
    return Finding(rule, subject=subject, **said)


def load_kept(name: str, paths: Sequence[str]) -> list[Any]:
    """Read several of our own data files, whose YAML takes longer than all that follows.

    Args:
        name: under which what they say is kept in the user's folder, until one changes.
        paths: of the files.
    """
    from envcfg.cache import keep, kept_folder, recall

    key = [[path, *stamp(path)] for path in paths]
    folder = kept_folder(os.environ)
    found: list[Any] | None = recall(folder, name, key) if folder else None
    if found is None:
        import json

        read = [load_yaml(path) for path in paths]
        # The same, kept or not: a date is text.
        found = json.loads(json.dumps(read, default=str))
        if folder:
            keep(folder, name, key, found)
    return found


def backends(room: str, first: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of the backends of a room, by its modules except ``model``.

    A dash in a backend's name is an underscore in its module's.

    Args:
        room: path of the ``__init__.py`` beside them.
        first: those that come first, in their order; the others are sorted.
    """
    files = names_in(os.path.dirname(os.path.abspath(room)))
    modules = {name.removesuffix(".py") for name in files if name.endswith(".py")}
    names = {name.replace("_", "-") for name in modules - {"__init__", "model"}}
    return (*first, *sorted(names - {*first}))


def backend(room: str, name: str) -> ModuleType:
    """Return the module of a backend; *room* is the name of its package."""
    return import_module(f"{room}.{name.replace('-', '_')}")
