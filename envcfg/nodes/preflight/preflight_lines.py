"""The output of ranks, parsed into answers; other and torn lines are ignored.

Lines without a rank's prefix belong to NCCL or the program.
"""

from collections.abc import Collection
from contextlib import suppress
from math import isfinite

from envcfg.common.characters import whole_number
from envcfg.common.datafile import read_text
from envcfg.log.state.process import MOST_RANKS
from envcfg.nodes.preflight.collective import STAGES
from envcfg.nodes.preflight.preflight_records import Pair, RankAnswer, Sum
from envcfg.nodes.probe.node_answer import job_name
from envcfg.nodes.probe.probes import words_of

_LEAST, _MOST = 1e-9, 10**15  # seconds, bytes; other values are torn or invented


def collective_command(nodes: int, seconds: float) -> tuple[str, ...]:
    """Return the command of each rank, which measures for *seconds*."""
    # The program travels as an argument, because nodes may not share a file system.
    start, program = (
        read_text(f"nodes/preflight/collective.{ending}") for ending in ("sh", "py")
    )
    words = (program, str(nodes), f"{seconds:g}")
    return ("/bin/sh", "-c", start, "envcfg-preflight", *words)


class RankReader:
    """Reads the lines of all ranks, which come mixed."""

    def __init__(self, hosts: Collection[str]) -> None:
        """Begin without answers; *hosts* are the nodes of the job, by its names."""
        self._hosts = hosts
        self.answers: dict[int, RankAnswer] = {}
        self.world: int | None = None

    def feed(self, line: str) -> bool:
        """Add a line; return whether it was a rank's own."""
        number, name, key, text = words_of(line, "envcfg-rank", 4) or [""] * 4
        rank = whole_number(number)
        # An invented rank number must not reserve memory for a million ranks.
        if not key or rank is None or rank >= MOST_RANKS:
            return False
        host = job_name(name, self._hosts)
        answer = self.answers.get(rank, RankAnswer(rank, host))
        with suppress(LookupError, ValueError):  # a torn line leaves the value unknown
            answer = _rank_said(answer, key, text)
            if key == "began":
                self.world = min(int(text.split()[0]), MOST_RANKS)
        self.answers[rank] = answer
        return True


def _rank_said(answer: RankAnswer, key: str, text: str) -> RankAnswer:
    """Return *answer* with a rank's value for *key*.

    Raises:
        LookupError, ValueError: the line is torn.
    """
    match key:
        case _ if key in STAGES:
            stage = STAGES.index(key) + 1
            # Lines of one rank may arrive in another order.
            return answer._replace(stage=max(answer.stage, stage))
        case "unmet" | "lacks" | "failed":
            return answer._replace(**{key: text})  # type: ignore[arg-type]
        case "clock":
            return answer._replace(clock=_number(text.split(maxsplit=1)[0]))
        case "absent":
            return answer._replace(absent=int(text))
        case "torch":
            version, build, devices = text.split()
            return answer._replace(torch=(version, build), devices=int(devices))
        case "with":
            host = text.split()[1]
            return answer._replace(partner=None if host == "-" else host)
        case "pair":
            sender, _, size, seconds = text.split()
            pair = Pair(int(sender), _size(size), _number(seconds))
            return answer._replace(pairs=(*answer.pairs, pair))
        case "multiply":
            return answer._replace(multiply=_number(text))
        case "sum":
            size, seconds, bandwidth = text.split()
            result = Sum(_size(size), _number(seconds), _number(bandwidth))
            return answer._replace(sums=(*answer.sums, result))
        case "wrong":
            # The first wrong sum is kept: later ones may follow from it.
            return answer._replace(wrong=answer.wrong or int(text.split(maxsplit=1)[0]))
    return answer


def _number(text: str) -> float:
    number = float(text)
    if not isfinite(number) or 0 < abs(number) < _LEAST:
        raise ValueError
    return number


def _size(text: str) -> int:
    number = int(text)
    if not 0 < number < _MOST:
        raise ValueError
    return number
