"""Files of a script: started or sourced, given as well, beside it, or written by itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from envcfg.lint.follow import Follower, Frame
from envcfg.lint.source import Source, read_beside
from envcfg.lint.text import Text, Word, literal, shown


class Redirects(NamedTuple):
    """Where a command reads and writes.

    Attributes:
        document: what a here-document or here-string gives it, or None.
        output: the file that it writes, if any.
    """

    document: Text | None = None
    output: Text = ()


def find_file(follower: Follower, word: Word, frame: Frame) -> Source | None:
    """Return the file that *word* names: given as well, or beside this one."""
    said = literal(word.text)
    if said is None:
        last = word.text[-1]
        if last.hole or not last.chars.startswith("/"):
            return None
        said = last.chars[1:]  # below a folder that is not known, most often this one
    if not said or "\0" in said:
        return None
    paths = [os.path.normpath(os.path.join(frame.folder, said))]
    paths.append(
        os.path.normpath(os.path.join(os.path.dirname(follower.model.path), said))
    )
    for source in follower.sources.all:
        if os.path.normpath(source.path) in paths:
            return source
    if os.path.isabs(said):
        name = os.path.basename(said)
        same = [s for s in follower.sources.all if os.path.basename(s.path) == name]
        return same[0] if len(same) == 1 else None
    if follower.model.path == "-":
        return None
    for path in paths:
        if not path.startswith("..") and (data := read_beside(path)) is not None:
            return follower.sources.add(path, data)
    return None


def note_written(words: Sequence[Word], redirects: Redirects, frame: Frame) -> None:
    """A here-document that becomes a file, which may be started later."""
    name = os.path.basename(words[0].literal or "")
    target = redirects.output
    if name == "tee" and len(words) > 1:
        target = words[-1].text
    if name in ("cat", "tee") and target and redirects.document is not None:
        frame.state.files[file_key(shown(target))] = redirects.document


def find_written(word: Word, frame: Frame) -> Text | None:
    """Return the text of a file that the script itself has written before."""
    said = file_key(word.shown)
    found = frame.state.files.get(said)
    if found is None:
        name = os.path.basename(said)
        same = [t for p, t in frame.state.files.items() if os.path.basename(p) == name]
        found = same[0] if name and len(same) == 1 else None
    return found


def file_key(path: str) -> str:
    """Return the name by which a file that was written is found again."""
    return path.removeprefix("./").removeprefix("$PWD/")
