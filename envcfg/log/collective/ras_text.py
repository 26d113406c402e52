"""Answers of RAS in text form: from ``ncclras``, ``ncclras -v``, or ``nc`` on port
28028."""

import re
from collections.abc import Iterable, Sequence

from envcfg.common.characters import split_lines
from envcfg.log.collective.ras_records import (
    STATUS,
    RasComm,
    RasProcess,
    RasRank,
    RasReport,
    Share,
    spread_of,
)

# Ranks of one answer to keep; NCCL names ten at most by default.
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
    r"(?:GPU \d{1,9}(?: \(NVML \d{1,9}\))? managed by process (-?\d{1,9}) on node "
    r"(\S{1,64})|\[process information not found\])$"
)


_Value = int | str | None  # number of operations, a status, or None for an error
_NOTHING: tuple[_Value, str] = (None, "")


def _value(launched: str, none: str, status: str) -> _Value:
    return 0 if none else int(launched) if launched else status or None


class _Comm:
    """A communicator, while its lines are read."""

    def __init__(self, name: str, number: str) -> None:
        self.name, self.number, self.failed = name, number, False
        self.ranks: dict[int, RasRank] = {}
        # For each difference: the values, the number of ranks, and the named ranks.
        self.spreads: dict[str, list[tuple[int | str, int, list[int]]]] = {}

    def done(self, groups: Sequence[tuple[int, int]]) -> RasComm:
        """Return the record."""
        group = int(self.name[1:].partition("-")[0])
        return RasComm(
            hash=self.number.rjust(16, "0"),
            name=self.name,
            size=groups[group][1] if group < len(groups) else None,
            failed=self.failed,
            ranks=self._ranks_of(self.ranks),
            spreads=tuple(
                spread_of(
                    subject, [Share(v, n, self._ranks_of(own)) for v, n, own in shares]
                )
                for subject, shares in self.spreads.items()
                if len(shares) > 1
            ),
        )

    def _ranks_of(self, numbers: Iterable[int]) -> tuple[RasRank, ...]:
        return tuple(self.ranks[number] for number in sorted(numbers))


class _RasReader:
    """The state between two lines."""

    def __init__(self) -> None:
        self.lost = self.dead = 0
        self.silent: list[RasProcess] = []
        self.groups: list[tuple[int, int]] = []
        self.comms: dict[str, _Comm] = {}
        self.comm: _Comm | None = None
        self.problem = ""
        self.what = ""  # the property in which ranks differ
        self.head = _NOTHING  # value and error of the ranks in the following lines
        self.section = ""
        self.kept = 0

    def take(self, line: str) -> None:
        """Take in one line."""
        if line in ("Errors", "Warnings", "Job summary"):
            self.section, self.comm, self.problem = line, None, ""
        # Sections repeat a communicator, so it is created once and extended.
        elif match := _COMM.match(line):
            name, number, self.problem = match.groups()
            self.comm = self.comms.setdefault(name, _Comm(name, number))
            self.comm.failed |= self.problem == "ERROR"
            self.what, self.head = "", _NOTHING
        elif line in ("INCOMPLETE", "DEAD", "TIMEOUT"):
            self.comm, self.problem = None, line
        elif self.section in ("Errors", "Warnings"):
            self._detail(line)
        elif match := _GROUP.match(line):
            self.groups.append((int(match[1]), int(match[2])))
        elif line.startswith("Communicators..."):
            self.section = ""

    def _detail(self, line: str) -> None:
        if match := _RANK.match(line):
            self._rank(match)
        elif match := _SHARE.match(line):
            count, launched, none, status, error = match.groups(default="")
            self.head = _value(launched, none, status), error
            self._share(self.head[0], int(count), [])
        elif match := _DIFFERENT.match(line):
            self.what, self.head = STATUS if match[1] else match[2], _NOTHING
        elif match := _PROCESS.match(line):
            self._keep()
            dead = self.problem == "DEAD"
            self.silent.append(RasProcess(match[2], int(match[1]), dead))
        elif match := _LOST.match(line):
            if self.comm is None:
                self.lost = int(match[1])
        elif match := _DEAD.match(line):
            self.dead = int(match[1])
        elif " error" in line:  # "Initialization errors on 2 ranks"
            self.what, self.head = "", _NOTHING

    def _rank(self, match: re.Match[str]) -> None:
        if self.comm is None or not self._keep():
            return
        text, launched, none, status, error, pid, host = match.groups(default="")
        value, number = _value(launched, none, status), int(text)
        if value is not None or error:
            self._share(value, 1, [number])
        else:
            value, error = self.head
            shares = self.comm.spreads.get(self.what)
            if shares and self.head != _NOTHING:
                shares[-1][2].append(number)
        counts = {self.what: value} if isinstance(value, int) and self.what else {}
        ras_rank = self.comm.ranks.get(number)
        self.comm.ranks[number] = RasRank(
            rank=number,
            host=host,
            pid=int(pid) if pid else None,
            error=error or (ras_rank.error if ras_rank else ""),
            counts={**(ras_rank.counts if ras_rank else {}), **counts},
        )

    def _share(self, value: _Value, count: int, ranks: list[int]) -> None:
        if value is None or (isinstance(value, str) and self.what != STATUS):
            return  # an error, or a line in the wrong section
        if self.comm and self.what:
            self.comm.spreads.setdefault(self.what, []).append((value, count, ranks))

    def _keep(self) -> bool:
        self.kept += 1
        return self.kept <= _MANY


def from_text(text: str) -> RasReport:
    """Parse an answer in text form; other lines are skipped."""
    reader = _RasReader()
    for line in split_lines(text):
        reader.take(line.rstrip())
    return RasReport(
        time="",
        missing=reader.lost,
        dead=reader.dead,
        silent=tuple(reader.silent),
        groups=tuple(reader.groups),
        comms=tuple(comm.done(reader.groups) for comm in reader.comms.values()),
        is_complete=reader.section == "Warnings",
    )
