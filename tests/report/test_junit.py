"""The JUnit XML of a log's verdict, read back."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.common.findings import Finding
from envcfg.log.verdict import LogReport
from envcfg.report.log.log_junit import log_junit
from report import samples


def suite(report: LogReport) -> ET.Element:
    text = log_junit(report)
    assert text.isascii()
    root = ET.fromstring(text)  # noqa: S314 - what we just wrote
    assert root.tag == "testsuites"
    (found,) = root
    return found


def cases(report: LogReport) -> dict[tuple[str, str], tuple[str, str]]:
    """Test cases by class and name, each with its outcome and message."""
    found = {}
    for case in suite(report):
        outcome = next(iter(case), None)
        found[case.attrib["classname"], case.attrib["name"]] = (
            ("passed", "")
            if outcome is None
            else (outcome.tag, outcome.attrib["message"])
        )
    return found


def test_a_good_job_passes() -> None:
    found = suite(samples.job())
    assert found.attrib == {
        "name": "envcfg check-log",
        "tests": "18",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
    }


def test_each_rank_is_a_case_with_its_reason() -> None:
    found = cases(samples.broken())
    assert found["nid001001", "rank 0"] == ("passed", "")
    assert found["nid001001", "rank 2"] == ("failure", "init did not complete")
    assert found["unknown", "rank 3"] == ("skipped", "no line after init")
    assert found["nid001002", "rank 4"][0] == "failure"


def test_the_job_is_a_case() -> None:
    report = samples.job(slow_nodes=[1])
    assert cases(report)["job", "verdict"] == ("failure", report.summary)


def test_missing_ranks_are_named() -> None:
    found = cases(samples.single_node())
    assert found["job", "verdict"][0] == "skipped"
    assert found["job", "every rank is in the log"] == (
        "skipped",
        "4 ranks not in the log: 4-7",
    )


def test_a_log_without_anything_skips() -> None:
    assert list(cases(samples.empty())) == [("job", "verdict")]


def test_findings_are_cases_but_for_notes() -> None:
    found = [
        name for kind, name in cases(samples.job(slow_nodes=[1])) if kind == "finding"
    ]
    assert found == [
        "plugin-open-failed: ranks 8-15",
        "warning-unknown: rank 8",
        "net-socket-fallback: 8 ranks",
    ]


def test_a_finding_tells_what_to_do_and_where_it_was_seen() -> None:
    failure = suite(samples.job(slow_nodes=[1])).find("*[@classname='finding']/failure")
    assert failure is not None
    lines = (failure.text or "").split("\n")
    assert lines[1].startswith("fix: bind the directory")
    assert lines[3] == "seen: 8 times"
    assert lines[4].startswith("slurm-7412233.out:1184: nid001002")


@pytest.mark.parametrize(
    ("verdict", "severity", "outcome"),
    [
        ("ok", "warning", "skipped"),
        ("inconclusive", "warning", "skipped"),
        ("degraded", "warning", "failure"),
        ("broken", "error", "failure"),
        ("ok", "error", "failure"),
    ],
)
def test_a_warning_fails_only_where_the_job_does(
    verdict: str, severity: str, outcome: str
) -> None:
    finding = Finding("odd", severity, "rank 3", "it is odd")  # type: ignore[arg-type]
    report = samples.job()._replace(verdict=verdict, findings=(finding,))  # type: ignore[arg-type]
    assert cases(report)["finding", "odd: rank 3"] == (outcome, "it is odd")


def test_findings_of_one_name_are_told_apart() -> None:
    finding = Finding("odd", "error", "rank 3", "it is odd")
    found = cases(samples.job()._replace(findings=(finding, finding)))
    assert ("finding", "odd: rank 3 (2)") in found


def test_characters_that_xml_has_not_are_written_out() -> None:
    found = cases(samples.hostile())
    shown = (
        r"<script>alert(1)</script>]]>\x1b[31m\x00\xff\ud800\u202e\ufffe"
        "\"'&amp;{{title}}"
    )
    assert (shown, "rank 0") in found
    assert found["job", "verdict"] == ("failure", f"degraded: {shown}")


@given(st.text())
def test_any_text_can_be_read_back(text: str) -> None:
    found = suite(samples.hostile(text))
    assert len(found) == int(found.attrib["tests"]) == 10


def test_thousands_of_ranks_are_written_at_once() -> None:
    assert len(cases(samples.job(512, 8, slow_nodes=[3]))) > 4096
