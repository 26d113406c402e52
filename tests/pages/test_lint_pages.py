"""The pages on the rules of lint: complete, linked."""

from __future__ import annotations

import re

import pytest

from envcfg.lint.rule import load_rules
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
    assert fences == ["```bash", "```"] * (len(fences) // 2)
    assert len(fences) >= 8
