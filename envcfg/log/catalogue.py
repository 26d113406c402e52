"""The name of a warning that no rule knows: what NCCL, RCCL and their plugins can print.

``warnings/*.tsv`` holds the formats of all releases, made by ``scripts/catalogue``. It is
read where an unknown warning stands, and at no other time. An entry names a warning and
makes no verdict: it says who prints it, which part of the library that is, and whether the
call fails.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from envcfg.datafile import names_in, read_text
from envcfg.log.facts import Sighting

FOLDER = os.path.join(os.path.dirname(__file__), "warnings")
PARTS = "init bootstrap topology transport proxy plugin memory call tuning".split()
EFFECTS = {"fails": "-failed", "goes on": ""}
# What a line holds may be cut, quoted or wrapped: compared is what stands between these.
_BREAKS = re.compile(r'%[sdxf]|\\n|["\\]')
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_ENOUGH = 8  # letters of a format that tell it from words of anybody


class Entry(NamedTuple):
    """A format of a warning.

    Attributes:
        library: name of the repository's file (``nccl``, ``aws-ofi-nccl``).
        since, last: the first and the last release that print it.
        newest: no release that was read is newer than ``last``.
        part: of the library, one of ``PARTS``.
        effect: ``fails`` or ``goes on``: what the call does that prints it.
        path: of the source in the newest of these releases.
        pieces: what every line of it holds, in this order.
    """

    library: str
    since: str
    last: str
    newest: bool
    part: str
    effect: str
    path: str
    pieces: tuple[str, ...]

    @property
    def rule(self) -> str:
        """The id of the rule that has the words for its part and effect."""
        return f"warning-{self.part}{EFFECTS[self.effect]}"


def libraries() -> list[str]:
    """Return the names of the libraries that the catalogue has."""
    return sorted(name[:-4] for name in names_in(FOLDER) if name.endswith(".tsv"))


def entries(library: str) -> Iterator[Entry]:
    """Yield what is known of the warnings of a *library*."""
    text = read_text(os.path.join(FOLDER, f"{library}.tsv"))
    head, *lines = text.splitlines()
    newest = head.split("\t")[2]
    for line in lines:
        since, last, part, effect, path, words = line.split("\t")
        if effect in EFFECTS:
            pieces = (each.strip() for each in _BREAKS.split(words))
            kept = tuple(each.replace("%%", "%") for each in pieces if each)
            yield Entry(library, since, last, last == newest, part, effect, path, kept)


@lru_cache(maxsize=1)
def _index() -> dict[str, list[Entry]]:
    """Return all entries, each by the word of it that the fewest others hold."""
    known = [each for library in libraries() for each in entries(library)]
    words = [set(_WORD.findall(" ".join(each.pieces))) for each in known]
    counts = Counter(word for held in words for word in held)
    index: dict[str, list[Entry]] = {}
    for each, held in zip(known, words, strict=True):
        if sum(map(len, held)) >= _ENOUGH:
            rarest = min(held, key=lambda word: (counts[word], word))
            index.setdefault(rarest, []).append(each)
    return index


@lru_cache(maxsize=256)
def look_up(message: str) -> tuple[Entry, ...]:
    """Return what prints *message*: the entries of the most literal format that fits it."""
    message = " ".join(message.split())
    index = _index()
    found: dict[tuple[str, ...], list[Entry]] = {}
    for word in set(_WORD.findall(message)):
        for each in index.get(word, ()):
            if _fits(each.pieces, message):
                found.setdefault(each.pieces, []).append(each)
    best = max(found, key=lambda pieces: sum(map(len, pieces)), default=())
    return tuple(found.get(best, ()))


def _fits(pieces: tuple[str, ...], message: str) -> bool:
    at = 0
    for piece in pieces:
        at = message.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def warned(sighting: Sighting) -> str:
    """Return what a warning says, without what stands in front of it."""
    return sighting.text.partition("NCCL WARN ")[2]


def said_by(found: tuple[Entry, ...]) -> str:
    """Say which libraries print a warning, and what the call does that prints it.

    A release is named where the message is new in it, or was printed for the last time.
    """
    first = found[0]
    does = (
        "the call that warns fails" if first.effect == "fails" else "the call goes on"
    )
    ranges = [
        f"{each.library} {each.since}{' and newer' if each.newest else f' to {each.last}'}"
        for each in found
    ]
    return f"{does}; {', '.join(ranges)} ({os.path.basename(first.path)})"
