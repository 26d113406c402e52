"""The lines of the collective, read into answers; others are NCCL's, or the program's."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Mapping
from math import isfinite

from envcfg.datafile import read_text
from envcfg.log.process import MOST_RANKS
from envcfg.preflight.collective import STAGES
from envcfg.preflight.node_list import job_name
from envcfg.preflight.records import Pair, RankAnswer, Sum

MARK = "envcfg-rank"
_LEAST, _MOST = 1e-9, 10**15  # of seconds, of bytes: the rest is torn or made up
_FOLDER = os.path.dirname(os.path.abspath(__file__))
# Which Python an image has, and who says that it has none.
_START = """\
for envcfg_python in python3 python; do
  if command -v "$envcfg_python" >/dev/null 2>&1; then exec "$envcfg_python" -c "$@"; fi
done
read -r envcfg_host </proc/sys/kernel/hostname
printf 'envcfg-rank %s %s lacks no Python\\n' "$RANK" "${SLURMD_NODENAME:-$envcfg_host}"
"""


def collective_command(nodes: int, seconds: float) -> tuple[str, ...]:
    """Return the command of each rank.

    Args:
        nodes: how many nodes the job has.
        seconds: for what is measured.
    """
    text = read_text(os.path.join(_FOLDER, "collective.py"))
    return (
        "/bin/sh",
        "-c",
        _START,
        "envcfg-preflight",
        text,
        str(nodes),
        f"{seconds:g}",
    )


class RankReader:
    """Reads the lines of all ranks, which come mixed."""

    def __init__(self, hosts: Collection[str]) -> None:
        """Begin with nothing; *hosts* are the nodes of the job, by its names."""
        self._hosts = hosts
        self.answers: dict[int, RankAnswer] = {}
        self.world: int | None = None

    def feed(self, line: str) -> bool:
        """Take in a line; return whether it was a rank's own."""
        words = line.rstrip("\r\n").split(" ", 4)
        if words[0] != MARK or len(words) < 4 or not _is_rank(words[1]):
            return False
        rank, host, key = int(words[1]), job_name(words[2], self._hosts), words[3]
        text = words[4] if len(words) > 4 else ""
        answer = self.answers.get(rank, RankAnswer(rank, host))
        try:
            if key in STAGES:
                stage = STAGES.index(key) + 1
                answer = answer._replace(stage=max(answer.stage, stage))
                if key == "began":
                    self.world = min(int(text.split()[0]), MOST_RANKS)
            elif key in _KEYS:
                answer = _KEYS[key](answer, text)
        except (LookupError, ValueError):
            pass  # torn: it stays unknown
        self.answers[rank] = answer
        return True


def _is_rank(text: str) -> bool:
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_RANKS))
    return digits and int(text) < MOST_RANKS


def _number(text: str) -> float:
    number = float(text)
    if not isfinite(number) or 0 < abs(number) < _LEAST:
        raise ValueError
    return number


def _count(text: str) -> int:
    number = int(text)
    if not 0 < number < _MOST:
        raise ValueError
    return number


def _pair(answer: RankAnswer, text: str) -> RankAnswer:
    sender, _, size, seconds = text.split()
    pair = Pair(int(sender), _count(size), _number(seconds))
    return answer._replace(pairs=(*answer.pairs, pair))


def _sum(answer: RankAnswer, text: str) -> RankAnswer:
    size, seconds, bandwidth = text.split()
    made = Sum(_count(size), _number(seconds), _number(bandwidth))
    return answer._replace(sums=(*answer.sums, made))


def _torch(answer: RankAnswer, text: str) -> RankAnswer:
    version, build, devices = text.split()
    return answer._replace(torch=(version, build), devices=int(devices))


def _with(answer: RankAnswer, text: str) -> RankAnswer:
    host = text.split()[1]
    return answer._replace(partner=None if host == "-" else host)


def _wrong(answer: RankAnswer, text: str) -> RankAnswer:
    size = int(text.split(maxsplit=1)[0])
    return answer._replace(wrong=answer.wrong or size)


_KEYS: Mapping[str, Callable[[RankAnswer, str], RankAnswer]] = {
    "clock": lambda answer, text: answer._replace(clock=_number(text.split()[0])),
    "unmet": lambda answer, text: answer._replace(unmet=text),
    "absent": lambda answer, text: answer._replace(absent=int(text)),
    "torch": _torch,
    "lacks": lambda answer, text: answer._replace(lacks=text),
    "with": _with,
    "pair": _pair,
    "multiply": lambda answer, text: answer._replace(multiply=_number(text)),
    "sum": _sum,
    "wrong": _wrong,
    "failed": lambda answer, text: answer._replace(failed=text),
}
