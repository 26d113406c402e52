"""The findings in the scripts of the texts are those that a teacher of the course would name."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from envcfg.lint.lint_rule import chosen, load_rules
from envcfg.lint.rule_runner import judge
from envcfg.lint.script_source import Sources
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder

FOLDER = Path(__file__).parent
TABLE = yaml.safe_load((FOLDER / "findings.yaml").read_text(encoding="utf-8"))
CATALOG = Catalog([built_in_folder()])
# The text does not name the version of Slurm on which it depends.
RULES = chosen(load_rules(), (), ["EC626"])


def test_the_table_has_every_script() -> None:
    assert {*TABLE} == {path.name for path in (FOLDER / "files").glob("*.sh")}


@pytest.mark.parametrize("name", TABLE)
def test_a_script_has_the_findings_of_the_table(name: str) -> None:
    system = name.partition("-")[0]
    profile = CATALOG.load(system if system in ("mahti", "puhti") else "lumi-g")
    sources = Sources()
    script = sources.add(name, (FOLDER / "files" / name).read_bytes())
    remarks = judge([script], sources, rules=RULES, profile_of=lambda _: profile)
    findings = [remark.finding for remark in remarks[name]]
    lines = [
        f"{finding.place.line} {finding.rule} {finding.severity}"
        for finding in findings
        if finding.place
    ]
    assert lines == TABLE[name]["findings"], TABLE[name]["fact"]
