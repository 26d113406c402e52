"""The pages on the rules of lint: current, complete, linked."""

from __future__ import annotations

import re

import pytest

from envcfg.lint.rule import load_rules
from scripts.pages.lint_rules import rule_pages, with_table
from support import ROOT

FOLDER = ROOT / "docs/lint"
PAGE = (ROOT / "docs/lint.md").read_text()
PAGES = rule_pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    page = (FOLDER / name).read_text() if (FOLDER / name).exists() else ""
    assert page == PAGES[name], "out of date: run scripts/rules"


def test_the_table_is_current_and_leads_to_every_page() -> None:
    assert with_table(PAGE) == PAGE, "out of date: run scripts/rules"
    linked = re.findall(r"\]\(lint/([^)]*)\)", PAGE)
    assert linked == [f"{name}.md" for name in load_rules()]
    assert sorted(linked) == sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", PAGES)
def test_code_stands_in_fences_that_close(name: str) -> None:
    fences = [line for line in PAGES[name].splitlines() if line.startswith("```")]
    assert fences == ["```bash", "```"] * (len(fences) // 2)
    assert len(fences) >= 8
