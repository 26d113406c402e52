"""The owner of a line: by its prefix, its fields, or the name of its file."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.log.numbers import first_of, ranks_of
from envcfg.log.read.prefix import prefixes

_WIDEST = 1 << 16  # ranks in one line; a larger range is torn


class Owner(NamedTuple):
    """The process of an event, as far as a line identifies it."""

    ranks: tuple[int, ...] = ()  # in the world
    local: int | None = None  # rank on its node; None if unknown
    hosts: tuple[str, ...] = ()  # nodes
    process: str = ""  # name in the line
    is_task: bool = False  # True if the number is that of a task, which may be an agent

    @property
    def words(self) -> str:
        """The name of the process in sentences."""
        where = f" ({first_of(self.hosts)})" if self.hosts else ""
        if self.ranks:
            return ranks_of(self.ranks, self.hosts)
        if self.local is not None:
            return f"local rank {self.local}{where}"
        if self.process:
            return f"{self.process}{where}"
        return f"a process on {first_of(self.hosts)}" if self.hosts else "the job"


def speaker(prefix: str) -> Owner:
    """Return the process in a launcher's *prefix*."""
    for pattern, _ in prefixes("speakers"):
        if match := pattern.search(prefix):
            part = match.groupdict()
            number = part.get("rank") or part.get("task")
            name = part.get("process")
            return Owner(
                ranks=(int(number),) if number else (),
                local=int(part["local"]) if part.get("local") else None,
                hosts=(part["host"],) if part.get("host") else (),
                process=f"{name} (pid {part['pid']})" if name else "",
                is_task=part.get("task") is not None,
            )
    return Owner()


def named(fields: Mapping[str, str | None]) -> Owner | None:
    """Return the process in the fields of a line; None if they identify no process."""
    ranks = tuple(numbers_in(fields.get("tasks") or fields.get("rank") or ""))
    host = fields.get("host") or ""
    host = host if host[:1].isdigit() and "." in host else host.split(".")[0]
    # "localhost" names a different node in each line.
    hosts = (host,) if host and host != "localhost" else ()
    local, address = fields.get("local"), fields.get("address")
    if not ranks and not hosts and not local and not address:
        return None
    node = f"node {address}" if address else ""
    return Owner(ranks, int(local) if local else None, hosts, node)


def numbers_in(text: str) -> Iterator[int]:
    """Yield the numbers of ``0-3,5``."""
    for part in filter(None, text.replace(" ", "").split(",")):
        first, _, last = part.partition("-")
        if first.isdigit() and len(first) < 8 and (not last or last.isdigit()):
            yield from range(int(first), min(int(last or first) + 1, _WIDEST))


_ATTEMPT = re.compile(
    r"(?i)(?:attempt|restart|requeue|retry|start)[-_.]?(\d{1,9})(?!\d)"
)


def attempt_number(name: str) -> int:
    """Return the number of the attempt that wrote the file *name*; 0 if it has none.

    >>> attempt_number("slurm-7.restart2.out"), attempt_number("attempt_1/0/stderr.log")
    (2, 1)
    """
    match = _ATTEMPT.search(name)
    return int(match[1]) if match else 0


def owner(name: str) -> Owner:
    """Return the process that wrote the file *name*, if the name shows it."""
    tried = (pattern.search(name) for pattern, _ in prefixes("files"))
    match = next(filter(None, tried), None)
    return (match and named(match.groupdict())) or Owner()
