"""Whose line it is: by what stands in front of it, its fields, the name of its file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.log.numbers import first_of, ranks_of

_WIDEST = 1 << 16  # ranks that one line names
# Who speaks, by what stands in front of a line.
_SPEAKERS = tuple(
    map(
        re.compile,
        (
            r"\[rank(?P<rank>\d{1,7})\]",  # torch.distributed
            r"\[\d+,(?P<rank>\d{1,7})\]<std",  # Open MPI
            r"\[[A-Za-z_]+(?P<local>\d{1,5})(?:\|\d+)?\]:",  # torchrun
            # Ray
            r"\((?P<process>[A-Za-z]\w*)[^()]*? pid=(?P<pid>\d+)(?:, ip=(?P<host>[\d.]+))?",
            r"\[pod/(?P<host>[^/\]]{1,128})/",  # kubectl
            r"(?:^|\s)(?P<host>[A-Za-z][\w.-]{0,127}) (?P<rank>\d{1,7}): ",  # PALS
            r"^\s*(?P<task>\d{1,7}): ",  # srun
            r"^\[(?P<rank>\d{1,7})\] ",  # MPICH
            # pdsh
            r"^(?!ERROR|WARNING|INFO|CRITICAL|FATAL)(?P<host>[A-Za-z][\w.-]{1,127}): ",
        ),
    )
)
# Files of one rank: of torchrun --log-dir; of Open MPI, DeepSpeed and scripts.
_FILES = (
    re.compile(r"attempt_\d+/(?P<local>\d{1,5})/std(?:out|err)\.log$"),
    re.compile(
        r"(?:^|[._/-])rank[._-]?(?P<rank>\d{1,7})(?:[._/-][^/]{0,64}|/[^/]{1,64})?$"
    ),
)


class Who(NamedTuple):
    """Whose end it was, as far as a line tells.

    Attributes:
        ranks: in the world.
        local: rank on its node; None where unknown.
        hosts: nodes.
        process: what the line calls it.
        is_task: the number is that of a task, which may be an agent.
    """

    ranks: tuple[int, ...] = ()
    local: int | None = None
    hosts: tuple[str, ...] = ()
    process: str = ""
    is_task: bool = False

    @property
    def words(self) -> str:
        """Name it as people do."""
        where = f" ({first_of(self.hosts)})" if self.hosts else ""
        if self.ranks:
            return ranks_of(self.ranks, self.hosts)
        if self.local is not None:
            return f"local rank {self.local}{where}"
        if self.process:
            return f"{self.process}{where}"
        return f"a process on {first_of(self.hosts)}" if self.hosts else "the job"


def speaker(prefix: str) -> Who:
    """Return who speaks behind *prefix*, as launchers name him."""
    for pattern in _SPEAKERS:
        if found := pattern.search(prefix):
            part = found.groupdict()
            number = part.get("rank") or part.get("task")
            name = part.get("process")
            return Who(
                ranks=(int(number),) if number else (),
                local=int(part["local"]) if part.get("local") else None,
                hosts=(part["host"],) if part.get("host") else (),
                process=f"{name} (pid {part['pid']})" if name else "",
                is_task=part.get("task") is not None,
            )
    return Who()


def named(fields: Mapping[str, str | None]) -> Who | None:
    """Return whom the fields of a line name; None where they name nobody."""
    ranks = tuple(numbers_in(fields.get("tasks") or fields.get("rank") or ""))
    host = (fields.get("host") or "").split(".")[0]
    hosts = (host,) if host and host != "localhost" else ()
    local = fields.get("local")
    if not ranks and not hosts and not local:
        return None
    return Who(ranks, int(local) if local else None, hosts)


def numbers_in(text: str) -> Iterator[int]:
    """Yield the numbers of ``0-3,5``."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdigit() and len(first) < 8 and (not last or last.isdigit()):
            yield from range(int(first), min(int(last or first) + 1, _WIDEST))


def owner(name: str) -> Who:
    """Return whose file *name* is, where its name tells."""
    found = next(filter(None, (each.search(name) for each in _FILES)), None)
    return (found and named(found.groupdict())) or Who()
