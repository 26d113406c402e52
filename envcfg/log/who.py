"""Whose line it is: by what stands in front of it, its fields, the name of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.log.numbers import first_of, ranks_of
from envcfg.log.prefix import prefixes

_WIDEST = 1 << 16  # ranks that one line names


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
    for pattern, _ in prefixes("speakers"):
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
    tried = (pattern.search(name) for pattern, _ in prefixes("files"))
    found = next(filter(None, tried), None)
    return (found and named(found.groupdict())) or Who()
