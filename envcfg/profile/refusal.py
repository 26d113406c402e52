"""Reject files that affect a job until the user trusts their content."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from envcfg.common.errors import ProfileError, TrustError
from envcfg.common.findings import Finding, Place
from envcfg.profile.change import Change
from envcfg.profile.guard import (
    ExaminedFile,
    are_users,
    doubt_of,
    group_name,
    user_name,
)
from envcfg.profile.ownership import Doubt
from envcfg.profile.project import is_trusted
from envcfg.profile.trust_records import (
    FileSet,
    folder_problem,
    load_record,
    single_file,
)


def refuse_file(
    examined: ExaminedFile, display: str, records: str
) -> ProfileError | None:
    """Return the reason not to trust a file outside any project; None if it is trusted.

    Args:
        display: name of the file for messages.
        records: folder of the user's decisions.
    """
    if examined.doubt is None:
        return None
    if examined.doubt.is_final:
        return _never(examined.doubt, examined.real, display)
    files = single_file(examined.real, examined.data)
    if load_record(records, files):
        return None
    reason = f"not trusted: {_reason(examined.doubt, examined.real)}"
    hint = "before the job, look at it, then trust it: "
    hint += f"envcfg profiles trust {shlex.quote(display)}"
    if examined.doubt.writers == "group" and are_users(examined.doubt.entries):
        hint += f"; or let nobody else write it: {_chmod(examined.doubt)}"
    return _untrusted(files, records, Place(display, 1), reason, hint)


def refuse_project(
    files: FileSet,
    records: str,
    place: Place,
    *,
    subject: str = "",
    alternative: str = "",
    contents: Mapping[str, bytes] | None = None,
) -> ProfileError | None:
    """Return the reason not to trust a project's files; None if the user trusts them.

    Args:
        place: the place of the file or option to be used.
        subject: name of the option.
        alternative: end of the hint.
        contents: as in ``is_trusted``.
    """
    if is_trusted(records, files, contents):
        return _never_named(files, records)
    reason = (
        f"not trusted: it comes with the project {files.root}, and decides what runs"
    )
    hint = "look at it, then trust the project: "
    hint += f"envcfg profiles trust {shlex.quote(files.root)}{alternative}"
    return _untrusted(files, records, place, reason, hint, subject=subject)


def refuse_open_file(files: FileSet, names: Sequence[str]) -> ProfileError | None:
    """Return the reason never to trust files that everybody may write; None without
    such files."""
    for name in names:
        path = f"{files.root}/{name}" if name else files.root
        try:
            doubt = doubt_of(path)
        except OSError:  # the file no longer exists
            continue
        if doubt and doubt.is_final:
            return _never(doubt, os.path.realpath(path), path)
    return None


def _never_named(files: FileSet, records: str) -> ProfileError | None:
    file_set = load_record(records, files)
    names = file_set.named.items() if file_set else ()
    return refuse_open_file(files, [name for name, content in names if content])


def _untrusted(
    files: FileSet,
    records: str,
    place: Place,
    reason: str,
    hint: str,
    *,
    subject: str = "",
) -> TrustError:
    if problem := folder_problem(records):
        reason += f"; what you trust does not count: {problem}"
    change = Change(files, records)
    if not change.is_first:
        reason += "; it has changed since you trusted it"
    finding = Finding(
        "default-not-trusted" if subject else "profile-not-trusted",
        "error",
        subject,
        reason,
        hint,
        place=place,
    )
    return TrustError([finding], change)


def _never(doubt: Doubt, real: str, display: str) -> ProfileError:
    reason = f"never trusted: {_reason(doubt, real)}"
    look = "envcfg profiles show" if display.endswith((".yaml", ".yml")) else "less"
    hint = f"look at it ({look} {shlex.quote(display)}), then "
    if not are_users(doubt.entries):
        owner = user_name(doubt.entries[-1].uid)
        hint += f"make your own copy, or ask {owner} to run: "
    hint += _chmod(doubt)
    finding = Finding(
        "profile-not-trusted", "error", "", reason, hint, place=Place(display, 1)
    )
    return ProfileError([finding])


def _chmod(doubt: Doubt) -> str:
    source = "o" if doubt.is_final else "g"
    return f"chmod {source}-w {shlex.join(entry.path for entry in doubt.entries)}"


def _reason(doubt: Doubt, file: str) -> str:
    nearest = doubt.entries[-1]
    name = "it" if nearest.path == file else nearest.path
    if doubt.writers == "everybody":
        return f"everybody may write {name}"
    if doubt.writers == "group":
        return f"group {group_name(nearest.gid)} may write {name}"
    return f"{name} belongs to {user_name(nearest.uid)}, not to you"
