"""The environment of envcfg on this machine, for a bug report: nothing is changed.

Home folders are shortened to ``~``, and no account is named, so that the answer can be
published.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from envcfg import __version__
from envcfg.backends.runtimes import NAMES, runtime
from envcfg.backends.scheduler_client import query_all
from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.characters import split_lines
from envcfg.common.errors import EnvcfgError
from envcfg.common.findings import Finding
from envcfg.core.selection import (
    current_folder,
    detect_system,
    files_of_others,
    open_catalog,
)
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import default_files, listed, program_files
from envcfg.site.machine import job_kind, on_path

State = Literal["ok", "absent", "problem"]
# The packages that envcfg imports, and its use of them. Those of older Pythons only
# are in the list of this Python alone.
PACKAGES = {
    "pyyaml": "profiles and rules",
    "rich": "colours",
    "jinja2": "HTML reports",
    "pyelftools": "libraries in images",
    "spython": "running containers",
    "tree-sitter": "lint and wrap --from",
    "tree-sitter-bash": "lint and wrap --from",
    "shtab": "completion",
    **({} if sys.version_info >= (3, 14) else {"backports.zstd": "zstd in images"}),
    **({} if sys.version_info >= (3, 11) else {"tomli": "envcfg.toml"}),
}


class DoctorRow(NamedTuple):
    """One fact of the environment."""

    part: str  # the heading that it belongs to
    name: str
    value: str  # one line; empty: nothing is there
    state: State = "ok"  # `absent` is normal on some machines; a `problem` has a hint
    hint: str = ""  # the command or file that repairs a problem


def examine() -> list[DoctorRow]:
    """Return the facts of the environment, in the order of their display.

    A part that cannot be read is a row with the reason, never an exception.
    """
    rows, catalog = [*_own_rows()], None
    try:
        catalog = open_catalog(policy="show")
    except EnvcfgError as err:  # the current folder is gone
        rows.append(_error("system", err))
    else:
        rows += _guarded("system", _system_rows(catalog))
    rows += _guarded("scheduler", _scheduler_rows())
    rows += _guarded("runtimes", _runtime_rows())
    # The detection has examined the profiles of others, which the files' rows name.
    if catalog:
        rows += _guarded("files", _file_rows(catalog))
    rows += _guarded("defaults", _default_rows())
    return rows


def _guarded(part: str, rows: Iterator[DoctorRow]) -> Iterator[DoctorRow]:
    try:
        yield from rows
    except EnvcfgError as err:
        yield _error(part, err)
    except OSError as err:  # a file that vanished, or that the user may not read
        yield DoctorRow(part, "error", f"{err.strerror}: {err.filename}", "problem")


def _error(part: str, err: EnvcfgError) -> DoctorRow:
    first, *rest = err.lines()
    message = first.removeprefix("envcfg: error: ")
    hint = " ".join(rest).strip().removeprefix("hint: ")
    return DoctorRow(part, "error", message, "problem", hint)


def short(path: str) -> str:
    """Return *path* with ``~`` for the user's home folder."""
    home = os.environ.get("HOME", "").rstrip("/")
    is_below = home.startswith("/") and (path == home or path.startswith(f"{home}/"))
    return f"~{path[len(home) :]}" if is_below else path


def _own_rows() -> Iterator[DoctorRow]:
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield DoctorRow("envcfg", "version", __version__)
    yield DoctorRow("envcfg", "installed in", short(folder))
    yield DoctorRow(
        "envcfg", "python", f"{platform.python_version()} {short(sys.executable)}"
    )
    yield DoctorRow("envcfg", "kernel", f"{platform.system()} {platform.release()}")
    for package, use in PACKAGES.items():
        version = _version_of(package)
        # A zipapp contains packages without the metadata that has the version.
        if version or folder.endswith(".pyz/envcfg"):
            yield DoctorRow("envcfg", package, version or "in the zipapp")
        else:
            hint = f"python3 -m pip install {package}"
            value = f"missing, needed for {use}"
            yield DoctorRow("envcfg", package, value, "problem", hint)
    # The import takes time, and no other row needs it.
    from envcfg.lint.shellcheck import OLDEST, find_shellcheck

    path, oldest = find_shellcheck(), ".".join(map(str, OLDEST))
    value = (
        short(path) or f"none of version {oldest} or newer: lint reports no SC codes"
    )
    yield DoctorRow("envcfg", "shellcheck", value, "ok" if path else "absent")


