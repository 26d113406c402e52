"""What was fetched from elsewhere, and how much of it may be there at most."""

from collections.abc import Mapping
from typing import NamedTuple

from envcfg.digest import sha256_of
from envcfg.errors import OutputError
from envcfg.profile.read.nodes import MAX_BYTES
from envcfg.profile.words import PROFILE_NAME

MOST_FILES = 200  # profiles of one source
# Where profiles lie, if nobody says: the first of these that has some.
FOLDERS = ("profiles", ".envcfg/profiles", "")


class Entry(NamedTuple):
    """One name in a folder; *size*: bytes of a plain file, None of anything else."""

    name: str
    size: int | None


class Fetched(NamedTuple):
    """Profiles as they were read, by the names of their files, and their commit."""

    files: Mapping[str, bytes]
    folder: str
    commit: str | None = None
    date: str | None = None
    by: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 over names and bytes, hexadecimal."""
        parts = (
            f"{name}\0{len(data)}\0".encode() + data
            for name, data in sorted(self.files.items())
        )
        return sha256_of(b"".join(parts))


def profiles_among(entries: list[Entry], where: str) -> list[str]:
    """Return the names of the profiles in a folder, if all can be read.

    Args:
        entries: all that is in it.
        where: its name, for messages.

    Raises:
        OutputError: there are too many, or one is no plain file, too large, or misnamed.
    """
    found = sorted(each for each in entries if each.name.endswith(".yaml"))
    if len(found) > MOST_FILES:
        msg = f"{where}: {len(found)} profiles are more than {MOST_FILES}"
        raise OutputError(msg, hint="name another folder by --folder")
    for name, size in found:
        if not PROFILE_NAME.fullmatch(name[:-5]):
            wrong = "no profile can be called so"
        elif size is None:
            wrong = "it is no plain file, and links are not followed"
        elif size > MAX_BYTES:
            wrong = (
                f"{size} bytes are more than the {MAX_BYTES} that a profile may have"
            )
        else:
            continue
        msg = f"{where}/{name}: {wrong}"
        raise OutputError(msg, hint="nothing was added; tell who publishes it")
    return [each.name for each in found]


def no_profiles(url: str, folder: str | None) -> OutputError:
    """Return the error for a place where there is none."""
    places = [each or "its top" for each in (FOLDERS if folder is None else (folder,))]
    msg = f"{url}: no profile in {', '.join(places)}"
    return OutputError(msg, hint="name the folder that holds NAME.yaml: --folder PATH")
