"""The answer of a node, parsed from the lines of its probe; torn lines are ignored.

A line is ``envcfg-node HOST KIND WORD...``; ``+KIND`` has the first part of a long text.
Lines of several nodes are mixed. Their content may come from processes of the job.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from envcfg.nodes.probe.probes import words_of
from envcfg.nodes.probe.sample import TAG, GpuSample, SampleReader

Rows = tuple[tuple[str, ...], ...]
_MOST_PARTS = 1 << 20  # characters of a text in parts
_MOST_ROWS = 1 << 17  # of a kind
_SIZE = r"([0-9]{1,20})"  # a number of 64 bits
_NEAR = r"(\S+) (\S+)"  # NUMA node and CPUs
_PID, _WORD = "([0-9]{1,18})", r"(\S+) "
# The words of each kind; the last one may be the rest of the line.
WORDS: Mapping[str, str] = {
    "memlock": "([0-9]{1,20}|unlimited)",
    "network": r"(\S+) (up|down) (\S+)",
    "device": f"{_SIZE} (.+)",
    "folder": "(yes|no|unknown) ([0-9]{1,20}|-) (.+)",
    "plugin": r"(yes|no|unknown) (\S+) (.+)",
    "memory": _SIZE,
    "adapter": f"(\\S+) (\\S+) (.+) {_NEAR} (-|[0-9]+.*)",
    "near": r"(\S+) ([0-9,-]+)",
    "pci": r"(gpu|adapter|interface) (\S+) (-?[0-9]{1,9}|\S+) (/.*)",
    "card": f"(\\S+) (\\S+) {_NEAR}",
    "speed": r"([0-9]{1,12}) ([0-9]{1,9}[.][0-9]+) ([0-9]{1,9}[.][0-9]+) (.+)",
    "rank": f"{_PID} {_PID} {_WORD * 5}(-?[0-9]{{1,18}}) {_PID} {_WORD * 6}(.*)",
    "dump": rf"{_PID} (\S+) (\S+) (.*)",
    "ras": r"(\S+) (.*)",
    "ras-end": r"(\S+) (\S+)()",  # a row of "ras" with three words
    **dict.fromkeys(("processes", "ray"), _PID),
    **dict.fromkeys(("stack", "trace"), f"{_PID} (.*)"),
    **dict.fromkeys(("kernel", "cpus"), r"(\S+)"),
    **dict.fromkeys(
        ("variable", "driver", "numa", "rate", "runtime", "kind", "link"), r"(\S+) (.+)"
    ),
}


class NodeAnswer(NamedTuple):
    """The answer of a node."""

    host: str
    is_whole: bool = False  # its last line has come
    # Rows by kind, as in ``WORDS``, without torn ones. An incomplete answer may lack any
    # row, so judges check is_whole first.
    facts: Mapping[str, Sequence[tuple[str, ...]]] = {}
    gpus: GpuSample | None = None  # None: the tool has not answered

    def rows(self, kind: str) -> Rows:
        """Return the rows of a kind."""
        return tuple(self.facts.get(kind, ()))

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that the tasks of the node reported."""
        return {row[0]: row[1] for row in self.rows("variable")}

    @property
    def memlock(self) -> int | None:
        """Bytes that a process may lock; -1: no limit; None: unknown."""
        text = next((row[0] for row in self.rows("memlock")), None)
        return None if text is None else -1 if text == "unlimited" else int(text)


class NodeReader:
    """Reads the lines of all nodes, in any order."""

    def __init__(self, hosts: Collection[str]) -> None:
        """Begin without answers; *hosts* are the nodes of the job, by its names."""
        self._hosts = hosts
        self.answers: dict[str, NodeAnswer] = {}
        self._gpus = SampleReader()
        self._rows: dict[str, dict[str, list[tuple[str, ...]]]] = {}
        self._parts: dict[tuple[str, str], str] = {}

    def feed(self, line: str) -> bool:
        """Add a line; return whether it was the probe's."""
        words = words_of(line, "envcfg-node", 3)
        if words is None:
            if isinstance(sample := self._gpus.feed(line), GpuSample):
                self._change(sample.host, gpus=sample)
            return words_of(line, TAG, 1) is not None
        host, kind, text = words
        if not host:
            return True
        key = host, kind.removeprefix("+")
        text = self._parts.pop(key, "") + text
        if kind.startswith("+"):
            self._parts[key] = text[:_MOST_PARTS]
            return True
        name = self._change(host, **({"is_whole": True} if kind == "end" else {}))
        if row := re.fullmatch(WORDS.get(kind, "(?!)"), text):
            rows = self._rows[name].setdefault(kind.removesuffix("-end"), [])
            if len(rows) < _MOST_ROWS:
                rows.append(row.groups())
        return True

    def is_whole(self, hosts: Collection[str]) -> bool:
        """Return whether all of *hosts* have finished their answers."""
        return {host for host, answer in self.answers.items() if answer.is_whole} >= {
            *hosts
        }

    def _change(self, host: str, **fields: object) -> str:
        name = job_name(host, self._hosts)
        facts = self._rows.setdefault(name, {})
        answer = self.answers.get(name, NodeAnswer(name, facts=facts))
        self.answers[name] = answer._replace(**fields)  # type: ignore[arg-type]
        return name


def job_name(host: str, hosts: Collection[str]) -> str:
    """Return the job's name for *host*, which may use another name for itself.

    A node's own name may have a domain that the scheduler's name lacks, or the reverse.
    """
    if host in hosts:
        return host
    short = host.partition(".")[0]
    alike = [host for host in hosts if host.partition(".")[0] == short]
    # Two nodes with one short name cannot be told apart by it.
    return alike[0] if len(alike) == 1 else host
