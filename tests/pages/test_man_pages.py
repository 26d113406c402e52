"""The manual pages: current, clean, and installed where man looks for them."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.pages.man import man_pages, write_pages
from support import ROOT, require

PAGES = man_pages()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("man")
    write_pages(path)
    return path


def test_there_is_a_page_for_each_command() -> None:
    assert {"envcfg.1", "envcfg-wrap.1", "envcfg-profiles-show.1"} <= set(PAGES)


def test_the_terminal_of_who_builds_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = man_pages()
    monkeypatch.setenv("COLUMNS", "40")
    assert man_pages() == pages


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_clean(name: str, folder: Path) -> None:
    require("mandoc", "man")
    path = str(folder / name)
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
def test_a_page_has_what_people_look_for(name: str, folder: Path) -> None:
    require("mandoc", "col")
    done = subprocess.run(
        ["mandoc", "-Tascii", "-Owidth=100", str(folder / name)],
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


def names_in_wheel(source: Path, folder: Path, **env: str) -> list[str]:
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    argv += ["--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(argv, check=True, env={**os.environ, **env})
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_has_them_where_man_looks(tmp_path: Path) -> None:
    names = names_in_wheel(ROOT, tmp_path)
    assert {Path(each).name for each in names if "/man/man1/" in each} == set(PAGES)
    assert "envcfg/commands/completion/shells/completion.zsh" in names


def test_a_wheel_of_an_sdist_has_them_without_the_modules_that_make_them(
    tmp_path: Path,
) -> None:
    argv = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "sdist",
        "-d",
        str(tmp_path),
    ]
    subprocess.run(argv, check=True, cwd=ROOT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", sdist, "-C", tmp_path], check=True)
    source = tmp_path / sdist.name.removesuffix(".tar.gz")
    (tmp_path / "argparse_manpage.py").write_text(
        "raise ModuleNotFoundError('missing')"
    )
    hidden = {"PYTHONPATH": str(tmp_path)}
    names = names_in_wheel(source, tmp_path, **hidden)
    assert {Path(each).name for each in names if "/man/man1/" in each} == set(PAGES)

    for page in (source / "man").iterdir():
        page.unlink()
    (tmp_path / "none").mkdir()
    names = names_in_wheel(source, tmp_path / "none", **hidden)
    assert [each for each in names if "/man/" in each] == []
