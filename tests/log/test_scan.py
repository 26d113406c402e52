"""Candidate lines: nothing that a rule knows is passed over, and nothing is looked at twice."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.log.read.rulebook import Rulebook, load_rules
from envcfg.log.read.scan import MIDDLE, NCCL, Scanner, Seeker

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "check-log-input.md"
RULES = [rule for rule in load_rules() if rule.severity or rule.event]
GATES = Rulebook(RULES).gates


def test_every_line_of_meaning_holds_a_gate() -> None:
    for rule in RULES:
        for sample in rule.samples:
            assert any(gate in sample for gate in (NCCL.decode(), *rule.gates)), sample


def test_a_file_names_no_gate_that_its_rules_do_not_need() -> None:
    for gates in {rule.gates for rule in RULES}:
        texts = "\n".join(
            f"{rule.needle}\n{rule.pattern}\n" + "\n".join(rule.samples)
            for rule in RULES
            if rule.gates == gates
        )
        assert [gate for gate in gates if gate not in texts] == []


def test_a_gate_says_more_than_a_letter_and_more_than_numbers() -> None:
    assert min(len(gate) for gate in (*GATES, *MIDDLE)) >= 4
    # Of nothing every line is full: none would be passed over as usual.
    bare = [gate.translate(None, b"0123456789., ") for gate in GATES]
    assert min(map(len, bare)) >= 3


@pytest.mark.parametrize("gate", MIDDLE)
def test_the_documentation_names_what_the_middle_is_searched_for(gate: bytes) -> None:
    assert f"`{gate.decode()}`" in DOCUMENTATION.read_text()


@pytest.mark.parametrize("dense", [False, True])
def test_beginnings_and_texts_of_lines(dense: bool) -> None:
    output = [b"step %d loss 0.5" % number for number in range(200)]
    marked = {7: b"nid1:1:1 [0] NCCL INFO one", 150: b"two HSA_STATUS_ERROR"}
    if dense:
        marked |= {
            number: b"nid1:1:1 [0] NCCL INFO %d" % number for number in range(100)
        }
    lines = [marked.get(number, line) for number, line in enumerate(output)]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    found = [each[:2] for each in Scanner(GATES).candidates(b"\n".join(lines) + b"\n")]
    assert found == [(starts[number], line) for number, line in sorted(marked.items())]


def test_channel_lines_that_differ_in_their_number_only_are_one() -> None:
    lines = [
        b"nid1:%d:9 [0] NCCL INFO Channel %02d/0 : 0[0] -> %d[0] via P2P/IPC"
        % (pid, channel, peer)
        for pid in (1, 2)
        for channel in range(64)
        for peer in (1, 2)
    ]
    found = [line for _, line, _ in Scanner(GATES).candidates(b"\n".join(lines))]
    assert len(found) == 4
    assert {line.split(b":")[1] for line in found} == {b"1", b"2"}


def test_old_channel_lines() -> None:
    lines = [
        b"nid1:1:9 [0] NCCL INFO Channel %02d : 0[0] -> 1[0] via P2P/IPC" % c
        for c in range(64)
    ]
    assert len(list(Scanner(GATES).candidates(b"\n".join(lines)))) == 1


def test_repeated_warnings_are_all_seen() -> None:
    lines = [
        b"nid1:1:9 [0] x.cc:1 NCCL WARN NET/IB : Got completion with error 12"
    ] * 100
    assert len(list(Scanner(GATES).candidates(b"\n".join(lines)))) == 100


def test_a_long_line_is_seen_around_its_gates() -> None:
    line = (
        b"x" * 100_000 + b" nid1:1:9 [0] NCCL INFO Using network IB " + b"y" * 100_000
    )
    block = b"first\n" + line + b"\nlast\n"
    found = list(Scanner(GATES).candidates(block))
    assert len(found) == 1
    assert b"Using network IB" in found[0][1]
    assert block[found[0][0] :].startswith(found[0][1][:99])
    assert len(found[0][1]) < 20_000


def test_a_line_is_seen_however_many_like_it_were_passed_over() -> None:
    usual = b"".join(b"step %d: loss 0.%d, %d s\n" % (i, i, i) for i in range(99))
    for gate in (NCCL, *GATES):
        scanner = Scanner(GATES)
        for block in range(3):
            assert not list(scanner.candidates(usual))
            said = b"step %d: loss 0.%d, 7 s%s\n" % (block, block, gate)
            found = [each[:2] for each in scanner.candidates(usual + said + usual)]
            assert found == [(len(usual), said[:-1])]


@given(st.lists(st.sampled_from([*GATES, b"a 1", b"b 2, 3", b"\n", b" ", b"\n4\n"])))
def test_what_was_passed_over_changes_nothing(pieces: list[bytes]) -> None:
    scanner = Scanner(GATES)
    block = b"".join(pieces)
    first = list(scanner.candidates(block))
    assert [line for _, line, _ in first] == [
        line for line in block.split(b"\n") if any(gate in line for gate in GATES)
    ]
    assert list(scanner.candidates(block)) == first


@pytest.mark.parametrize("memmem", [True, False])
def test_seeker(memmem: bool) -> None:
    buffer = bytearray(b"." * 1000)
    seeker = Seeker(buffer)
    if not memmem:
        seeker._memmem = None
    assert not seeker.finds(MIDDLE, 1000)
    buffer[990:996] = b" NCCL "
    assert seeker.finds(MIDDLE, 1000)
    assert not seeker.finds(MIDDLE, 993)
    assert NCCL in Scanner(GATES).gates
