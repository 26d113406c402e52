"""Warnings that no rule knows and the catalogue names."""

from __future__ import annotations

import random
import re

import pytest
from checking import check, rulebook, rules_of
from jobs import Job, text

from envcfg.log.read.catalogue import (
    EFFECTS,
    PARTS,
    WarningFormat,
    entries,
    libraries,
    look_up,
    said_by,
)

GOOD = text(Job(dialect="nccl-2.24", ranks_per_node=2))
ENTRIES = [each for library in libraries() for each in entries(library)]
NAMELESS = "NET/IB : the cable hums in B flat"


def filled(entry: WarningFormat, order: random.Random) -> str:
    """Return a warning of *entry*, with something in the place of each conversion."""
    values = ("7", "0x7f12", "-1", "hsn0", "Connection refused")
    return " ".join(f"{piece} {order.choice(values)}" for piece in entry.pieces)


def warned(message: str) -> str:
    return f"nid000001:4711:4712 [0] misc/x.cc:7 NCCL WARN {message}\n"


def test_nearly_every_warning_is_named() -> None:
    order = random.Random(1)
    missed = [each for each in ENTRIES if not look_up(filled(each, order))]
    assert len(ENTRIES) > 2000
    assert len(missed) < len(ENTRIES) / 100, missed


@pytest.mark.parametrize("library", libraries())
def test_a_warning_is_named_with_its_library_and_effect(library: str) -> None:
    order = random.Random(2)
    known = [each for each in ENTRIES if each.library == library]
    found = [(each, look_up(filled(each, order))) for each in known]
    right = [
        each
        for each, named in found
        if any(
            (other.library, other.effect) == (library, each.effect) for other in named
        )
    ]
    assert len(right) > 0.95 * len(known)


def test_words_of_somebody_else_are_not_named() -> None:
    for said in (
        "",
        NAMELESS,
        "The moon is full on day 11",
        "failed",
        "100% of nothing",
    ):
        assert not look_up(said), said


def test_every_class_has_a_rule() -> None:
    classes = {f"warning-{part}{end}" for part in PARTS for end in EFFECTS.values()}
    assert {each.rule for each in ENTRIES} <= classes <= set(rulebook().rules)


def test_a_named_warning_alone_is_neither_broken_nor_ok() -> None:
    order = random.Random(3)
    log, count = GOOD, 0
    for each in order.sample(ENTRIES, 60):
        message = filled(each, order)
        if rulebook().match(message) is None and look_up(message):
            report = check(GOOD + warned(message))
            assert report.verdict == "inconclusive", message
            assert report.network_verdict == "inconclusive"
            assert report.coverage.unknown_warnings == 0
            log += warned(message)
            count += 1
    assert count > 30
    assert check(log).verdict == "inconclusive"


def test_what_is_said_of_it() -> None:
    message = "NET/OFI Received an invalid tag 7 for device 3"
    report = check(GOOD + 2 * warned(message))
    (finding,) = [each for each in report.findings if each.rule.startswith("warning-")]
    assert finding.severity == "note"
    assert finding.rule == "warning-transport-failed"
    assert finding.message.startswith(
        f"warns (2 times): {message}; the call that warns fails; "
    )
    assert re.search(r"aws-ofi-nccl \d\S+ (?:to \d|and newer)", finding.message)
    assert finding.evidence is not None


def test_releases_are_named_that_print_it() -> None:
    gone = next(each for each in ENTRIES if not each.newest)
    kept = next(each for each in ENTRIES if each.newest)
    assert f"{gone.library} {gone.since} to {gone.last}" in said_by((gone,))
    assert f"{kept.library} {kept.since} and newer" in said_by((kept,))


def test_the_reason_of_an_error_is_named_too() -> None:
    message = "NET/OFI Received an invalid tag 7 for device 3"
    error = "nid000001:4711:4712 [0] NCCL INFO group.cc:422 -> 2\n"
    report = check(GOOD + warned(message) + error)
    assert report.verdict == "broken"
    assert "warning-transport-failed" in rules_of(report)
    assert "unknown-warning" not in rules_of(report)


def test_without_an_entry_a_warning_stays_unknown() -> None:
    report = check(GOOD + warned(NAMELESS))
    assert "unknown-warning" in rules_of(report)
    assert report.coverage.unknown_warnings == 1
