"""What goes wrong, and what only looks so, in the words of each version."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import NamedTuple

from dialects import DIALECTS, Version
from shape import Rank, Said

HERE = Path(__file__).parent
NEWEST = (99,)


class Failure(NamedTuple):
    """Lines that one rank says.

    Attributes:
        said: the messages, with names to fill in.
        verdict: what they make of a job that is fine without: ``broken``, ``degraded``,
            or None where they mean nothing.
        since: first version of NCCL that says so.
        until: last one; a shorter number holds all that begin with it.
        rccl: said by RCCL alone (True), by NCCL alone (False) or by both (None).
        at_start: the rank dies of it before its communicator is complete.
    """

    said: tuple[Said, ...]
    verdict: str | None
    since: Version
    until: Version
    rccl: bool | None
    at_start: bool

    def fits(self, dialect: str) -> bool:
        """Say whether a dialect has these words."""
        d = DIALECTS[dialect]
        until = d.version[: len(self.until)]
        return (
            self.rccl in {None, d.rccl}
            and self.since <= d.version
            and until <= self.until
        )

    def of(self, rank: Rank) -> list[Said]:
        """Return the messages as *rank* says them."""
        peer = Rank(rank.job, (rank.number + rank.job.ranks_per_node) % rank.job.world)
        names = {
            "rank": rank.number,
            "local": rank.local,
            "host": rank.host,
            "address": rank.address(),
            "pid": rank.pid,
            "other": peer.number,
            "peer": peer.address(),
            "peerhost": peer.host,
        }
        return [
            each._replace(text=Template(each.text).safe_substitute(names))
            for each in self.said
        ]


def errors_of(dialect: str) -> list[str]:
    """Return the names of all errors that *dialect* can say."""
    return [name for name, failure in ERRORS.items() if failure.fits(dialect)]


def benign_of(dialect: str) -> list[str]:
    """Return the names of all harmless lines that *dialect* can say."""
    return [name for name, failure in BENIGN.items() if failure.fits(dialect)]


def _load(name: str, verdict: str | None) -> dict[str, Failure]:
    """Read a table; without a word of its own, each entry has *verdict*."""
    table = {}
    blocks = (HERE / name).read_text(encoding="utf-8").split("\n= ")
    for block in blocks[1:]:
        head, *lines = block.strip("\n").split("\n")
        title, *words = head.split()
        first, last = next((w for w in words if w[0] in "-0123456789"), "-").split("-")
        libraries = {"nccl": False, "rccl": True}
        table[title] = Failure(
            tuple(_said(line) for line in lines if line and line[0] != "#"),
            "degraded" if "degraded" in words else verdict,
            _version(first) or (2,),
            _version(last) or NEWEST,
            next((rccl for word, rccl in libraries.items() if word in words), None),
            "at-start" in words,
        )
    return table


def _said(line: str) -> Said:
    kind, _, rest = line.replace("\\n", "\n").partition(" ")
    if kind == "B":
        return Said(rest, "", "")
    if kind == "R":
        return Said(rest, "INIT,NET", "RETURN")
    source, _, text = rest.partition(" | ")
    if kind == "I":
        return Said(text, source)
    if kind == "P":
        return Said(text, "", "WARN", source, by_plugin=True)
    where, _, function = source.partition(" (")
    return Said(text, "", "WARN", where, function=function.rstrip(")"))


def _version(text: str) -> Version:
    return tuple(int(part) for part in text.split(".")) if text else ()


ERRORS = _load("errors.txt", "broken")
BENIGN = _load("benign.txt", None)
