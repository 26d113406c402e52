"""What is known of a source: of profiles that the user has added from elsewhere."""

import os
from typing import NamedTuple

RECORD = "source.json"  # beside the profiles; none is called so
_FORM = 1  # counts what a record holds


class Source(NamedTuple):
    """Where profiles are from, and at what they are pinned.

    Attributes:
        name: under which they were added.
        url: of a repository of git, or the path of one or of a folder.
        ref: the branch, tag or commit that was asked for; None: the repository's own.
        folder: where the profiles lie in it; empty: at its top.
        commit: full; None for a folder without git.
        date: of the commit, as ISO 8601 has it.
        by: who made the commit.
        added: the day on which the user took it, as ISO 8601 has it.
        digest: SHA-256 over names and bytes of all profiles, hexadecimal.
    """

    name: str
    url: str
    ref: str | None
    folder: str
    commit: str | None
    date: str | None
    by: str | None
    added: str
    digest: str

    @property
    def pin(self) -> str:
        """The commit, or else the content, in short."""
        return (self.commit or self.digest)[:12]


def read_source(folder: str) -> Source | None:
    """Return what is known of the profiles in *folder*; None, where it says nothing."""
    import json

    try:
        with open(os.path.join(folder, RECORD), "rb") as file:
            said = json.load(file)
        if said.pop("form") != _FORM:
            return None
        found = Source(**said)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    known = all(each is None or isinstance(each, str) for each in found)
    return found if known else None


def source_record(source: Source) -> bytes:
    """Return *source* as ``read_source`` reads it."""
    import json

    return json.dumps({"form": _FORM, **source._asdict()}, indent=2).encode() + b"\n"
