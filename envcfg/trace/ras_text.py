"""An answer of RAS as text: ``ncclras``, ``ncclras -v``, or what nc shows of port 28028."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from envcfg.trace.ras_records import (
    STATUS,
    RasComm,
    RasGroup,
    RasProcess,
    RasRank,
    RasReport,
    Share,
    Spread,
    spread_of,
)

# Ranks of one answer that are kept; NCCL names ten at most unless asked.
_MANY = 1 << 17
_GROUP = re.compile(
    r" *\d{1,9} +(\d{1,9}) +\d{1,9} +[\d-]{1,12} +(\d{1,9}) +\d{1,9} +[A-Z]+ +[A-Z,]+$"
)
_COMM = re.compile(r"(#\d{1,9}-\d{1,9}) \(([0-9a-f]{1,16})\) ([A-Z]+)$")
_LOST = re.compile(r"  Missing communicator data from (\d{1,9}) (job process|rank)")
_DEAD = re.compile(r"  (\d{1,9}) job process(?: is|es are) considered dead")
_PROCESS = re.compile(r"  Process (-?\d{1,9}) on node (\S{1,64}) managing GPUs? [\d,]")
_DIFFERENT = re.compile(
    r"  Communicator ranks have different (?:(status)|(\w{1,64}) operation counts)$"
)
_SHARE = re.compile(
    r"  (\d{1,9}) ranks (?:have launched up to operation (\d{1,18})"
    r"|have (not) launched any operations|have status ([A-Z]+)|reported (.{1,99}))$"
)
_RANK = re.compile(
    r"  Rank (\d{1,9})(?: has launched up to operation (\d{1,18})"
    r"| has (not) launched any operations| has status ([A-Z]+)| reported (.{1,99}?))? -- "
    r"(?:GPU (\d{1,9})(?: \(NVML \d{1,9}\))? managed by process (-?\d{1,9}) on node "
    r"(\S{1,64})|\[process information not found\])$"
)


class _Value(NamedTuple):
    """What the lines below are of: ranks that agree."""

    value: int | str | None
    count: int  # type: ignore[assignment]
    error: str


def _value(launched: str, none: str, status: str) -> int | str | None:
    return 0 if none else int(launched) if launched else status or None


class _Comm:
    """A communicator, while lines are read of it."""

    def __init__(self, name: str, number: str) -> None:
        self.name, self.number = name, number
        self.problems: list[str] = []
        self.ranks: dict[int, RasRank] = {}
        self.spreads: dict[str, list[tuple[_Value, list[int]]]] = {}

    def add(self, rank: RasRank) -> None:
        """Take in what a line says of a rank, beside what others said."""
        known = self.ranks.get(rank.rank, rank)
        self.ranks[rank.rank] = rank._replace(
            status=rank.status or known.status,
            error=rank.error or known.error,
            silent=rank.silent or known.silent,
            counts={**known.counts, **rank.counts},
        )

    def done(self, size: int | None) -> RasComm:
        """Return the record."""
        return RasComm(
            hash=self.number.rjust(16, "0"),
            name=self.name,
            size=size,
            problems=tuple(self.problems),
            ranks=tuple(self.ranks[each] for each in sorted(self.ranks)),
            spreads=tuple(
                self._spread(what, shares)
                for what, shares in self.spreads.items()
                if len(shares) > 1
            ),
        )

    def _spread(self, what: str, shares: Sequence[tuple[_Value, list[int]]]) -> Spread:
        return spread_of(
            what,
            [
                Share(
                    head.value if head.value is not None else "",
                    head.count,
                    tuple(self.ranks[each] for each in sorted(ranks)),
                )
                for head, ranks in shares
            ],
        )


class _Reader:
    """The state between two lines."""

    def __init__(self) -> None:
        self.lost = self.dead = 0
        self.silent: list[RasProcess] = []
        self.groups: list[RasGroup] = []
        self.comms: dict[str, _Comm] = {}
        self.comm: _Comm | None = None
        self.problem = ""
        self.what = ""  # the ranks differ in
        self.head: _Value | None = None
        self.section = ""
        self.kept = 0

    def take(self, line: str) -> None:
        """Take in one line."""
        if line in ("Errors", "Warnings", "Job summary"):
            self.section, self.comm, self.problem = line, None, ""
        elif found := _COMM.match(line):
            name, number, self.problem = found.groups()
            self.comm = self.comms.setdefault(name, _Comm(name, number))
            if self.problem not in self.comm.problems:
                self.comm.problems.append(self.problem)
            self.what, self.head = "", None
        elif line in ("INCOMPLETE", "DEAD", "TIMEOUT"):
            self.comm, self.problem = None, line
        elif self.section in ("Errors", "Warnings"):
            self._detail(line)
        elif found := _GROUP.match(line):
            self.groups.append(RasGroup(int(found[1]), int(found[2])))
        elif line.startswith("Communicators..."):
            self.section = ""

    def _detail(self, line: str) -> None:
        if found := _RANK.match(line):
            self._rank(found)
        elif found := _SHARE.match(line):
            count, launched, none, status, error = found.groups(default="")
            value = _value(launched, none, status)
            self.head = _Value(value, int(count), error)
            self._share(self.head, [])
        elif found := _DIFFERENT.match(line):
            self.what, self.head = STATUS if found[1] else found[2], None
        elif found := _PROCESS.match(line):
            self._keep()
            dead = self.problem == "DEAD"
            self.silent.append(RasProcess(found[2], int(found[1]), dead))
        elif found := _LOST.match(line):
            if self.comm is None:
                self.lost = int(found[1])
        elif found := _DEAD.match(line):
            self.dead = int(found[1])
        elif " error" in line:  # "Initialization errors on 2 ranks"
            self.what, self.head = "", None

    def _rank(self, found: re.Match[str]) -> None:
        if self.comm is None or not self._keep():
            return
        number, launched, none, status, error, gpu, pid, host = found.groups(default="")
        value = _value(launched, none, status)
        head = self.head
        if value is not None or error:
            head = _Value(value, 1, error)
            self._share(head, [int(number)])
        elif head and (shares := self.comm.spreads.get(self.what)):
            shares[-1][1].append(int(number))
        value = head.value if head else None
        counts = {self.what: value} if isinstance(value, int) and self.what else {}
        self.comm.add(
            RasRank(
                rank=int(number),
                host=host,
                pid=int(pid) if pid else None,
                gpu=int(gpu) if gpu else None,
                status=value if isinstance(value, str) else "",
                error=head.error if head else "",
                silent=self.problem == "INCOMPLETE",
                counts=counts,
            )
        )

    def _share(self, head: _Value, ranks: list[int]) -> None:
        if self.comm and self.what and head.value is not None:
            self.comm.spreads.setdefault(self.what, []).append((head, ranks))

    def _keep(self) -> bool:
        self.kept += 1
        return self.kept <= _MANY


def from_text(text: str) -> RasReport:
    """Return what an answer in words says; lines that are not of it are left out."""
    reader = _Reader()
    for line in text.splitlines():
        reader.take(line.rstrip())
    dead = {(each.host, each.pid) for each in reader.silent if each.dead}
    comms = []
    for comm in reader.comms.values():
        group = int(comm.name[1:].partition("-")[0])
        size = reader.groups[group].size if group < len(reader.groups) else None
        comm.ranks = {
            each.rank: each._replace(dead=each.silent and (each.host, each.pid) in dead)
            for each in comm.ranks.values()
        }
        comms.append(comm.done(size))
    return RasReport(
        time="",
        missing=reader.lost,
        dead=reader.dead,
        silent=tuple(reader.silent),
        groups=tuple(reader.groups),
        comms=tuple(comms),
        whole=reader.section == "Warnings",
    )
