"""The lines of the node probe, read into answers; others, and torn ones, do not count."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Mapping

from envcfg.datafile import read_text
from envcfg.monitor.probe import ProbeReader, gpu_script
from envcfg.monitor.sample import KIB, GpuSample
from envcfg.preflight.node_list import job_name
from envcfg.preflight.records import Folder, Health, Network, NodeAnswer, Plugin

MARK = "envcfg-node"
_DIGITS = 20  # of the largest number of 64 bits
_HERE = os.path.dirname(os.path.abspath(__file__))
_SCRIPT = os.path.join(_HERE, "node.sh")
_PLACE = os.path.join(os.path.dirname(_HERE), "bash", "modules", "place.sh")


def node_script() -> str:
    """Return the shell script that runs on each node."""
    return f"{gpu_script()}\n{read_text(_PLACE)}\n{read_text(_SCRIPT)}"


class NodeReader:
    """Reads the lines of all nodes, which come mixed."""

    def __init__(self, hosts: Collection[str]) -> None:
        """Begin with nothing; *hosts* are the nodes of the job, by its names."""
        self._hosts = hosts
        self.answers: dict[str, NodeAnswer] = {}
        self._gpus = ProbeReader()

    def feed(self, line: str) -> bool:
        """Take in a line; return whether it was the probe's."""
        mark, _, rest = line.rstrip("\r\n").partition(" ")
        if mark != MARK:
            sample = self._gpus.feed(line)
            if isinstance(sample, GpuSample):
                host = job_name(sample.host, self._hosts)
                answer = self.answers.get(host, NodeAnswer(host))
                self.answers[host] = answer._replace(gpus=sample)
            return sample is not None or mark == "envcfg-probe"
        host, _, rest = rest.partition(" ")
        host = job_name(host, self._hosts)
        key, _, text = rest.partition(" ")
        answer = self.answers.get(host, NodeAnswer(host))
        try:
            if key in _KEYS:
                answer = _KEYS[key](answer, text)
        except (LookupError, ValueError):
            pass  # torn: it stays unknown
        if host:
            self.answers[host] = answer
        return True


def _count(text: str) -> int:
    """Return the number that *text* is, in digits as a node writes them.

    Raises:
        ValueError: it is none, or more than any node counts.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise ValueError
    return int(text)


def _end(answer: NodeAnswer, _: str) -> NodeAnswer:
    return answer._replace(is_whole=True)


def _memlock(answer: NodeAnswer, text: str) -> NodeAnswer:
    return answer._replace(memlock=-1 if text == "unlimited" else _count(text))


def _network(answer: NodeAnswer, text: str) -> NodeAnswer:
    name, state, address = text.split()
    network = Network(name, state == "up", address == "address")
    return answer._replace(networks=(*answer.networks, network))


def _device(answer: NodeAnswer, text: str) -> NodeAnswer:
    count, pattern = text.split(" ", 1)
    return answer._replace(devices={**answer.devices, pattern: _count(count)})


def _folder(answer: NodeAnswer, text: str) -> NodeAnswer:
    written, free, path = text.split(" ", 2)
    is_written = {"yes": True, "no": False, "unknown": None}[written]
    folder = Folder(path, is_written, None if free == "-" else _count(free) * KIB)
    return answer._replace(folders=(*answer.folders, folder))


def _variable(answer: NodeAnswer, text: str) -> NodeAnswer:
    name, _, value = text.partition(" ")
    return answer._replace(variables={**answer.variables, name: value})


def _plugin(answer: NodeAnswer, text: str) -> NodeAnswer:
    known, lacks, path = text.split(" ", 2)
    missing = tuple(dict.fromkeys(lacks.split(","))) if known == "no" else ()
    return answer._replace(plugin=Plugin(path, known != "unknown", missing))


def _health(answer: NodeAnswer, text: str) -> NodeAnswer:
    gpu, what, said = text.split(" ", 2)
    return answer._replace(health=(*answer.health, Health(_count(gpu), what, said)))


_KEYS: Mapping[str, Callable[[NodeAnswer, str], NodeAnswer]] = {
    "memlock": _memlock,
    "network": _network,
    "device": _device,
    "folder": _folder,
    "variable": _variable,
    "plugin": _plugin,
    "health": _health,
    "end": _end,
}
