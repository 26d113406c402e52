"""Where profiles may be fetched from: repositories of git, and folders."""

import os
import re
from typing import Literal, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from envcfg.errors import UsageError
from envcfg.profile.words import PROFILE_NAME

_SCP = re.compile(r"[A-Za-z0-9_.-]+@[A-Za-z0-9][A-Za-z0-9_.-]*:[^:]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?=//|:)")
_ARCHIVE = re.compile(r"\.(zip|tar|tgz|tbz2?|txz|tar\.\w+)$", re.IGNORECASE)
# What git takes for a branch, a tag or a commit, of plain characters; no refspec.
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,199}")
_TAKES = "a repository of git by https:// or ssh://, or the path of one or of a folder"


class Address(NamedTuple):
    """Where profiles are; *url* is an absolute path for what lies on this machine."""

    kind: Literal["git", "folder"]
    url: str


def read_address(text: str) -> Address:
    """Return what *text* names; paths are looked at.

    Raises:
        UsageError: it is nothing that can be fetched, or not safely.
    """
    if not text or not text.isprintable() or text.startswith("-"):
        msg = f"{text!r} is no address"
        raise UsageError(msg, hint=f"give {_TAKES}")
    scheme = _SCHEME.match(text)
    if scheme is None:
        return Address("git", text) if _SCP.fullmatch(text) else _on_disk(text)
    parts = _split(text)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            msg = f"{text}: a file: URL names no other host"
            raise UsageError(msg, hint="as in file:///project/group/profiles.git")
        return _on_disk(unquote(parts.path))
    if parts.scheme not in ("https", "ssh"):
        msg = f"{text}: profiles are not fetched by {parts.scheme}:"
        if parts.scheme in ("http", "git"):
            msg += ", which lets anybody on the way change them"
        raise UsageError(msg, hint=f"give {_TAKES}")
    if _ARCHIVE.search(parts.path):
        raise _archive(text)
    if parts.password is not None:
        msg = "the address holds a password, and would be kept as it is"
        raise UsageError(msg, hint="let git know it: man gitcredentials")
    if not parts.hostname or parts.hostname.startswith("-"):
        msg = f"{text}: no host is named"
        raise UsageError(msg, hint=f"give {_TAKES}")
    return Address("git", text)


def check_ref(ref: str | None) -> None:
    """See that *ref* can be a branch, a tag or a commit.

    Raises:
        UsageError: it cannot.
    """
    if ref is not None and (not _REF.fullmatch(ref) or ".." in ref):
        msg = f"--ref {ref!r} is no branch, tag or commit"
        raise UsageError(msg, hint="as in --ref v1.2")


def check_folder(folder: str | None) -> None:
    """See that *folder* is a path within what is fetched.

    Raises:
        UsageError: it is not.
    """
    if folder is None:
        return
    parts = folder.split("/")
    if not folder.isprintable() or ":" in folder or {"", ".", ".."} & set(parts):
        msg = f"--folder {folder!r} is no folder within what is fetched"
        raise UsageError(msg, hint="as in --folder hpc/profiles")


def source_name(address: Address, given: str | None) -> str:
    """Return the name of a source: the one given, or the last word of its address.

    Raises:
        UsageError: it cannot be one.
    """
    last = re.split("[/:]", address.url.rstrip("/"))[-1].removesuffix(".git")
    name = last if given is None else given
    if not PROFILE_NAME.fullmatch(name):
        msg = f"{name!r} is no name of a source"
        raise UsageError(msg, hint="give one by --name, as in --name my-group")
    return name


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as err:
        msg = f"{text}: {err}"
        raise UsageError(msg, hint=f"give {_TAKES}") from err
    return parts


def _on_disk(path: str) -> Address:
    path = os.path.abspath(path)
    if _ARCHIVE.search(path):
        raise _archive(path)
    if not os.path.isdir(path):
        msg = f"{path}: no such folder"
        raise UsageError(msg, hint=f"give {_TAKES}")
    bare = all(os.path.exists(f"{path}/{each}") for each in ("HEAD", "objects", "refs"))
    is_git = bare or os.path.exists(f"{path}/.git")
    return Address("git" if is_git else "folder", path)


def _archive(text: str) -> UsageError:
    msg = f"{text}: archives are not taken: nothing pins what is in them"
    return UsageError(
        msg, hint="give a repository of git, or unpack it: a folder is taken"
    )
