"""The folders and files of profiles and defaults, and their names in messages."""

import os.path
from collections.abc import Mapping
from functools import cache

from envcfg.common.datafile import is_data, names_in

PROJECT_DEFAULTS = "envcfg.toml"
PROJECT_FOLDER = ".envcfg/profiles"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def profile_folders(environ: Mapping[str, str], start: str) -> list[str]:
    """Return the folders of the layers, lowest first; not all need exist.

    Args:
        environ: read for ``ENVCFG_SITE`` (default ``/etc/envcfg``), ``XDG_CONFIG_HOME``
            and ``HOME``.
        start: the folder where the search for the project layer begins; the nearest
            folder with ``.envcfg/profiles`` counts.
    """
    user = f"{_user_folder(environ)}/profiles"
    folders = [built_in_folder(), f"{site_folder(environ)}/profiles", user]
    *_, folder = project_folders(start)
    return [*folders, folder] if folder else folders


def project_folders(start: str) -> list[str]:
    """Return the folder of the project's profiles as the last; empty if there is none.

    The folders of strangers come before it. They are ignored, because anybody can
    create one in /tmp.
    """
    return _upwards(start, PROJECT_FOLDER)


def default_files(
    environ: Mapping[str, str], start: str
) -> tuple[list[str], list[str]]:
    """Return the files of defaults: those of site and user that exist, and those of
    projects, as in ``project_folders``.

    *environ* is read as for ``profile_folders``.
    """
    files = site_defaults(environ), f"{_user_folder(environ)}/config.toml"
    return [*filter(os.path.exists, files)], _upwards(start, PROJECT_DEFAULTS)


def site_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the site, which need not exist."""
    return environ.get("ENVCFG_SITE") or "/etc/envcfg"


def site_defaults(environ: Mapping[str, str]) -> str:
    """Return the path of the site's file of defaults."""
    return f"{site_folder(environ)}/{PROJECT_DEFAULTS}"


def program_files(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the paths of the tables of programs: the user's, and the site's."""
    folders = _user_folder(environ), site_folder(environ)
    user, site = (f"{folder}/programs.yaml" for folder in folders)
    return user, site


def _user_folder(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "/nonexistent")
    return f"{environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/envcfg"


def _upwards(start: str, name: str) -> list[str]:
    """Return the nearest *name* in *start* or above that only the user can change.

    Nearer ones that others can change come before it. The last is empty without one.
    """
    passed: list[str] = []
    folder = os.path.abspath(start)
    while True:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            from envcfg.profile.guard import strangers_on

            if not strangers_on(path, folder):
                return [*passed, path]
            passed.append(path)
        if folder == os.path.dirname(folder):
            return [*passed, ""]
        folder = os.path.dirname(folder)


@cache
def built_in_folder() -> str:
    """Return the folder of the built-in profiles."""
    installed = f"{_PACKAGE}/profiles"
    return (
        installed
        if is_data(f"{installed}/schema.json")
        else f"{os.path.dirname(_PACKAGE)}/profiles"
    )


def shown(path: str) -> str:
    """Return the name of a file in messages; built-in files have the same name
    everywhere."""
    folder, name = os.path.split(path)
    return f"profiles/{name}" if folder == built_in_folder() else path


def listed(folder: str) -> list[str]:
    """Return the names in a folder; empty if it is missing or unreadable."""
    try:
        return names_in(folder)
    except OSError:
        return []
