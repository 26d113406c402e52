"""What nodes and ranks write, read into answers; other lines, and torn ones, do not count.

A line that is no rank's own is NCCL's, or the program's.
"""

from __future__ import annotations

import os.path
from collections.abc import Collection
from contextlib import suppress
from math import isfinite

from envcfg.characters import whole_number
from envcfg.datafile import read_text
from envcfg.log.process import MOST_RANKS
from envcfg.preflight.collective import STAGES
from envcfg.preflight.node_list import job_name
from envcfg.preflight.records import (
    Folder,
    Health,
    Network,
    NodeAnswer,
    Pair,
    Plugin,
    RankAnswer,
    Sum,
)
from envcfg.probe.gpu import KIB
from envcfg.probe.probes import words_of
from envcfg.probe.sample import TAG, GpuSample, SampleReader

_DIGITS = 20  # of the largest number of 64 bits
_LEAST, _MOST = 1e-9, 10**15  # of seconds, of bytes: the rest is torn or made up
_FOLDER = os.path.dirname(os.path.abspath(__file__))


def collective_command(nodes: int, seconds: float) -> tuple[str, ...]:
    """Return the command of each rank.

    Args:
        nodes: how many nodes the job has.
        seconds: for what is measured.
    """
    start, program = (
        read_text(os.path.join(_FOLDER, f"collective.{ending}"))
        for ending in ("sh", "py")
    )
    words = (program, str(nodes), f"{seconds:g}")
    return ("/bin/sh", "-c", start, "envcfg-preflight", *words)


class NodeReader:
    """Reads the lines of all nodes, which come mixed."""

    def __init__(self, hosts: Collection[str]) -> None:
        """Begin with nothing; *hosts* are the nodes of the job, by its names."""
        self._hosts = hosts
        self.answers: dict[str, NodeAnswer] = {}
        self._gpus = SampleReader()

    def feed(self, line: str) -> bool:
        """Take in a line; return whether it was the probe's."""
        words = words_of(line, "envcfg-node", 3)
        if words is None:
            sample = self._gpus.feed(line)
            if isinstance(sample, GpuSample):
                answer = self._of(sample.host)
                self.answers[answer.host] = answer._replace(gpus=sample)
            return words_of(line, TAG, 1) is not None
        host, key, text = words
        answer = self._of(host)
        with suppress(LookupError, ValueError):  # torn: it stays unknown
            answer = _node_said(answer, key, text)
        if host:
            self.answers[answer.host] = answer
        return True

    def _of(self, host: str) -> NodeAnswer:
        name = job_name(host, self._hosts)
        return self.answers.get(name, NodeAnswer(name))


def _node_said(answer: NodeAnswer, key: str, text: str) -> NodeAnswer:
    """Return *answer* with what a node says under *key*.

    Raises:
        LookupError, ValueError: it is torn.
    """
    match key:
        case "memlock":
            return answer._replace(memlock=-1 if text == "unlimited" else _count(text))
        case "network":
            name, state, address = text.split()
            network = Network(name, state == "up", None if address == "-" else address)
            return answer._replace(networks=(*answer.networks, network))
        case "device":
            count, pattern = text.split(" ", 1)
            return answer._replace(devices={**answer.devices, pattern: _count(count)})
        case "folder":
            written, free, path = text.split(" ", 2)
            is_written = {"yes": True, "no": False, "unknown": None}[written]
            size = None if free == "-" else _count(free) * KIB
            folder = Folder(path, is_written, size)
            return answer._replace(folders=(*answer.folders, folder))
        case "variable":
            name, _, value = text.partition(" ")
            return answer._replace(variables={**answer.variables, name: value})
        case "plugin":
            known, lacks, path = text.split(" ", 2)
            missing = tuple(dict.fromkeys(lacks.split(","))) if known == "no" else ()
            return answer._replace(plugin=Plugin(path, known != "unknown", missing))
        case "health":
            gpu, what, said = text.split(" ", 2)
            health = Health(_count(gpu), what, said)
            return answer._replace(health=(*answer.health, health))
        case "fact":
            kind, said = text.split(" ", 1)
            return answer._replace(facts=(*answer.facts, (kind, said)))
        case "end":
            return answer._replace(is_whole=True)
    return answer


def _count(text: str) -> int:
    """Return the number that *text* is, in digits as a node writes them.

    Raises:
        ValueError: it is none, or more than any node counts.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise ValueError
    return int(text)


class RankReader:
    """Reads the lines of all ranks, which come mixed."""

    def __init__(self, hosts: Collection[str]) -> None:
        """Begin with nothing; *hosts* are the nodes of the job, by its names."""
        self._hosts = hosts
        self.answers: dict[int, RankAnswer] = {}
        self.world: int | None = None

    def feed(self, line: str) -> bool:
        """Take in a line; return whether it was a rank's own."""
        number, name, key, text = words_of(line, "envcfg-rank", 4) or [""] * 4
        rank = whole_number(number)
        if not key or rank is None or rank >= MOST_RANKS:
            return False
        host = job_name(name, self._hosts)
        answer = self.answers.get(rank, RankAnswer(rank, host))
        with suppress(LookupError, ValueError):  # torn: it stays unknown
            answer = _rank_said(answer, key, text)
            if key == "began":
                self.world = min(int(text.split()[0]), MOST_RANKS)
        self.answers[rank] = answer
        return True


def _rank_said(answer: RankAnswer, key: str, text: str) -> RankAnswer:
    """Return *answer* with what a rank says under *key*.

    Raises:
        LookupError, ValueError: it is torn.
    """
    match key:
        case _ if key in STAGES:
            stage = STAGES.index(key) + 1
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
            made = Sum(_size(size), _number(seconds), _number(bandwidth))
            return answer._replace(sums=(*answer.sums, made))
        case "wrong":
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
