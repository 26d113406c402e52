"""``envcfg profiles trust``: let a profile count that others may write, as it is now."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcfg.errors import OutputError, ProfileError, UsageError
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog

if TYPE_CHECKING:
    from envcfg.profile.guard import Examined

_DEFAULTS = ".toml"  # of options: what runs code counts only after a word on the file


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="profile, or folder of profiles"
    )
    parser.add_argument("--revoke", action="store_true", help="take it back")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Trust every file, or take back what was said of it."""
    from envcfg.report.styled import put

    records = catalog.records
    if records is None:
        raise AssertionError
    if options.revoke:
        put(("", line) for each in options.files for line in _revoke(each, records))
        return 0
    problems: list[Finding] = []
    for path in [each for given in options.files for each in _files(given)]:
        found = _examine(path, catalog)
        if found is None:
            put([("green", f"{path}: counts already: only you and root may write it")])
            continue
        problems += _trust(path, found, records)
    if problems:
        sys.stdout.flush()
        raise ProfileError(problems)
    return 0


def _files(given: str) -> list[str]:
    """Return the profiles of a folder, or the file itself."""
    if os.path.isfile(given):
        return [given]
    if not os.path.isdir(given):
        msg = f"{given}: no such file"
        raise UsageError(msg, hint="give the path of a profile, or of their folder")
    try:
        names = sorted(name for name in os.listdir(given) if name.endswith(".yaml"))
    except OSError as err:
        msg = f"{given}: cannot be read: {err.strerror}"
        raise OutputError(msg, hint="who owns it may let you") from err
    if not names:
        msg = f"{given}: there is no profile in this folder"
        raise UsageError(msg, hint="those of a project are in .envcfg/profiles/")
    return [os.path.join(given, name) for name in names]


def _examine(path: str, catalog: Catalog) -> Examined | None:
    """Return a file that does not count by itself; None, if it does."""
    from envcfg.profile.guard import examine

    if os.path.dirname(os.path.realpath(path)) == catalog.folders[0]:
        return None
    try:
        found = examine(path, site=catalog.folders[1])
    except OSError as err:
        msg = f"{path}: cannot be read: {err.strerror}"
        raise OutputError(msg, hint="who owns it may let you") from err
    return found if found.doubt or path.endswith(_DEFAULTS) else None


def _trust(path: str, found: Examined, records: str) -> list[Finding]:
    """Show a file and record that it counts; return why not, where it cannot."""
    from envcfg.profile.guard import refusal
    from envcfg.report.styled import put

    if found.doubt and found.doubt.is_final:
        return [each for each in [refusal(found, path, records)] if each]
    if path.endswith(_DEFAULTS):
        from envcfg.core.defaults import parse

        put(("", f"{each.line:>4}  {each.text}") for each in parse(found.data, path))
    elif problems := _show(path, found):
        return problems
    sys.stdout.flush()  # what could not be shown is not recorded
    _record(found, records)
    back = f"envcfg profiles trust --revoke {shlex.quote(found.real)}"
    done = ("bold green", f"trusted, as it is now: {found.real}")
    put([("", ""), done, ("", f"  to take it back: {back}"), ("", "")])
    return []


def _show(path: str, found: Examined) -> list[Finding]:
    """Show a profile; return what is wrong in it."""
    from envcfg.profile.look.view import State, look_at
    from envcfg.profile.model import Layer
    from envcfg.profile.read.loader import load_profile
    from envcfg.report.profile.view import view_lines
    from envcfg.report.styled import put

    problems: list[Finding] = []
    stem = os.path.splitext(os.path.basename(path))[0]
    profile = load_profile(found.data, path=path, stem=stem, problems=problems)
    if profile is not None and not problems:
        view = look_at(profile, [Layer(path, found.data, profile)], {})
        # Nothing is called out of force: with another launcher it is not.
        values = (
            each._replace(state=State.IN_JOB if each.when else State.HOLDS)
            if each.state is State.NOT
            else each
            for each in view.values
        )
        put(view_lines(view._replace(values=tuple(values))))
    return problems


def _record(found: Examined, records: str) -> None:
    from envcfg.profile.records import folder_problem, record

    try:
        record(records, found.real, found.data)
    except OSError as err:
        msg = f"{records}: cannot be written: {err.strerror}"
        raise OutputError(msg, hint="choose another place by XDG_STATE_HOME") from err
    if problem := folder_problem(records):
        msg = f"what you trust does not count: {problem}"
        hint = f"chmod go-w {shlex.quote(records)}, or remove it"
        raise OutputError(msg, hint=hint)


def _revoke(given: str, records: str) -> Iterator[str]:
    """Take back all words on a file, or on the files of a folder; say which."""
    from envcfg.profile.records import recorded_paths

    real = os.path.realpath(given)
    said = {
        record: path
        for record, path in recorded_paths(records).items()
        if real in {path, os.path.dirname(path)}
    }
    for record in said:
        os.unlink(record)
    for path in sorted(set(said.values())):
        yield f"no longer trusted: {path}"
    if not said:
        yield f"nothing to take back: {given}"
