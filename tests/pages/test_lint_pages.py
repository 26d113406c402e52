"""The pages on the rules of lint: complete, linked."""

from __future__ import annotations

import re

import pytest

from envcfg.core.linting import Linter
from envcfg.lint.lint_rule import load_rules
from scripts.pages.lint_rules import rule_pages
from support import ROOT

FOLDER = ROOT / "docs/lint"
PAGE = (ROOT / "docs/lint.md").read_text()
PAGES = rule_pages()


def test_the_table_leads_to_every_page() -> None:
    linked = re.findall(r"\]\(lint/([^)]*)\)", PAGE)
    assert linked == [f"{name}.md" for name in load_rules()]
    assert sorted(linked) == sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", PAGES)
def test_code_stands_in_fences_that_close(name: str) -> None:
    fences = [line for line in PAGES[name].splitlines() if line.startswith("```")]
    assert set(fences[::2]) == {"```bash", "```text"}
    assert set(fences[1::2]) == {"```"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_is_printed_and_how_to_turn_the_rule_off(name: str) -> None:
    printed = PAGES[name].partition("## Example")[2].partition("## Also")[0]
    assert "\nhint: " in printed
    assert f"`# envcfg: ignore {name.removesuffix('.md')}`" in PAGES[name]


def test_a_page_shows_the_script_after_its_repair() -> None:
    after = (
        PAGES["EC207.md"].partition("After `envcfg lint --fix`:")[2].partition("##")[0]
    )
    assert "export MIOPEN_USER_DB_PATH=/tmp/$USER-miopen" in after


# An example for each reason of the page, below its first two lines.
HEAD = "#SBATCH --account=project_465000001 --partition=standard-g"
REFUSED = {
    "Invalid account": "#SBATCH --partition=standard-g --gpus-per-node=8",
    "The partition does not exist": "#SBATCH --partition=standard_g --gpus-per-node=8",
    "More time than": f"{HEAD} --time=200:00:00 --gpus-per-node=8",
    "More nodes or GPUs": f"{HEAD} --gpus-per-node=9",
    "More cores or memory": f"{HEAD} --gpus-per-node=8 --mem=500G",
    "A misspelled option": f"{HEAD} --gpu-per-node=8",
    "A wrong format": f"{HEAD} --gpus-per-node=8 --time=24h",
    "A directive that is not read": f"{HEAD} --gpus-per-node=8\n#SBACTH --nodes=2\ncd x\n#SBATCH -t 1",
    "Two options": f"{HEAD} --gpus-per-node=8 --mem=1G --mem-per-cpu=1G",
}


def test_the_page_on_refused_jobs_names_the_rules_that_lint_reports() -> None:
    page = (ROOT / "docs/my-job/refused.md").read_text("utf-8")
    sections = [part for part in page.split("\n## ")[1:] if "/lint/EC" in part]
    assert len(sections) == len(REFUSED)
    for section, (title, lines) in zip(sections, REFUSED.items(), strict=True):
        assert section.startswith(title)
        script = f"#!/bin/bash\n{lines}\nsrun python train.py\n"
        result = Linter(profile="lumi-g").judge({"job.sh": script.encode()})
        named = re.findall(r"\[`(EC\d+)`\]", section)
        assert set(named) <= {finding.rule for finding in result.all}, title
