"""The JSON of a log's verdict, held against the schema that is documented."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from envcfg.common.findings import Finding
from envcfg.log.verdict import LogReport
from envcfg.report.log.log_findings import log_json
from report import samples
from support import ROOT

SCHEMA = json.loads((ROOT / "docs" / "check-log.schema.json").read_text("utf-8"))
SAMPLES = {
    "ok": samples.job(),
    "degraded": samples.job(slow_nodes=[1]),
    "broken": samples.broken(),
    "inconclusive": samples.single_node(),
    "empty": samples.empty(),
    "bare-rank": samples.bare_rank(),
}


def document(report: LogReport) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(log_json(report))
    return found


def errors(found: object) -> list[str]:
    return [each.message for each in Draft202012Validator(SCHEMA).iter_errors(found)]


def objects(schema: object) -> Iterator[dict[str, Any]]:
    """Every part of a schema that describes an object of known fields."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("type") == "object":
            yield schema
        for each in schema.values():
            yield from objects(each)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_is_strict_and_explains_every_field() -> None:
    for each in objects(SCHEMA):
        assert each["additionalProperties"] is False
        assert set(each["required"]) == set(each["properties"])
        for name, field in each["properties"].items():
            assert "description" in field or "$ref" in field, name


@pytest.mark.parametrize("report", SAMPLES.values(), ids=SAMPLES)
def test_the_document_is_as_the_schema_says(report: LogReport) -> None:
    assert errors(document(report)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("verdict", "fine"),
        ("extra", 1),
        ("job.gdr", "maybe"),
        ("job.plugin.loaded", "most"),
        ("ranks.0.plugin", "odd"),
        ("findings.0.severity", "fatal"),
        ("findings.0.evidence.line", 0),
        ("transports.0.gdr", "yes"),
        ("coverage.size", -1),
    ],
)
def test_the_schema_refuses_what_is_not_so(path: str, value: object) -> None:
    found = document(samples.job(slow_nodes=[0]))
    *parents, name = path.split(".")
    place: Any = found
    for each in parents:
        place = place[int(each) if each.isdigit() else each]
    place[name] = value
    assert errors(found)


def test_the_document_says_what_the_report_says() -> None:
    report = samples.job(slow_nodes=[1])
    found = document(report)
    assert found["schema_version"] == 1
    assert found["summary"] == report.summary
    assert found["job"]["networks"] == {"AWS Libfabric": 8, "Socket": 8}
    assert found["job"]["plugin"] == {
        "name": "aws-ofi-rccl",
        "version": "1.4.0",
        "loaded": "some",
    }
    assert found["ranks"][9]["reason"] == "NCCL uses TCP sockets, not the NIC"
    assert found["findings"][0]["evidence"]["line"] == 1184
    assert found["findings"][1]["fix"] is None
    assert found["findings"][2]["cause"] is False


def test_both_uses_of_interfaces_are_there_when_none_was_seen() -> None:
    assert document(samples.empty())["job"]["interfaces"] == {
        "bootstrap": [],
        "socket": [],
    }


def test_text_that_is_no_utf_8_can_be_read_by_strict_readers() -> None:
    report = samples.hostile()
    plugin = report.ranks[0]._replace(plugin="failed")
    found = log_json(report._replace(ranks=(plugin,)))
    assert found.isascii()
    assert errors(json.loads(found)) == []
    json.loads(found)["job"]["nodes"][0].encode("utf-8")
    assert r"\\xff" in found


def test_characters_beyond_the_basic_plane_stay_whole() -> None:
    finding = Finding("a", "note", "\U0001f600", "caf\u00e9")
    found = document(samples.empty()._replace(findings=(finding,)))
    assert found["findings"][0]["subject"] == "\U0001f600"
    assert found["findings"][0]["message"] == "caf\u00e9"


def test_thousands_of_ranks_are_as_the_schema_says() -> None:
    report = samples.job(512, 8, slow_nodes=[17])
    found = log_json(report)
    assert found == log_json(report)
    assert found.endswith("}\n")
    assert len(json.loads(found)["ranks"]) == 4096
    assert errors(json.loads(found)) == []
