"""The JUnit XML of findings and of a log's verdict, read back."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.common.findings import Finding, Result
from envcfg.log.verdict import LogReport
from envcfg.report.finding_report import write_findings
from envcfg.report.log.log_findings import log_findings, rank_findings
from report import samples

LOG = "slurm-7412233.out"


def suite(report: LogReport) -> ET.Element:
    found = Result({**log_findings(report, [LOG]), **rank_findings(report)})
    return read(found)


def read(result: Result) -> ET.Element:
    text = write_findings(result, "junit")
    assert text.isascii()
    root = ET.fromstring(text)  # noqa: S314 - what we just wrote
    assert root.tag == "testsuites"
    (found,) = root
    return found


def cases(report: LogReport) -> dict[str, tuple[str, str]]:
    """Test cases by name, each with its outcome and message."""
    found = {}
    for case in suite(report):
        outcome = next(iter(case), None)
        found[case.attrib["name"]] = (
            ("passed", "")
            if outcome is None or outcome.tag == "system-out"
            else (outcome.tag, outcome.attrib["message"])
        )
    return found


def test_a_good_job_passes() -> None:
    found = suite(samples.job())
    assert found.attrib == {
        "name": "envcfg",
        "tests": "17",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
    }


def test_each_rank_is_a_case_with_its_reason() -> None:
    found = cases(samples.broken())
    assert found["rank 0 on nid001001"] == ("passed", "")
    assert found["rank 2 on nid001001"] == ("failure", "init did not complete")
    assert found["rank 3 on an unknown node"] == ("skipped", "no line after init")
    assert found["rank 4 on nid001002"][0] == "failure"


def test_the_file_has_the_verdict_of_its_job() -> None:
    report = samples.job(slow_nodes=[1])
    assert cases(report)[LOG] == ("failure", report.summary)


def test_missing_ranks_skip_the_file() -> None:
    assert cases(samples.single_node())[LOG][0] == "skipped"


def test_a_log_without_anything_skips() -> None:
    found = cases(samples.empty())
    assert [*found] == [LOG]
    assert found[LOG][0] == "skipped"


def test_a_finding_tells_what_to_do_and_where_it_was_seen() -> None:
    failure = suite(samples.job(slow_nodes=[1])).find("*/failure")
    assert failure is not None
    lines = (failure.text or "").split("\n")
    assert lines[0].startswith(f"{LOG}: degraded: ")
    assert any("; bind the directory" in line for line in lines)


@pytest.mark.parametrize(
    ("severities", "outcome"),
    [
        ([], None),
        (["note"], "system-out"),
        (["note", "warning"], "skipped"),
        (["warning", "error"], "failure"),
    ],
)
def test_an_error_fails_and_a_warning_alone_skips(
    severities: list[str], outcome: str | None
) -> None:
    found = [Finding("r", each, "s", each) for each in severities]  # type: ignore[arg-type]
    (case,) = read(Result({"x": found}))
    assert [each.tag for each in case] == ([outcome] if outcome else [])
    assert all(f"x: s: {each}" in (case[0].text or "") for each in severities)


def test_characters_that_xml_has_not_are_written_out() -> None:
    found = cases(samples.hostile())
    shown = (
        r"<script>alert(1)</script>]]>\x1b[31m\x00\xff\ud800\u202e\ufffe"
        "\"'&amp;{{title}}"
    )
    assert f"rank 0 on {shown}" in found
    assert ("failure", f"degraded: {shown}") in found.values()


@given(st.text())
def test_any_text_can_be_read_back(text: str) -> None:
    found = suite(samples.hostile(text))
    assert len(found) == int(found.attrib["tests"])


def test_thousands_of_ranks_are_written_at_once() -> None:
    assert len(cases(samples.job(512, 8, slow_nodes=[3]))) > 4096
