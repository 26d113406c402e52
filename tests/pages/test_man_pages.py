"""The manual pages: current, clean, and installed where man looks for them."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.pages.man import man_pages
from support import ROOT, require

PAGES = man_pages()
FOLDER = ROOT / "man"


def test_there_is_a_page_for_each_command() -> None:
    assert {"envcfg.1", "envcfg-wrap.1", "envcfg-profiles-show.1"} <= set(PAGES)


def test_the_terminal_of_who_builds_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert man_pages() == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_clean(name: str) -> None:
    require("mandoc", "man")
    path = str(FOLDER / name)
    linted = subprocess.run(
        ["mandoc", "-Tlint", "-Wstyle", path],
        capture_output=True,
        check=False,
        text=True,
    )
    # It knows pages by the names of files that are installed here: ours are not yet.
    said = [
        each for each in linted.stdout.splitlines() if "referenced manual" not in each
    ]
    assert said == []
    shown = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path],
        capture_output=True,
        check=True,
        text=True,
    )
    assert shown.stderr == ""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_what_people_look_for(name: str) -> None:
    require("mandoc", "col")
    done = subprocess.run(
        ["mandoc", "-Tascii", "-Owidth=100", str(FOLDER / name)],
        capture_output=True,
        check=True,
        text=True,
    )
    lines = subprocess.run(
        ["col", "-b"], input=done.stdout, capture_output=True, check=True, text=True
    ).stdout.splitlines()
    for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "SEE ALSO"):
        assert title in lines
    assert "COMMENTS" not in lines


def test_the_wheel_has_them_where_man_looks(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    argv += ["--no-build-isolation"]
    subprocess.run([*argv, "--wheel-dir", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {Path(each).name for each in names if "/man/man1/" in each} == set(PAGES)
    assert "envcfg/commands/completion/shells/completion.zsh" in names
