"""What nodes and ranks say, for tests: as the probes write it."""

from __future__ import annotations

from collections.abc import Iterable

from envcfg.nodes.preflight.preflight_lines import RankReader
from envcfg.nodes.preflight.preflight_records import (
    RankAnswer,
    Requirements,
)
from envcfg.nodes.probe.node_answer import NodeAnswer, NodeReader

HOSTS = ("nid001000", "nid001001", "nid001002")
WANTED = Requirements(HOSTS, ("hsn0", "hsn1"), 2, profile="site")
STAGES = ("met", "imported", "joined", "paired", "done")
# A node where all is well; a line of another key is added, one of the same replaces it.
NODE = (
    "begin",
    "memlock unlimited",
    "variable NCCL_SOCKET_IFNAME hsn0,hsn1",
    "network lo up -",
    "network nmn0 up address",
    "network hsn0 up address",
    "network hsn1 up address",
    "device 4 /dev/cxi*",
    "folder yes 9999999 /tmp",
    "folder yes 9999999 /dev/shm",
)
GPU = "%d, 0, 100, 65536, 90, A GPU"


def node_lines(
    host: str, *changed: str, gpus: int = 2, tool: str = "nvidia-smi", code: int = 0
) -> list[str]:
    """Return what a node says; *changed* lines stand for those that begin alike."""
    given = list(NODE)
    rows = {number: GPU % number for number in range(gpus)}
    for line in changed:
        if line.startswith("gpu "):
            rows[int(line[4])] = line[4:]
            continue
        sign = line.rpartition(" ")[2] if line.startswith(("folder", "device")) else ""
        head = " ".join(line.split()[: 2 if line.startswith("network") else 1])
        given = [
            each
            for each in given
            if not (each.startswith(head) and each.endswith(sign))
        ]
        given.append(line)
    lines = [
        f"envcfg-node {host} {each}" for each in given if not each.endswith("GONE")
    ]
    probe = f"envcfg-probe {host} 1 gpus"
    lines += [f"{probe} begin {tool} -"]
    lines += [f"{probe} text {row}" for row in rows.values()]
    return [*lines, f"{probe} end {gpus + 1} {code}", f"envcfg-node {host} end"]


def answers(lines: Iterable[str]) -> dict[str, NodeAnswer]:
    reader = NodeReader(HOSTS)
    for line in lines:
        assert reader.feed(f"{line}\n"), line
    return reader.answers


def rank_lines(
    rank: int, host: str, *said: str, world: int = 3, stages: int = 5
) -> list[str]:
    """Return what a rank says that comes through *stages* behind the first, and *said*."""
    words = [f"began {world} 0", *STAGES[:stages], *said]
    return [f"envcfg-rank {rank} {host} {each}" for each in words]


def ranks(lines: Iterable[str]) -> tuple[dict[int, RankAnswer], int | None]:
    reader = RankReader(HOSTS)
    for line in lines:
        assert reader.feed(f"{line}\n"), line
    return reader.answers, reader.world