def _version_of(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _system_rows(catalog: Catalog) -> Iterator[DoctorRow]:
    detection, machine = detect_system(catalog)
    yield DoctorRow("system", "host", machine.host)
    yield DoctorRow("system", "cluster", machine.cluster or "", _state(machine.cluster))
    if choice := os.environ.get("ENVCFG_PROFILE"):
        yield DoctorRow("system", "ENVCFG_PROFILE", choice)
    for answer in detection.matches:
        yield DoctorRow("system", "profile", f"{answer.name}: {answer.why}")
    if not detection.matches:
        hint = "envcfg profiles show here creates one from the scheduler's answers"
        value = "none fits this machine"
        yield DoctorRow("system", "profile", value, "absent", hint)
    for path in detection.broken:
        hint = f"envcfg profiles validate {short(path)}"
        yield DoctorRow(
            "system", "profile", f"{short(path)} is broken", "problem", hint
        )


def _scheduler_rows() -> Iterator[DoctorRow]:
    programs = {
        scheduler.title: scheduler.submit.split()[0]
        for scheduler in SCHEDULERS.values()
    }
    yield from _version_rows("scheduler", programs)
    yield DoctorRow(
        "scheduler", "this is a job of", job_kind() or "", _state(job_kind())
    )


def _runtime_rows() -> Iterator[DoctorRow]:
    programs = dict.fromkeys(runtime(name).program for name in NAMES)
    yield from _version_rows("runtimes", {name: name for name in programs if name})


def _version_rows(part: str, programs: Mapping[str, str]) -> Iterator[DoctorRow]:
    """Yield the path and version of each program on PATH; each is asked once.

    Args:
        programs: by the name that is displayed.
    """
    paths = {name: path for name in programs if (path := on_path(programs[name]))}
    answers = query_all([[path, "--version"] for path in paths.values()])
    for (name, path), answer in zip(paths.items(), answers, strict=True):
        lines = split_lines((answer.out or answer.err).strip())
        text = lines[0] if lines else answer.fault or "prints no version"
        is_well = answer.exit_code == 0
        hint = "" if is_well else f"try it: {path} --version"
        state: State = "ok" if is_well else "problem"
        yield DoctorRow(part, name, f"{short(path)}: {text}", state, hint)
    if not paths:
        yield DoctorRow(part, "program", "", "absent")


def _file_rows(catalog: Catalog) -> Iterator[DoctorRow]:
    """Yield the files that change results, and those that others may have written."""
    for layer, folder in catalog.layer_folders().items():
        number = sum(name.endswith(".yaml") for name in listed(folder))
        value = f"{short(folder)}: {number} profiles" if number else ""
        yield DoctorRow("files", f"profiles, {layer}", value, _state(value))
    own, (*strangers, project) = default_files(os.environ, current_folder())
    paths = [*program_files(os.environ), *own, project]
    for path in filter(os.path.exists, filter(None, paths)):
        yield DoctorRow("files", "settings", short(path))
    for path in strangers:
        value = f"{short(path)} is ignored: it belongs to another user"
        yield DoctorRow(
            "files", "settings", value, "problem", "remove it, or ask its owner"
        )
    for finding in files_of_others(catalog):
        value = f"{short(finding.subject)}: {finding.message}"
        yield DoctorRow("files", "settings", value, "problem", finding.fix or "")


def _default_rows() -> Iterator[DoctorRow]:
    """Yield the source of each default, without its value, which may be a secret."""
    from envcfg.core.defaults import read_files, settle

    own, (*_, project) = default_files(os.environ, current_folder())
    notes: list[Finding] = []
    defaults = settle(read_files([*own, project], skip=notes.append), os.environ)
    for note in notes:
        value = f"{short(note.subject)}: {note.message}"
        yield DoctorRow("defaults", "file", value, "problem", note.fix or "")
    for default in defaults:
        line = f":{default.line}" if default.line else ""  # a variable has none
        yield DoctorRow(
            "defaults", default.key, f"{short(default.file)}{line}, {default.state}"
        )
    if not defaults:
        yield DoctorRow("defaults", "option", "", "absent")


def _state(value: object) -> State:
    return "ok" if value else "absent"
