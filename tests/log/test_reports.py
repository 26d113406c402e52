"""Whole reports on small logs, kept as golden files: review them in the diff.

Each scenario is there for one branch of the judgement; what it comes to is all that a user
sees, with the ranks one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from checking import check
from scenarios import SCENARIOS, Scenario

from envcfg.log.verdict import LogReport
from envcfg.report.log.log_text import log_lines

GOLDEN = Path(__file__).parent / "golden" / "reports"


def shown(report: LogReport) -> Iterator[str]:
    """Yield the text, without what the rules say, and below it what JSON adds."""
    skipped = ("  why: ", "  fix: ", "  source: ", "    ")
    yield from (line for line, _ in log_lines(report) if not line.startswith(skipped))
    yield ""
    job, coverage = report.job, report.coverage
    yield (
        f"world {job.world_size}, seen {job.ranks_seen}, missing {job.ranks_missing},"
        f" nodes {job.nodes} {job.node_count}, network {job.network} {job.networks},"
        f" provider {job.provider}, {job.plugin}, gdr {job.gdr}"
    )
    yield f"records {coverage.records}, unknown warnings {coverage.unknown_warnings}"
    for rank in report.ranks:
        yield "rank " + " | ".join(map(str, rank))
    for way in report.transports:
        yield f"{way.sender} -> {way.receiver} {way.kind} {way.gdr}"
    for finding in report.findings:
        yield f"{finding.rule} {finding.severity} {finding.count} {finding.cause}"
    for unknown in report.unknowns:
        yield f"open: {unknown.what}"


@pytest.mark.parametrize("name", SCENARIOS)
def test_report(request: pytest.FixtureRequest, name: str) -> None:
    scenario: Scenario = SCENARIOS[name]
    said = "".join(
        f"{line}\n" for line in shown(check(scenario.log, **scenario.expected))
    )
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(said)
    assert said == golden.read_text()


def test_no_golden_report_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(SCENARIOS)


# Besides those that are called good.
FINE = {
    *("plugin-not-needed", "plugin-not-needed-asked", "plugin-none-asked"),
    *("plugin-failed-on-one", "provider-tcp-expected", "nics-not-shown-by-profile"),
    *("gdr-off-by-distance", "interface-slow", "interfaces-most-used-first"),
    *("affinity-right", "affinity-not-asked", "store-not-reached-and-mended"),
    *("ranks-by-table", "smaller-finished-by-one", "attempts", "note-of-a-rule"),
    *("network-assigned", "versions-differ-by-words-and-are-known"),
    *("ranks-by-label-of-channels", "words-of-two-versions-in-one-process"),
    *("nics-named-by-some", "plugin-none-asked-by-file", "plugin-two-names"),
    *("affinity-without-rank", "smaller-without-id-in-one-process", "torn-in-front"),
    *("old-nccl", "old-nccl-infiniband-without-channels"),
    *("old-nccl-libfabric-without-channels", "traces-of-no-weight"),
    *("gdr-shown-of-some", "transports-of-all-kinds"),
    *("two-nodes-that-are-not-counted", "prefix-missing-of-a-good-line"),
    *("glued-behind-text", "rings-of-a-node-beside"),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_log_is_ok_by_its_name_alone(name: str) -> None:
    """A guard for the golden files: nothing becomes ok unseen."""
    fine = name.startswith("good") or name in FINE
    verdict = check(SCENARIOS[name].log, **SCENARIOS[name].expected).verdict
    assert (verdict == "ok") == fine
