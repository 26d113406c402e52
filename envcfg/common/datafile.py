"""The project's own data: files next to the modules that use them.

Files are named by path, as in a folder. If envcfg is an archive (a zipapp, or the
output of ``scripts/build-zipapp``), the path continues after the archive's. The
importer of the modules then reads the data too.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

Record = TypeVar("Record")
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of envcfg
_LOADER: Any = __spec__.loader if __spec__ else None
# The archive that contains this module, if any: the importers of zipimport know it.
_PATH: str = getattr(_LOADER, "archive", "")
ARCHIVE = os.path.abspath(_PATH) if _PATH else ""


def read_data(path: str) -> bytes:
    """Return the content of a file: a file of envcfg, even in an archive, or any other
    file.

    Raises:
        OSError: it cannot be read.
    """
    if inside := _inside(path):
        content: bytes = _LOADER.get_data(inside)
        return content
    with open(path, "rb") as file:
        return file.read()


def data_path(name: str) -> str:
    """Return the path of one of envcfg's own files, as in ``log/names.yaml``."""
    return os.path.join(_HERE, name)


def read_text(name: str) -> str:
    """Return the text of one of envcfg's own files."""
    return read_data(data_path(name)).decode("utf-8")


def names_in(folder: str, ending: str = "") -> list[str]:
    """Return the names in a folder with this ending, sorted.

    Raises:
        OSError: it cannot be read.
    """
    return sorted(name for name in _list(folder) if name.endswith(ending))


def _list(folder: str) -> list[str]:
    inside = _inside(folder)
    if not inside:
        return os.listdir(folder)
    # The importer of build-zipapp lists names itself, which avoids reading the
    # archive again.
    if hasattr(_LOADER, "names_in"):
        names: list[str] = _LOADER.names_in(inside)
        return names
    import zipfile

    with zipfile.ZipFile(ARCHIVE) as archive:
        return [path.name for path in zipfile.Path(archive, f"{inside}/").iterdir()]


def is_data(path: str) -> bool:
    """Return whether the file exists."""
    inside = _inside(path)
    if not inside:
        return os.path.isfile(path)
    try:
        _LOADER.get_data(inside)
    except OSError:
        return False
    return True


def stamp(path: str) -> list[int]:
    """Return values that change whenever a file or folder of envcfg changes.

    Returns:
        the size in bytes and the time of the last change in ns, or those of the
        archive.
    """
    status = os.stat(ARCHIVE if _inside(path) else path)
    return [status.st_size, status.st_mtime_ns]


def _inside(path: str) -> str:
    """Return the path inside the archive; empty for files outside an archive."""
    if not ARCHIVE:
        return ""
    full_path = os.path.abspath(path)
    return full_path[len(ARCHIVE) + 1 :] if full_path.startswith(f"{ARCHIVE}/") else ""


def load_yaml(name: str) -> Any:  # noqa: ANN401  # checked by tests, not at each start
    """Read one of envcfg's own data files."""
    return parse_yaml(read_text(name))


def parse_yaml(text: str) -> Any:  # noqa: ANN401  # as above
    """Read the text of an own data file, or a part of it."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(text, loader)  # noqa: S506  # a safe loader, in C if available


def record(kind: type[Record], entry: Mapping[str, Any]) -> Record:
    """Return an entry as a named tuple; keys without a field are dropped.

    Lists become tuples, and a date becomes text.
    """
    fields: Sequence[str] = getattr(kind, "_fields", ())
    fields_given = {name: entry[name] for name in fields if name in entry}
    for name, value in fields_given.items():
        # Tuples can be part of a key, and cannot be changed by mistake.
        fields_given[name] = tuple(value) if isinstance(value, list) else value
        if name == "date":
            fields_given[name] = str(value)
    return kind(**fields_given)


@cache
def load_findings(room: str) -> Any:  # noqa: ANN401  # as above
    """Read ``envcfg/ROOM/findings.yaml``, once."""
    return load_yaml(f"{room}/findings.yaml")


def load_kept_file(name: str) -> Any:  # noqa: ANN401  # as above
    """Return the content of one data file from a cache, because YAML is slow to parse."""
    return load_kept(name.removesuffix(".yaml"), name)[0]


def load_kept(name: str, *files: str) -> list[Any]:
    """Return the contents of several data files from a cache, because YAML is slow to
    parse.

    Args:
        name: the name of the cache entry in the user's folder.
        files: as for :func:`data_path`.
    """
    from envcfg.common.cache import remember

    paths = [data_path(file) for file in files]

    def load() -> Any:  # noqa: ANN401  # as above
        import json

        results = [load_yaml(path) for path in paths]
        # The result must be the same with and without the cache, so dates become
        # text.
        return json.loads(json.dumps(results, default=str))

    contents: list[Any] = remember(name, [[p, *stamp(p)] for p in paths], load)
    return contents


def backends(room: str, first: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of the backends in a folder: one for each of its modules.

    The module that defines the record is not a backend: it has the singular of the
    folder's name. A dash in a backend's name is an underscore in its module's name.

    Args:
        room: path of the ``__init__.py`` next to them.
        first: the first names, in their order; the others are sorted.
    """
    folder = os.path.dirname(os.path.abspath(room))
    modules = {name.removesuffix(".py") for name in names_in(folder, ".py")}
    record = os.path.basename(folder).removesuffix("s")
    names = {name.replace("_", "-") for name in modules - {"__init__", record}}
    return (*first, *sorted(names - {*first}))


def backend(room: str, name: str) -> ModuleType:
    """Return the module of a backend; *room* is the name of its package."""
    return import_module(f"{room}.{name.replace('-', '_')}")
