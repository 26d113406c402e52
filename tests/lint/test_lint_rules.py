"""Each rule against its own samples: bad ones are found where they say, good ones are silent."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

import pytest
from following import read_sources

from envcfg.lint.detectors import load_detectors
from envcfg.lint.lint_rule import LintRule, Sample, load_rules
from envcfg.lint.rule_runner import judge
from envcfg.lint.script_source import Sources
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from suites import in_groups, mark_sample
from support import ROOT

CATALOG = Catalog([built_in_folder()])
RULES = load_rules()
Group = Sequence[tuple[str, Sample]]


def samples(kind: str) -> list[Group]:
    """Return the good or bad samples with the names of their rules, in groups."""
    return in_groups(
        (name, sample) for name, rule in RULES.items() for sample in getattr(rule, kind)
    )


def lint(
    sample: Sample, tmp_path: Path, rules: list[str]
) -> list[tuple[str, int, str]]:
    """Return what is found in a sample: rule, line and severity."""
    folder = Path(mkdtemp(dir=tmp_path))
    script = folder / "job.sh"
    script.write_text(sample.script, encoding="utf-8")
    for name, text in sample.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = Sources()
    profile = CATALOG.load(sample.profile) if sample.profile else None
    given = read_sources([str(script)], sources)
    found = judge(given, sources, rules=rules, profile_of=lambda _: profile)
    return [
        (each.finding.rule, each.finding.place.line, each.finding.severity)  # type: ignore[union-attr]
        for remarks in found.values()
        for each in remarks
    ]


@pytest.mark.parametrize("group", samples("bad"))
def test_a_bad_sample_is_found_at_its_line(group: Group, tmp_path: Path) -> None:
    for rule, sample in group:
        found = lint(sample, tmp_path, [rule])
        assert [line for _, line, _ in found] == list(sample.lines), (rule, found)
        if sample.severity:
            assert [each[2] for each in found] == [sample.severity], (rule, found)


@pytest.mark.parametrize("group", samples("good"))
def test_a_good_sample_gives_nothing(group: Group, tmp_path: Path) -> None:
    for rule, sample in group:
        assert lint(sample, tmp_path, [rule]) == [], rule


@pytest.mark.parametrize("group", mark_sample(samples("good"), every=3))
def test_a_good_sample_gives_no_other_rule_an_error(
    group: Group, tmp_path: Path
) -> None:
    for rule, sample in group:
        found = lint(sample, tmp_path, list(RULES))
        assert [each for each in found if each[2] == "error"] == [], rule


def test_what_rules_know_is_looked_for_and_has_no_word_twice() -> None:
    code = "".join(
        each.read_text(encoding="utf-8")
        for each in (ROOT / "envcfg/lint/detectors").glob("*.py")
    )
    asked = re.findall(r'known_(?:words|values)\(\s*"(\w+)", "(\w+)"', code)
    assert {*asked} == {
        (rule.id, table) for rule in RULES.values() for table in rule.knows
    }
    for rule, table in asked:
        words = RULES[rule].knows[table]
        if isinstance(words, str):
            assert len({*words.split()}) == len(words.split()), table


def test_forms_of_a_fault_are_known_to_a_rule_and_found_by_a_detector() -> None:
    code = [
        node
        for file in (ROOT / "envcfg/lint/detectors").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    ]
    faults = [
        node
        for node in code
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Fault"
    ]
    named = {
        each.args[2].value
        for each in faults
        if len(each.args) > 2 and isinstance(each.args[2], ast.Constant)
    }
    known = {form for rule in RULES.values() for form in rule.also}
    texts = {node.value for node in code if isinstance(node, ast.Constant)}
    assert named <= known | {""}
    tables = "".join(str(rule.knows) for rule in RULES.values())
    # How a script ends by itself names those of EC734.
    ends = {*RULES["EC734"].also}
    assert {each for each in known - texts - ends if f"'{each}'" not in tables} == set()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_has_all_that_it_needs(rule: LintRule) -> None:
    least = 1 if rule.is_foreign else 2
    assert len(rule.bad) >= least, f"{rule.id} needs {least} bad samples"
    assert len(rule.good) >= least, f"{rule.id} needs {least} good samples"
    assert all(each.shows for each in rule.good), f"{rule.id}: say what each shows"
    for key in ("source", "date", "why", "fix"):
        assert getattr(rule, key), f"{rule.id}: {key} is missing"


def test_each_rule_has_what_looks_for_it_and_no_other_is_looked_for() -> None:
    assert sorted(load_detectors()) == sorted(
        name for name, rule in RULES.items() if not rule.is_foreign
    )


# A rule in files that nothing else names, as somebody adds one.
NEW_RULE = """\
group: container
rules:
  - {id: EC899, name: a-new-rule, severity: error, message: new, why: w, fix: f, source: s, date: d}
"""
NEW_DETECTOR = """\
from envcfg.lint.lint_rule import Fault, detects

@detects("EC899")
def find(job):
    for each in job.model.assignments:
        yield Fault(each.offset)
"""


@pytest.mark.parametrize("form", ["folder", "archive"])
def test_a_new_rule_and_its_detector_are_found_by_their_files(
    form: str, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "envcfg", tree / "envcfg")
    (tree / "envcfg/lint/rules/9-new.yaml").write_text(NEW_RULE)
    (tree / "envcfg/lint/detectors/brand_new.py").write_text(NEW_DETECTOR)
    if form == "archive":
        tree = Path(shutil.make_archive(str(tmp_path / "one"), "zip", tree))
    (tmp_path / "job.sh").write_text("#!/bin/bash\nexport NEW=1\n")
    done = subprocess.run(
        [sys.executable, "-m", "envcfg", "lint", "--json", "job.sh"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    [checked] = json.loads(done.stdout)["checked"]
    assert [each["rule"] for each in checked["findings"]] == ["EC899"]


def test_ids_are_group_and_number() -> None:
    own = [name for name, rule in RULES.items() if not rule.is_foreign]
    for name in own:
        assert name.startswith("EC")
        assert 1 <= int(name[2]) <= 8
    assert len({int(name[3:]) for name in own}) == len(own)
    assert len({each.name for each in RULES.values()}) == len(RULES)


@pytest.mark.parametrize("group", samples("bad"))
def test_an_edit_mends_its_fault(group: Group) -> None:
    for rule, sample in group:
        text = sample.script
        for _ in range(
            3
        ):  # of several that lack the same, each time the first is named
            sources = Sources()
            found = judge([sources.add("-", text.encode())], sources, rules=[rule])["-"]
            edits = [each.edit for each in found if each.edit]
            for edit in sorted(edits, reverse=True):
                text = text[: edit.start] + edit.text + text[edit.end :]
        assert edits == [], (rule, text)
