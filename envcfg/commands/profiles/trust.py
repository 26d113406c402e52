"""``envcfg profiles trust``: trust a project, or a file that others may write."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcfg.common.characters import one_line
from envcfg.common.errors import (
    Change,
    OutputError,
    ProfileError,
    TrustError,
    UsageError,
)
from envcfg.common.findings import Finding
from envcfg.core.selection import current_folder, records_folder
from envcfg.profile.catalog import Catalog

if TYPE_CHECKING:
    from envcfg.profile.trust_records import FileSet

_MOST_ASKED = 200  # lines of a difference that a user can review in a question


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "files",
        metavar="PATH",
        nargs="*",
        help="project, profile, or folder of profiles (default: the project here)",
    )
    parser.add_argument("--revoke", action="store_true", help="take it back")


def run(options: argparse.Namespace, catalog: Catalog) -> int:
    """Show and trust every file set, or revoke the trust."""
    from envcfg.report.styled import put

    records = catalog.records
    # Only tests create a catalog without records, so this cannot happen in the
    # command.
    if records is None:
        raise AssertionError
    values = options.files or [_project_here()]
    if options.revoke:
        put(("", line) for path in values for line in _revoke(path, records))
        return 0
    # All paths are processed before an error, because each decision is independent.
    problems: list[Finding] = []
    for path in values:
        for files in _file_sets(path, catalog, records):
            problems += _trust(files, records)
    if problems:
        sys.stdout.flush()
        raise ProfileError(problems)
    return 0


def ask(error: TrustError) -> bool:
    """Ask the user at the terminal whether to trust the files; return the answer.

    Raises:
        OutputError: the answer cannot be recorded.
    """
    # Without a terminal, nobody can answer, so the caller raises the error.
    if not (sys.stdin.isatty() and sys.stderr.isatty() and _is_foreground()):
        return False
    displayed = error.change.lines()
    if len(displayed) > _MOST_ASKED:  # the error names the command to see all
        return False
    # The files are shown now, so the error need not show them again.
    error.is_shown = True
    first = error.change.is_first
    state = "are not trusted yet" if first else "have changed since you trusted them"
    lines = [f"envcfg: files that decide what runs {state}:", *displayed]
    lines.append(f"Trust {error.change.root} as it is now? [y/N] ")
    sys.stderr.write("\n".join(map(one_line, lines)))
    sys.stderr.flush()
    # Everything except an explicit yes is a refusal.
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        return False
    _accept(error.change)
    return True


def _is_foreground() -> bool:
    """Return whether a read from the terminal works: it would stop a background process."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def _project_here() -> str:
    from envcfg.profile.project import project_root

    root = project_root(current_folder())
    if root is None:
        msg = "there is no project here: neither envcfg.toml nor .envcfg/profiles"
        raise UsageError(msg, hint="give the path of a project, or of a profile")
    return root


def _file_sets(value: str, catalog: Catalog, records: str) -> Iterator[FileSet]:
    """Yield the files that are trusted together: a project, or single files."""
    from envcfg.profile.guard import examine
    from envcfg.profile.project import read_project
    from envcfg.profile.trust_records import single_file
    from envcfg.report.styled import put

    if not os.path.exists(value):
        msg = f"{value}: no such file"
        raise UsageError(msg, hint="give the path of a project, or of a profile")
    # A file of a project is trusted with the whole project, because its files refer
    # to each other.
    if root := _root_of(value, records):
        yield read_project(root)
        return
    for path in _profiles_in(value) if os.path.isdir(value) else [value]:
        try:
            examined = examine(path, site=catalog.folders[1])
        except OSError as err:
            msg = f"{path}: cannot be read: {err.strerror}"
            raise OutputError(msg, hint="its owner may let you") from err
        # Built-in files need no trust, even if a test installation has other
        # owners.
        built_in = os.path.dirname(examined.real) == catalog.folders[0]
        if examined.doubt is None or built_in:
            put([("green", f"{path}: counts already: only you and root may write it")])
        else:
            yield single_file(examined.real, examined.data)


def _root_of(value: str, records: str) -> str | None:
    """Return the project's folder for its path, or for a trusted file in it."""
    from envcfg.profile.project import is_member, project_root, read_project

    real = os.path.realpath(value)
    root = project_root(real)
    if root is None:
        return None
    # A subfolder of the project is not the project: it may hold single profiles.
    if os.path.isdir(real):
        own = (root, f"{root}/.envcfg", f"{root}/.envcfg/profiles")
        return root if real in map(os.path.realpath, own) else None
    return root if is_member(records, read_project(root), real) else None


def _profiles_in(folder: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".yaml"))
    except OSError as err:
        msg = f"{folder}: cannot be read: {err.strerror}"
        raise OutputError(msg, hint="its owner may let you") from err
    if not names:
        msg = f"{folder}: there is no profile in this folder"
        raise UsageError(msg, hint="give a project's folder, or a profile")
    return [os.path.join(folder, name) for name in names]


def _trust(files: FileSet, records: str) -> list[Finding]:
    """Show the files and record the user's trust; return the problems that prevent it."""
    from envcfg.profile.change import Change as Difference
    from envcfg.profile.project import is_trusted
    from envcfg.profile.refusal import refuse_open_file
    from envcfg.report.styled import put

    change = Difference(files, records)
    present = [name for name, text in change.files.contents.items() if text is not None]
    if problem := refuse_open_file(files, present):
        return [*problem.findings]
    if "" not in files.own and is_trusted(records, files):
        put([("green", f"trusted already: {files.root}")])
        return []
    styles = {"+": "green", "-": "red", "@": "cyan"}
    put((styles.get(line[:1], ""), line) for line in change.lines())
    sys.stdout.flush()  # what could not be shown is not recorded
    _accept(change)
    back = f"envcfg profiles trust --revoke {shlex.quote(files.root)}"
    done = ("bold green", f"trusted, as it is now: {files.root}")
    put([("", ""), done, ("", f"  to take it back: {back}"), ("", "")])
    return []


def _accept(change: Change) -> None:
    from envcfg.profile.trust_records import folder_problem

    records = records_folder(os.environ)
    try:
        change.accept()
    except OSError as err:
        msg = f"{records}: cannot be written: {err.strerror}"
        raise OutputError(msg, hint="choose another place by XDG_STATE_HOME") from err
    if problem := folder_problem(records):
        msg = f"what you trust does not count: {problem}"
        hint = f"chmod go-w {shlex.quote(records)}, or remove it"
        raise OutputError(msg, hint=hint)


def _revoke(value: str, records: str) -> Iterator[str]:
    """Forget the trust in a project, a file, or a folder's files; yield a line for each."""
    from envcfg.profile.trust_records import recorded_roots

    real = os.path.realpath(value)
    root = _root_of(value, records) if os.path.exists(value) else None
    own = {real, root or real}
    forgotten = {
        record: path
        for record, path in recorded_roots(records).items()
        if path in own or os.path.dirname(path) == real
    }
    for record in forgotten:
        os.unlink(record)
    for path in sorted(set(forgotten.values())):
        yield f"no longer trusted: {path}"
    if not forgotten:
        yield f"nothing to take back: {value}"
