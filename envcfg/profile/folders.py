"""Where profiles are: the folders of the layers, and how messages name their files."""

import os.path
from collections.abc import Mapping
from functools import cache

from envcfg.datafile import is_data, names_in

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def profile_folders(environ: Mapping[str, str], start: str) -> list[str]:
    """Return the folders of the layers, lowest first; not all need exist.

    Args:
        environ: read for ``ENVCFG_SITE`` (default ``/etc/envcfg``), ``XDG_CONFIG_HOME``
            and ``HOME``.
        start: where the project layer is looked for: here or in the nearest folder above
            that has ``.envcfg``.
    """
    home = environ.get("HOME", "/nonexistent")
    user = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    site = environ.get("ENVCFG_SITE") or "/etc/envcfg"
    folders = [built_in_folder(), f"{site}/profiles", f"{user}/envcfg/profiles"]
    *_, found = project_folders(start)
    return [*folders, found] if found else folders


def project_folders(start: str) -> list[str]:
    """Return the folder of the project's profiles as the last; empty, if there is none.

    Before it stand those of strangers, which are passed over: anybody can make one in
    /tmp.
    """
    passed: list[str] = []
    folder = os.path.abspath(start)
    while True:
        if os.path.isdir(f"{folder}/.envcfg"):
            from envcfg.profile.guard import strangers_on

            found = f"{folder}/.envcfg/profiles"
            if not strangers_on(f"{folder}/.envcfg", folder):
                return [*passed, found]
            passed.append(found)
        if folder == os.path.dirname(folder):
            return [*passed, ""]
        folder = os.path.dirname(folder)


@cache
def built_in_folder() -> str:
    """Return the folder of the profiles that come with envcfg."""
    installed = f"{_PACKAGE}/profiles"
    return (
        installed
        if is_data(f"{installed}/schema.json")
        else f"{os.path.dirname(_PACKAGE)}/profiles"
    )


def shown(path: str) -> str:
    """Return how messages and comments name a file; built-in ones the same everywhere."""
    folder, name = os.path.split(path)
    return f"profiles/{name}" if folder == built_in_folder() else path


def listed(folder: str) -> list[str]:
    """Return what is in a folder; nothing where it is absent or closed to us."""
    try:
        return names_in(folder)
    except OSError:
        return []
