"""The speed of nodes in earlier preflights: what is kept, and which node is named."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from said import HOSTS, WANTED, answers, node_lines, rank_lines, ranks

from envcfg.core import node_speeds
from envcfg.core.node_speeds import (
    Speed,
    add_speeds,
    read_speeds,
    slower_nodes,
    speeds_file,
    with_speeds,
)
from envcfg.nodes.preflight.preflight_judge import Answers, judge_all

KIND = "site: 1 A GPU"


def peers(count: int = 6, speed: float = 700, kind: str = KIND) -> dict[str, Speed]:
    now = time.time()
    return {
        f"site/n{n}": Speed(kind, now, {"gpu": speed + n % 3}) for n in range(count)
    }


def texts(path: Path, *speeds: float) -> list[str]:
    """Return the notes of a preflight in which GPUs multiply at *speeds*."""
    lines = [
        line
        for number, (host, speed) in enumerate(zip(HOSTS, speeds, strict=True))
        for line in rank_lines(number, host, f"multiply {speed}", "torch 2.9 12.8 2")
    ]
    rank_answers, _ = ranks(lines)
    nodes = answers(line for host in HOSTS for line in node_lines(host))
    report = judge_all(
        WANTED, Answers(nodes, {}, rank_answers, {}, 0), needs_fast=False
    )
    report = with_speeds(report, "site", str(path))
    findings = [note for some in report.nodes.values() for note in some]
    slower = [note for note in findings if note.rule == "node-slower"]
    return [f"{note.subject}: {note.message}" for note in slower]


def test_a_node_that_is_slower_than_those_of_other_jobs_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state/node-speeds.json"
    assert texts(path, 700, 701, 640) == []  # three nodes have no usual value
    add_speeds(str(path), peers())
    assert texts(path, 700, 701, 640) == [
        "nid001002: a GPU multiplied at 640 TFLOPS now, 9 % less than the median of 9 nodes of its kind"
    ]
    assert path.stat().st_mode & 0o777 == 0o600
    assert texts(path, 700, 701, 680) == []
    assert len(read_speeds(str(path))) == 9


def test_the_age_is_told_and_old_values_do_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = str(tmp_path / "speeds.json")
    add_speeds(
        path,
        {**peers(), "site/n9": Speed(KIND, time.time() - 3 * 86400 - 99, {"gpu": 600})},
    )
    (note,) = slower_nodes(["n9", "n1", "n99"], "site", read_speeds(path))
    assert note.severity == "note"
    assert "600 TFLOPS 3 d ago, 14 % less than the median of 7 nodes" in note.message
    monkeypatch.setattr(node_speeds, "_AGE", 86400.0)
    assert [*slower_nodes(["n9"], "site", read_speeds(path))] == []


def test_other_gpus_and_clusters_are_no_peers(tmp_path: Path) -> None:
    path = str(tmp_path / "speeds.json")
    slow = {"site/n9": Speed("site: 2 A GPU", time.time(), {"gpu": 100})}
    merged = add_speeds(path, {**peers(), **slow})
    assert [*slower_nodes(["n9"], "site", merged)] == []
    # Two clusters with one home have nodes of the same names.
    other = {name.replace("site", "other"): s for name, s in peers(1, 10).items()}
    merged = add_speeds(path, other)
    assert merged["site/n0"].values == {"gpu": 700}
    assert [*slower_nodes(["n0"], "site", merged)] == []
    assert [*slower_nodes(["n0"], "third", merged)] == []


def test_the_usual_values_of_many_nodes_are_counted_once() -> None:
    many = peers(8192)
    began = time.process_time()
    notes = [*slower_nodes([f"n{n}" for n in range(128)], "site", many)]
    # A median for each host takes 20 times as long.
    assert (notes, time.process_time() - began < 0.1) == ([], True)


GOOD = {"kind": KIND, "time": 1, "values": {"gpu": 1}}


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "3", "{", "[" * 100_000, '{"n1": 3}', '{"n1": {}}',
        json.dumps({"n1": {**GOOD, "time": "x"}}),
        json.dumps({"n1": {**GOOD, "time": 9e99}}),
        json.dumps({"n1": {**GOOD, "time": 10**400}}),
        json.dumps({"n1": {**GOOD, "values": {"gpu": 10**400}}}),
        json.dumps({"n1": {**GOOD, "values": [1]}}),
        '{"n1": {"kind": "a", "time": NaN, "values": {"gpu": Infinity}}}',
        "\udc80",
    ],
)  # fmt: skip
def test_a_broken_file_is_read_as_empty_and_replaced(text: str, tmp_path: Path) -> None:
    path = tmp_path / "speeds.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert read_speeds(str(path)) == {}
    add_speeds(str(path), peers(2))
    assert len(read_speeds(str(path))) == 2


def test_the_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_speeds, "_MOST", 10)
    old = {f"o{n}": Speed(KIND, time.time() - 999, {"gpu": 1}) for n in range(20)}
    add_speeds(str(tmp_path / "a"), old)
    add_speeds(str(tmp_path / "a"), peers())
    names = [*read_speeds(str(tmp_path / "a"))]
    assert len(names) == 10
    assert names[:6] == [*peers()]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert len(add_speeds(str(tmp_path / "file/speeds.json"), peers(2))) == 2


def test_the_file_is_in_the_state_of_the_user() -> None:
    home = {"HOME": "/home/a"}
    assert speeds_file(home) == "/home/a/.local/state/envcfg/node-speeds.json"
    assert speeds_file({**home, "XDG_STATE_HOME": "x"}) == speeds_file(home)
    state = {"XDG_STATE_HOME": "/s"}
    assert speeds_file(state) == "/s/envcfg/node-speeds.json"
    assert os.path.isabs(speeds_file({}))
