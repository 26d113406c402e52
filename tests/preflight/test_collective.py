"""What each rank runs, as far as it needs no torch; tests/cluster has the rest."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from envcfg.nodes.preflight import collective
from envcfg.nodes.preflight.preflight_lines import RankReader, collective_command
from envcfg.nodes.preflight.preflight_records import RankAnswer

PYTHON = os.path.dirname(sys.executable)


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("", 0))
        port: int = door.getsockname()[1]
        return port


def run_ranks(
    numbers: Sequence[int], world: int, *, path: str | None = None, **env: str
) -> tuple[dict[int, RankAnswer], list[int]]:
    given = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port()), **env}
    path = path or f"{PYTHON}:/usr/bin:/bin"
    started = [
        subprocess.Popen(
            collective_command(world, 5),
            env={
                **given,
                "PATH": path,
                "RANK": str(rank),
                "WORLD_SIZE": str(world),
                "LOCAL_RANK": "0",
                "NODE_RANK": str(rank),
                "SLURMD_NODENAME": f"n{rank}",
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in numbers
    ]
    reader = RankReader([f"n{rank}" for rank in range(world)])
    for each in started:
        for line in each.communicate(timeout=60)[0].splitlines():
            assert reader.feed(line), line
    return reader.answers, [each.returncode for each in started]


def test_ranks_meet_and_compare_their_clocks_before_torch_is_loaded() -> None:
    said, codes = run_ranks((0, 1, 2), 3)
    assert codes == [0, 0, 0]
    assert [each.stage for each in said.values()] == [2, 2, 2]
    assert said[0].clock is None
    for rank in (1, 2):
        assert said[rank].clock == pytest.approx(0, abs=0.5)
    assert all(each.lacks == "No module named 'torch'" for each in said.values())


def test_a_rank_that_does_not_reach_the_first_says_where_it_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collective, "_MEET_SECONDS", 0.3)
    monkeypatch.setattr(collective, "RANK", 1)
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "9")
    said: list[tuple[object, ...]] = []
    monkeypatch.setattr(collective, "say", lambda *words: said.append(words))
    with pytest.raises(SystemExit):
        collective.meet(2)
    (words,) = said
    assert words[:3] == ("unmet", "localhost", 9)


def test_the_first_says_how_many_have_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collective, "_MEET_SECONDS", 0.2)
    monkeypatch.setattr(collective, "RANK", 0)
    monkeypatch.setenv("MASTER_PORT", str(free_port()))
    said: list[tuple[object, ...]] = []
    monkeypatch.setattr(collective, "say", lambda *words: said.append(words))
    collective.meet(3)
    assert said == [("absent", 2)]


def test_an_image_without_python_is_told(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    said, codes = run_ranks((0,), 1, path=str(tmp_path))
    assert (said[0].lacks, codes) == ("no Python", [0])


@pytest.mark.parametrize("nodes", range(1, 10))
def test_pairs_are_disjoint_and_new_in_each_round(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Store:
        def check(self, names: list[str]) -> bool:
            return 0 <= int(names[0].split("/")[1]) < nodes

        def get(self, name: str) -> bytes:
            return name.split("/")[1].encode()

    group = collective.Group.__new__(collective.Group)
    group.nodes, group.store = nodes, Store()
    seen: set[tuple[int, int]] = set()
    for number in range(nodes + nodes % 2 - 1):
        partners = {}
        for node in range(nodes):
            monkeypatch.setattr(collective, "NODE", node)
            partners[node] = group.partner(number)
        alone = [node for node, other in partners.items() if other is None]
        assert len(alone) == nodes % 2
        pairs = {(node, other) for node, other in partners.items() if other is not None}
        assert all(node != other and (other, node) in pairs for node, other in pairs)
        assert not pairs & seen
        seen |= pairs
    assert len(seen) == nodes * (nodes - 1)


def test_the_program_fits_into_an_argument() -> None:
    assert max(map(len, collective_command(2, 20))) < 100_000
