"""A new ``envcfg.toml`` with the options that all jobs of a project share."""

import os
from collections.abc import Mapping

from envcfg.common.atomic_write import make_beside
from envcfg.common.errors import OutputError, UsageError
from envcfg.profile.folders import PROJECT_DEFAULTS, default_files
from envcfg.profile.guard import check_file

_SHARED = ("profile", "account", "partition", "container")


def shared_options(given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a command line that all jobs of a project share."""
    # JSON quotes printable texts as TOML does.
    return {
        name: given[name] for name in _SHARED if given.get(name, "\n").isprintable()
    }


def new_defaults(*, writable: bool) -> str:
    """Return the path of the file for the project in the current folder.

    Args:
        writable: members of the user's groups may write it.

    Raises:
        UsageError: the project has such a file; ``ProfileError``: others could write it.
    """
    path = os.path.abspath(PROJECT_DEFAULTS)
    there = default_files(os.environ, os.path.dirname(path))[1][-1] or path
    if os.path.lexists(there):
        msg = f"--save-defaults: {there} is there already, and is not replaced"
        raise UsageError(msg, hint="write the options into it")
    check_file(path, writable=writable)
    return path


def save_defaults(path: str, options: Mapping[str, str]) -> None:
    """Write *options* to the new file *path*, completely or not at all.

    Raises:
        OutputError: it cannot be written, or is there by now.
    """
    import json

    lines = (
        f"{name} = {json.dumps(text, ensure_ascii=False)}\n"
        for name, text in options.items()
    )
    try:
        # If its group could write the file, the next command would refuse it.
        text = make_beside(path, "".join(lines).encode(), 0o644, None, private=False)
        try:
            os.link(text, path)  # unlike a replacement, it fails if the path exists
        finally:
            os.unlink(text)
    except OSError as err:
        msg = f"cannot write {path}: {err.strerror}"
        raise OutputError(msg, hint="write the options into it by hand") from err
