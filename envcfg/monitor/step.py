"""The rounds in which the nodes of a job are asked, and how long they are waited for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

from envcfg.monitor.board import Board
from envcfg.probe.runner import Deadline, Patience, Step, at
from envcfg.probe.sample import SampleReader

PATIENCE = 10.0  # seconds after which a node that has answered before is silent
_START = 60.0  # seconds for the first answer: a large job's step starts slowly


def rounds(step: Step, board: Board, interval: float) -> Iterator[float]:
    """Ask all nodes each *interval* seconds; yield the time when the answers are there.

    The time is that of ``time.monotonic``. A node that does not answer holds up one round,
    for ``PATIENCE`` seconds. It is over when the step is.
    """
    reader = SampleReader()

    def take(line: str) -> None:
        if sample := reader.feed(line):
            board.take(sample, time.monotonic())

    for number in count(1):
        began = time.monotonic()
        step.ask(number)
        try:
            step.read(take, _answers(board, number, began))
            yield time.monotonic()
            step.read(take, at(began + interval))
        except EOFError:
            return


def _answers(board: Board, number: int, began: float) -> Deadline:
    """Return until when the answers to *number*, asked at *began*, are waited for."""
    patience = Patience(_START, began)

    def deadline(now: float) -> float | None:
        if board.has_answers(number, now, PATIENCE):
            return None
        return patience.until(now, PATIENCE, has_any=board.has_any())

    return deadline
