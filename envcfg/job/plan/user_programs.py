"""The rows that users and sites add to the table of programs, in ``programs.yaml``.

The file is in the user's folder of settings, or in that of the site. Its rows have the
keys of ``knowledge/programs.yaml`` and come before those of envcfg.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from envcfg.backends.launchers import LAUNCHERS
from envcfg.common.errors import OutputError, ProfileError
from envcfg.common.findings import Finding
from envcfg.job.plan.program_start import KINDS, ROLES
from envcfg.profile.folders import program_files
from envcfg.profile.read.yaml_nodes import Field, read_fields

_TEXTS = (
    *("when", "separator", "ranks", "others"),
    *("port", "health", "source", "date", "since"),
)
_VALUES = ("options", "also", "variables", "refused")
_CHOICES = {
    "kind": [*KINDS],
    "needs": [name for name in LAUNCHERS if LAUNCHERS[name].is_once],
    "place": ["begin"],
}
_KEYS = (*_CHOICES, "begins", *_TEXTS, *_VALUES)


def user_rows(environ: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """Return the rows of the user's file, then those of the site's; files may be absent.

    Args:
        environ: read as for ``profile_folders``.

    Raises:
        OutputError: a file cannot be read.
        ProfileError: a file has errors, with all of them.
    """
    rows = []
    for path in program_files(environ):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            msg = f"{path}: cannot be read: {error.strerror}"
            raise OutputError(msg, hint="make it readable, or move it away") from error
        from envcfg.profile.read.yaml_text import compose

        problems: list[Finding] = []
        root = read_fields(data, path, problems, compose)
        rows += [_row(row) for row in (root.mapping() if root else {}).values()]
        if problems:
            raise ProfileError(problems)
    return rows


def _row(field: Field) -> Mapping[str, Any]:
    """Return a row as the built-in table has it, with its place as the source."""
    keys = field.mapping(_KEYS)
    row: dict[str, Any] = {
        "source": f"{field.path}:{field.place.line}",
        "date": "of the file",
    }
    for key in ("kind", "begins"):
        if key not in keys:
            field.problem(f"a program needs {key}", "docs/launchers.md has an example")
    for key, value in keys.items():
        if key in _CHOICES:
            row[key] = value.one_of(_CHOICES[key])
        elif key == "begins":
            row[key] = value.texts()
        elif key in _VALUES:
            row[key] = {
                name: _template(child) for name, child in value.mapping().items()
            }
        else:
            row[key] = value.text()
    return row


def _template(field: Field) -> str:
    """Return the value of an option; the names in braces must be known."""
    text = field.text() or ""
    try:
        text.format(**ROLES)
    except (KeyError, ValueError, IndexError, AttributeError):
        names = ", ".join(f"{{{name}}}" for name in ROLES)
        field.problem(f"{text!r} has an unknown name in braces", f"they are {names}")
    return text
