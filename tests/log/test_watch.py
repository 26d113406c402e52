"""What is said of a step while its log grows, of jobs that are too large for a step here."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import Job, lines

from envcfg.core.watch import LastWords, Network
from envcfg.log.expectations import Expectations


def test_where_a_part_of_the_files_is_read_nothing_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envcfg.core.watch._MOST", 3)
    texts: dict[int, list[str]] = {}
    for line in lines(Job(nodes=2, ranks_per_node=2)):
        texts.setdefault(line.rank, []).append(line.text)
    for rank, said in texts.items():
        (tmp_path / f"nccl-nid-{rank}.log").write_text("\n".join(said) + "\n")
    (tmp_path / "out").touch()
    heard: list[str] = []
    outputs = {str(tmp_path / "out"): 0}
    expect = Expectations(ranks=4)
    network = Network(str(tmp_path), outputs, expect, "warn", heard.append)
    for _ in range(3):
        network.look()
    network.end(0)
    (said,) = heard
    assert said.startswith(
        "note: not verified: of NCCL's files 3 were read, which is a part; "
    )
    assert not network.is_good


def test_stacks_are_those_written_since(tmp_path: Path) -> None:
    out = tmp_path / "out"
    stack = (
        "Current thread 0x00007f04e7be1b80 (most recent call first):\n"
        '  File "/home/me/train.py", line {} in step\n'
        '  File "/home/me/train.py", line 99 in <module>\n'
    )
    out.write_text(stack.format(7))
    words = LastWords([str(out), str(tmp_path / "none")])
    assert words.stacks() == ""
    with out.open("a") as file:
        file.write(stack.format(64))
    assert words.stacks() == "1 rank stood at train.py:64 in step"
    out.unlink()
    assert words.stacks() == ""
