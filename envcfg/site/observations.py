"""The observations of nodes and ranks: rows of words by kind (docs/probe.md); pure."""

from collections.abc import Mapping
from typing import NamedTuple

from envcfg.common.characters import core_numbers

Facts = Mapping[str, tuple[tuple[str, ...], ...]]


class Observations(NamedTuple):
    """The observations on the job and its cluster, and on each of its nodes."""

    job: Facts
    nodes: tuple[Facts, ...]

    def rows(self, kind: str) -> list[tuple[str, ...]]:
        """Return the rows of all nodes."""
        return [row for node in self.nodes for row in node.get(kind, ())]

    def everywhere(self, kind: str) -> set[str]:
        """Return the first words of the rows that every node reported."""
        names_of_nodes = [{row[0] for row in node.get(kind, ())} for node in self.nodes]
        return set.intersection(*names_of_nodes) if names_of_nodes else set()

    def first(self, kind: str) -> tuple[str, ...]:
        """Return the first row of the job; empty if there is none."""
        return next(iter(self.job.get(kind, ())), ())

    @property
    def best(self) -> tuple[str, ...]:
        """Bytes, seconds and GB/s of the fastest all-reduce; empty without one."""
        return max(self.job.get("sum", ()), key=lambda row: float(row[2]), default=())

    @property
    def up(self) -> set[str]:
        """The interfaces that are up on every node."""
        return set.intersection(*self.working)

    @property
    def working(self) -> list[set[str]]:
        """Interfaces that are up and adapters that are not down, of each node."""
        return [
            {row[0] for row in node.get("network", ()) if row[1] == "up"}
            | {row[0] for row in node.get("adapter", ()) if row[2] in ("ACTIVE", "-")}
            for node in self.nodes
        ]

    @property
    def shape(self) -> tuple[int, int, int]:
        """GPUs, cores and memory (MiB) of a node, from the scheduler; 0: unknown."""
        if row := self.first("shape"):
            return int(row[1]), int(row[2]), int(row[3])
        gpus = next((int(row[1]) for row in self.rows("gpus")), 0)
        cores = next((len(core_numbers(row[0])) for row in self.rows("cpus")), 0)
        return gpus, cores, next((int(r[0]) >> 10 for r in self.rows("memory")), 0)
