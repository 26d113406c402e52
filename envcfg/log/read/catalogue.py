"""Names of warnings without a rule: the messages that NCCL, RCCL and their plugins can
print.

``warnings/*.tsv`` holds the formats of all releases, made by ``scripts/catalogue``. It is
read only for unknown warnings. An entry names a warning and causes no verdict: it gives
the library, the part of it, and whether the call fails.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from envcfg.common.datafile import data_path, names_in, read_text
from envcfg.log.numbers import collect
from envcfg.log.read.process_facts import Sighting

FOLDER = data_path("log/read/warnings")
PARTS = "init bootstrap topology transport proxy plugin memory call tuning".split()
EFFECTS = {"fails": "-failed", "goes on": ""}
# A line may be cut, quoted or wrapped, so only the text between these is compared.
_BREAKS = re.compile(r'%[sdxf]|\\n|["\\]')
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_ENOUGH = 8  # letters of a format that distinguish it from other text


class WarningFormat(NamedTuple):
    """A format of a warning."""

    library: str  # name of the repository's file (`nccl`, `aws-ofi-nccl`)
    since: str  # the first release that prints it
    last: str
    newest: bool  # True if `last` is the newest release that was read
    part: str  # of the library, one of `PARTS`
    effect: str  # `fails` or `goes on`: the result of the call that prints it
    path: str  # of the source in the newest of these releases
    pieces: tuple[str, ...]  # texts that every line of it holds, in this order

    @property
    def rule(self) -> str:
        """The id of the rule with the words for its part and effect."""
        return f"warning-{self.part}{EFFECTS[self.effect]}"


def libraries() -> list[str]:
    """Return the names of the libraries that the catalogue has."""
    return [name[:-4] for name in names_in(FOLDER, ".tsv")]


def entries(library: str) -> Iterator[WarningFormat]:
    """Yield the known warnings of a *library*."""
    text = read_text(f"{FOLDER}/{library}.tsv")
    head, *lines = text.splitlines()
    newest = head.split("\t")[2]
    for line in lines:
        since, last, part, effect, path, words = line.split("\t")
        if effect in EFFECTS:
            pieces = (piece.strip() for piece in _BREAKS.split(words))
            texts = tuple(piece.replace("%%", "%") for piece in pieces if piece)
            yield WarningFormat(
                library, since, last, last == newest, part, effect, path, texts
            )


@lru_cache(maxsize=1)
def _index() -> dict[str, list[WarningFormat]]:
    """Return all entries, each by its rarest word."""
    entries_known = [entry for library in libraries() for entry in entries(library)]
    words = [set(_WORD.findall(" ".join(entry.pieces))) for entry in entries_known]
    counts = Counter(word for words_of_entry in words for word in words_of_entry)
    return collect(
        (min(words_of_entry, key=lambda word: (counts[word], word)), entry)
        for entry, words_of_entry in zip(entries_known, words, strict=True)
        # A short format matches too many messages.
        if sum(map(len, words_of_entry)) >= _ENOUGH
    )


@lru_cache(maxsize=256)
def look_up(message: str) -> tuple[WarningFormat, ...]:
    """Return the entries that can print *message*: those of the most literal matching
    format."""
    message = " ".join(message.split())
    index = _index()
    by_libraries = collect(
        (entry.pieces, entry)
        for word in set(_WORD.findall(message))
        for entry in index.get(word, ())
        if _fits(entry.pieces, message)
    )
    # The format with the most fixed text is the most specific one.
    best = max(by_libraries, key=lambda pieces: sum(map(len, pieces)), default=())
    return tuple(by_libraries.get(best, ()))


def _fits(pieces: tuple[str, ...], message: str) -> bool:
    position = 0
    for piece in pieces:
        position = message.find(piece, position)
        if position < 0:
            return False
        position += len(piece)
    return True


def warned(sighting: Sighting) -> str:
    """Return the text of a warning without its prefix."""
    return sighting.text.partition("NCCL WARN ")[2]


def said_by(formats: tuple[WarningFormat, ...]) -> str:
    """Return a sentence on the libraries that print a warning and the effect on the
    call.

    Releases are named as the first and the last that print the message.
    """
    first = formats[0]
    does = (
        "the call that warns fails" if first.effect == "fails" else "the call goes on"
    )
    ranges = [
        f"{entry.library} {entry.since}"
        f"{' and newer' if entry.newest else f' to {entry.last}'}"
        for entry in formats
    ]
    return f"{does}; {', '.join(ranges)} ({os.path.basename(first.path)})"
