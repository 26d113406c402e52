"""The page about all systems: current, complete, and Markdown that holds together."""

from __future__ import annotations

import re

import pytest

from envcfg.profile.catalog import Catalog
from support import ROOT

PAGE = (ROOT / "docs/systems.md").read_text()


def test_every_row_has_as_many_cells_as_its_table() -> None:
    cells = 0
    for line in PAGE.splitlines():
        here = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not here or not cells or here == cells, line
        cells = here


def test_every_link_within_the_page_leads_somewhere(built_in: Catalog) -> None:
    targets = set(re.findall(r"\]\(#([^)]*)\)", PAGE))
    assert targets == set(built_in.names())
    assert targets <= set(re.findall(r"^## (.*)$", PAGE, re.M))


@pytest.mark.parametrize("part", ["Settings", "Containers", "How to ask for it"])
def test_what_a_profile_says_stands_on_the_page(built_in: Catalog, part: str) -> None:
    section = PAGE.partition("\n## lumi-g\n")[2].partition("\n## ")[0]
    assert f"\n### {part}\n" in section
    for setting in filter(None, built_in.load("lumi-g").env.values()):
        assert f"`{setting.name}`" in section
