"""A watch of nodes whose time passes only when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from envcfg.common.findings import Finding
from envcfg.core.step_nodes import NodeWatch, Probing

HOSTS = ("n1", "n2")
Answer = Callable[[int, str], Sequence[str]]


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Nodes:
    """The step of a probe whose nodes answer at once, or never."""

    def __init__(self, answer: Answer, hosts: Sequence[str] = HOSTS) -> None:
        self.answer, self.hosts = answer, hosts
        self.lines: list[str] = []
        self.errors: list[str] = []
        self.is_over = False
        self.starts = 0
        self.asked_gpus: int | None = None

    def start(self) -> Probing:
        self.starts += 1
        self.is_over = False
        return Probing(
            self,  # type: ignore[arg-type]
            self.hosts,
            self.asked_gpus,
        )

    def send(self, data: bytes) -> None:
        number = int(data)
        for host in self.hosts:
            self.lines += self.answer(number, host)

    def read(self, take: Callable[[str], object], deadline: object) -> bool:
        assert deadline
        if self.is_over:
            raise EOFError
        for line in self.lines:
            take(line)
        self.lines = []
        return False

    def __exit__(self, *_: object) -> None:
        self.is_over = True


class Watched:
    """A watch whose time passes by seconds."""

    def __init__(self, clock: Clock, nodes: Nodes, after: float = 300) -> None:
        self.clock, self.nodes = clock, nodes
        self.lines: list[str] = []
        self.more: Sequence[Finding] = ()
        self.watch = NodeWatch(after, nodes.start, self.lines.append)

    def run(
        self, seconds: int, network: str = "network fast", *, has_steps: bool = True
    ) -> list[str]:
        """Let time pass; return the lines of that time."""
        before = len(self.lines)
        for _ in range(seconds):
            self.clock.now += 1
            self.watch.look(network, self.more, has_steps=has_steps)
        return self.lines[before:]
