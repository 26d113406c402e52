"""The pages about systems: complete, and Markdown that holds together."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from envcfg.profile.catalog import Catalog
from support import ROOT, envcfg

FOLDER = ROOT / "docs/systems"
INDEX = (FOLDER / "index.md").read_text()


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.stem)
def test_every_row_has_as_many_cells_as_its_table(path: Path) -> None:
    cells = 0
    for line in path.read_text().splitlines():
        here = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not here or not cells or here == cells, line
        cells = here


def test_each_profile_has_a_row_and_a_page(built_in: Catalog) -> None:
    assert set(re.findall(r"\]\(([^)]*)\.md\)", INDEX)) == set(built_in.names())
    pages = {path.stem for path in FOLDER.iterdir()}
    assert pages == {*built_in.names(), "index"}


@pytest.mark.parametrize("part", ["Settings", "Containers", "How to ask for it"])
def test_what_a_profile_says_stands_on_its_page(built_in: Catalog, part: str) -> None:
    page = (FOLDER / "lumi-g.md").read_text()
    assert f"\n## {part}\n" in page
    for setting in filter(None, built_in.load("lumi-g").env.values()):
        assert f"`{setting.name}`" in page


@pytest.mark.parametrize("name", ["abci3", "aurora", "lumi-g", "mahti", "tuolumne"])
def test_the_commands_of_a_page_are_accepted_as_they_are(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (FOLDER / f"{name}.md").read_text()
    commands = re.findall(r"```console\n\$ (envcfg .*)\n```", page)
    assert len(commands) + page.count(": not possible;") == 3
    monkeypatch.chdir(tmp_path)
    for command in commands:
        done = envcfg(*shlex.split(command)[1:])
        assert done.code == 0, done.err
        assert (tmp_path / "job.sh").exists()


def test_what_users_copy_comes_first_and_what_is_known_last() -> None:
    page = (FOLDER / "lumi-g.md").read_text()
    parts = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert parts[:3] == ["Commands to copy", "Limits and costs", "The system"]
    assert parts[-1] == "How far this is known"
    assert "(../tutorials/lumi.md)" in page
    assert "--partition small-g" in page.partition("For one node")[0]
