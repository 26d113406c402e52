"""Where profiles and defaults are: folders and files, and how messages name them."""

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
    site = environ.get("ENVCFG_SITE") or "/etc/envcfg"
    user = f"{_user_folder(environ)}/profiles"
    folders = [built_in_folder(), f"{site}/profiles", user]
    *_, found = project_folders(start)
    return [*folders, found] if found else folders


def project_folders(start: str) -> list[str]:
    """Return the folder of the project's profiles as the last; empty, if there is none.

    Before it stand those of strangers, which are passed over: anybody can make one in
    /tmp.
    """
    found = _upwards(start, ".envcfg/")
    return [each and f"{each}profiles" for each in found]


def default_files(environ: Mapping[str, str], start: str) -> tuple[str, list[str]]:
    """Return the files of defaults: the user's, and those above as ``project_folders``.

    What is not there is empty. *environ* is read as for ``profile_folders``.
    """
    user = f"{_user_folder(environ)}/config.toml"
    return user if os.path.exists(user) else "", _upwards(start, "envcfg.toml")


def _user_folder(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "/nonexistent")
    return f"{environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/envcfg"


def _upwards(start: str, name: str) -> list[str]:
    """Return *name* in the nearest folder that has it, or nothing; before it strangers'."""
    passed: list[str] = []
    folder = os.path.abspath(start)
    while True:
        found = os.path.join(folder, name)
        if os.path.exists(found):
            from envcfg.profile.guard import strangers_on

            if not strangers_on(found, folder):
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
