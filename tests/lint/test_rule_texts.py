"""Texts of rules, without a finding that fills them in, are sentences for people."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest
import yaml
from following import findings_of

from envcfg.lint.lint_rule import LintRule, load_rules, unfilled
from envcfg.report.finding_report import described_rules
from support import ROOT, envcfg

RULES = load_rules()
# Names of placeholders that are no nouns: in capitals they tell the reader nothing.
WORDS = """all asked found instead known lacking left most other others own rest right said
seen what which who whose why""".split()
PLACEHOLDER = re.compile(
    rf"\b(?:{'|'.join(WORDS).upper()})\b|[a-z][A-Z]{{4,}}|(?<!\$)\{{\w+\}}"
)


DATA = sorted([*ROOT.glob("envcfg/**/*.yaml"), *ROOT.glob("profiles/*.yaml")])


def test_no_text_ends_at_a_number_sign_in_it() -> None:
    """YAML reads " #" in a text without quotes as the begin of a comment."""
    for path in DATA:
        text = path.read_text("utf-8")
        for event in yaml.parse(text, yaml.CSafeLoader):
            if isinstance(event, yaml.ScalarEvent) and event.style is None:
                rest = text[event.end_mark.index :].partition("\n")[0]
                assert not re.match(r"\s*#\S", rest), f"{event.value}{rest}"


def placeholders(text: str) -> list[str]:
    return PLACEHOLDER.findall(text)


def test_placeholders_are_told_from_text() -> None:
    for text in ("fix: INSTEAD", "SAID", "that of WHAT", "tasksOTHERS", "a {name}"):
        assert placeholders(text), text
    for text in ("set NAME", "write ${NAME}", "envcfg explain NAME", "NVIDIA's GPUs"):
        assert not placeholders(text), text


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_says_more_than_what_fills_it_in(rule: LintRule) -> None:
    for text in (rule.message, rule.fix):
        names = [name for _, name, _, _ in Formatter().parse(text) if name]
        literal = "".join(part for part, *_ in Formatter().parse(text))
        assert not names or literal.split(), text
        assert not placeholders(unfilled(text))


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_placeholder_is_in_what_explain_prints(form: tuple[str, ...]) -> None:
    done = envcfg("explain", *form, *RULES)
    assert done.code == 0
    # A script is code of others.
    text = re.sub(r"(?m)^    .*$", "", done.text)
    assert placeholders(text) == []


def test_no_placeholder_is_in_sarif() -> None:
    for descriptor in described_rules(RULES):
        for key in ("fullDescription", "help"):
            assert placeholders(descriptor[key]["text"]) == [], descriptor["id"]  # type: ignore[index]


def test_no_placeholder_is_in_a_finding(tmp_path: Path) -> None:
    for rule in RULES.values():
        for sample in rule.bad:
            for finding in findings_of(sample.script, sample, rule.id, tmp_path):
                for text in (finding.message, finding.fix):
                    left = {*placeholders(text or "")} - {"ALL"}
                    assert left <= {*placeholders(sample.script)}, finding


def test_no_placeholder_is_on_a_page() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "man").glob("*.1")]
    for path in pages:
        text = re.sub(r"(?s)```.*?```|`[^`]*`", "", path.read_text())
        assert not re.findall(r"\b(?:INSTEAD|SAID|LACKING)\b", text), path
