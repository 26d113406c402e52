"""Findings in every form: whatever a file or a text holds, it stays data there."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.commands.formats import FORMATS
from envcfg.common.findings import EvidenceLine, Finding, Place, Result, exit_code
from envcfg.core.explainable import words_known
from envcfg.core.explanation import explain
from envcfg.knowledge.topics import load_topics
from envcfg.lint.lint_rule import load_rules
from envcfg.report.finding_report import write_findings
from fuzzing import tries
from support import ROOT

SCHEMA = json.loads((ROOT / "docs/findings.schema.json").read_text())
# What SARIF 2.1.0 (OASIS, section 3.14 and on) demands of the parts that are written.
SARIF_RUN = {
    "required": ["tool", "results"],
    "properties": {
        "artifacts": {"items": {"required": ["location"]}},
        "results": {
            "items": {
                "required": ["message", "ruleId", "level", "locations"],
                "properties": {
                    "ruleIndex": {"type": "integer", "minimum": 0},
                    "level": {"enum": ["none", "note", "warning", "error"]},
                    "locations": {
                        "minItems": 1,
                        "items": {
                            "minProperties": 1,
                            "additionalProperties": False,
                            "properties": {
                                "physicalLocation": {
                                    "required": ["artifactLocation", "region"],
                                    "properties": {
                                        "region": {
                                            "properties": {
                                                "startLine": {"minimum": 1},
                                                "startColumn": {"minimum": 1},
                                            }
                                        }
                                    },
                                },
                                "logicalLocations": {"items": {"required": ["name"]}},
                            },
                        },
                    },
                },
            }
        },
    },
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SEVERITIES = st.sampled_from(["error", "warning", "note"])
PLACES = st.builds(Place, TEXTS, st.integers(1, 99), st.integers(1, 99))
FINDINGS = st.builds(
    Finding,
    rule=st.sampled_from(["a-rule", "another"]),
    severity=SEVERITIES,
    subject=TEXTS,
    message=TEXTS,
    fix=st.none() | TEXTS,
    evidence=st.none() | st.builds(EvidenceLine, TEXTS, st.integers(1, 99), TEXTS),
    count=st.integers(1, 9),
    place=st.none() | PLACES,
)
RESULTS = st.builds(
    Result,
    st.dictionaries(TEXTS, st.lists(FINDINGS, max_size=3), max_size=3),
    st.sampled_from(["file", "node"]),
)


@given(RESULTS)
@tries(150)
def test_any_text_stays_data_in_every_form(result: Result) -> None:
    made = {form: write_findings(result, form) for form in FORMATS}
    count = len(result.all)
    jsonschema.validate(json.loads(made["json"]), SCHEMA)
    run = json.loads(made["sarif"])["runs"][0]
    assert len(run["results"]) == count
    files = len(result.findings) if result.kind == "file" else 0
    assert len(run.get("artifacts", ())) == files
    jsonschema.validate(run, SARIF_RUN)
    commands = made["github"].split("\n")[:-1]
    assert len(commands) == count
    assert all(
        line.startswith(("::error ", "::warning ", "::notice ")) for line in commands
    )
    tests = ET.fromstring(made["junit"]).iter("testcase")  # noqa: S314  # our own
    assert len(list(tests)) == len(result.findings)
    assert all(line.isprintable() for line in made["text"].split("\n"))


@pytest.mark.parametrize(
    ("severities", "code", "strict"),
    [
        ([], 0, 0),
        (["note"], 0, 0),
        (["note", "warning"], 0, 1),
        (["warning", "error"], 1, 1),
    ],
)
def test_errors_fail_and_when_asked_for_warnings_too(
    severities: list[str], code: int, strict: int
) -> None:
    found = [Finding("r", each, "s", "m") for each in severities]  # type: ignore[arg-type]
    assert exit_code(found) == code
    assert exit_code(found, strict=True) == strict


def test_a_finding_says_where_it_is_to_be_mended() -> None:
    found = Finding(
        "r", "error", "env.A", "is wrong", "mend it", place=Place("p", 2, 3)
    )
    assert found.lines() == ["envcfg: error: p:2:3: env.A: is wrong", "  hint: mend it"]


def test_sarif_says_of_every_known_rule_what_it_means() -> None:
    no_findings = words_known(load_topics())
    every = [each.id for each in explain([]).entries if each.id not in no_findings]
    found = [Finding(each, "error", "s", "m") for each in [*every, "of-a-test"]]
    run = json.loads(write_findings(Result({"f": found}), "sarif"))["runs"][0]
    rules = {each["id"]: each for each in run["tool"]["driver"]["rules"]}
    assert rules.pop("of-a-test") == {"id": "of-a-test"}
    for name, rule in rules.items():
        for key in ("shortDescription", "fullDescription"):
            assert rule[key]["text"].strip(), name
        assert f"envcfg explain {name}" in rule["help"]["text"]
    assert rules["EC101"]["fullDescription"]["text"] == load_rules()["EC101"].why
