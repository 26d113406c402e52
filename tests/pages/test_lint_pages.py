"""The pages on the rules of lint: complete, linked."""

from __future__ import annotations

import re

import pytest

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
