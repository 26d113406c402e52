"""The table of nodes: plain or in colours, in detail or with a line for each node."""

from __future__ import annotations

import pytest
from lines import gpu_lines, node_lines, read, said, used

from envcfg.nodes.monitor.node_board import Board
from envcfg.nodes.monitor.outliers import ExpectedNodes, find_marks
from envcfg.report.monitor_report import monitor_lines
from envcfg.report.styled import Line, put

COUNTERS = (
    ["net lo 5 5", "net hsn0 0 0", "net nmn0 0 0", "net ifb0 0 0", "rdma cxi0 0 0 1 hsn0"],
    ["net lo 9 9", "net hsn0 0 0", "net nmn0 1500 3000000", "net ifb0 0 0", "rdma cxi0 50000000000 999 1 hsn0"],
)  # fmt: skip


def page(*, is_detailed: bool) -> list[Line]:
    board = Board(["a", "b", "c", "d"], idle_below=5)
    for number in (1, 2):
        lines = [
            *node_lines("a", number, at=100.0 + number, counters=COUNTERS[number - 1]),
            *gpu_lines(used(98, 0, "[N/A]"), "a", number),
            *node_lines("b", number, at=100.0 + number),
            *gpu_lines([], "b", number, tool="none"),
        ]
        if number == 2:
            lines += said("c", 2, "gpus", ["waits"])
        for sample in read([*lines, *node_lines("c", number, at=100.0 + number)]):
            board.take(sample, 8.0 + number)
    nodes = board.views(12.0, 10.0)
    findings = find_marks(nodes, ExpectedNodes(asked_gpus=None), idle_below=5)
    return monitor_lines(
        "12", nodes, findings, wanted=("hsn0",), is_detailed=is_detailed
    )


def test_in_detail_each_gpu_and_interface_has_a_line() -> None:
    text = text_of(page(is_detailed=True))
    title, head, *rows = text.splitlines()
    assert (
        title
        == "job 12: 3 of 4 nodes answer, 3 GPUs used 49 %, 1 idle, 1 unknown, 0.3 kW"
    )
    column = head.index("network")
    network = [row[column:].strip() for row in rows[:4]]
    assert network == [
        "hsn0         in    0 B   out    0 B",
        "nmn0         in  1.5 kB  out    3 MB",
        "cxi0 (hsn0)  in   50 GB  out  999 B",
        "",
    ]
    assert "  1    0 %  1 of 2 GiB  100 W  idle  " in rows[1]
    assert "  2    ? %  1 of 2 GiB  100 W" in rows[2]
    assert "none" in text
    assert "no answer for 3 s" in text
    assert "\nd     no answer\n" in text
    assert "ifb0" not in text
    assert "lo " not in text


def test_of_many_nodes_each_has_a_line() -> None:
    lines = page(is_detailed=False)
    assert [style for style, _ in lines[:6]] == [
        "bold",
        "",
        "yellow",
        "dim",
        "bold red",
        "bold red",
    ]
    text = text_of(lines)
    assert "98 idle ? %" in text
    assert "cxi0 (hsn0)  in   50 GB  out  999 B   and 2 more" in text


def text_of(lines: list[Line]) -> str:
    return "".join(f"{text}\n" for _, text in lines)


def test_a_gpu_that_stands_out_colours_its_line() -> None:
    lines = page(is_detailed=True)
    assert [text.split()[0] for style, text in lines[2:5] if style] == ["1", "2"]
    assert [style for style, _ in lines[3:5]] == ["yellow", "bold red"]


def test_what_a_tool_prints_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    board = Board(["a"], idle_below=5)
    for sample in read(
        [*node_lines("a"), *gpu_lines(["fail \x1b[2J\x07"], "a", status=1)]
    ):
        board.take(sample, 10.0)
    nodes = board.views(11.0, 10.0)
    marks = find_marks(nodes, ExpectedNodes(), idle_below=5)
    put(monitor_lines("12", nodes, marks, is_detailed=True))
    text = capsys.readouterr().out
    assert "fail \\x1b[2J\\x07" in text
    assert "\x1b" not in text


def test_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "a\x1b[2J\u202e\x9b"
    board = Board([evil, "b"], idle_below=5)
    for sample in read([*node_lines(evil), *gpu_lines(used(9), evil)]):
        board.take(sample, 10.0)
    nodes = board.views(11.0, 10.0)
    marks = find_marks(nodes, ExpectedNodes(asked_gpus=4), idle_below=5)
    put(monitor_lines(evil, nodes, marks, is_detailed=True))
    text = capsys.readouterr().out
    assert text.count(r"a\x1b[2J\u202e\x9b") >= 3  # in the title, the table and a mark
    assert all(line.isprintable() for line in text.split("\n"))
