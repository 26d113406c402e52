"""The site in a real browser: colours, what is copied, and no command that is cut off."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from report.chromium import Page, running_chromium
from support import ROOT

COPIED = """[...document.querySelectorAll('pre > code')].map(each => {
  each.setAttribute('data-md-copying', '');
  const text = each.innerText;
  each.removeAttribute('data-md-copying');
  return text;
})"""
CUT = """[...document.querySelectorAll('pre > code')].flatMap(code =>
  [...code.querySelectorAll('[id^=__line]')]
    .filter(line => line.querySelector(':scope > .gp'))
    .filter(line => [...line.getClientRects()].some(
      each => each.right > code.getBoundingClientRect().right + 1))
    .map(line => line.textContent))"""
SCHEME = "document.body.getAttribute('data-md-color-scheme')"
WIDER = "document.documentElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    mkdocs = Path(sys.executable).parent / "mkdocs"
    subprocess.run(
        [mkdocs, "build", "--quiet", "--strict", "--site-dir", out],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ".", "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return out


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if shutil.which("chromium") is None:
        pytest.fail("chromium is not installed; scripts/test installs it as root")
    with running_chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found.new_page()


def test_it_follows_the_system_when_that_turns_dark(page: Page, site: Path) -> None:
    seen = []
    for scheme in ("light", "dark", "light"):
        page.resize(1280, 900, scheme=scheme)
        page.open(site / "index.html")
        seen.append(page.evaluate(SCHEME))
    assert seen == ["default", "slate", "default"]


def test_commands_are_copied_without_prompt_and_output(page: Page, site: Path) -> None:
    page.resize(1280, 900)
    page.open(site / "tutorials/laptop.html")
    copied = page.evaluate(COPIED)
    assert (
        "envcfg wrap --profile workstation --container none --ranks 2 -o job.sh -- sh hello.sh\n"
        "./job.sh\n"
    ) in copied
    assert any(each.startswith("#!/bin/sh\necho") for each in copied)
    assert not any(each.startswith("$ ") for each in copied)


@pytest.mark.parametrize("width", [500, 1280])
def test_no_command_is_cut_off(width: int, page: Page, site: Path) -> None:
    page.resize(width, 900)
    for name in ("index", "tutorials/lumi", "how-to/requeue", "sbatch", "systems"):
        page.open(site / f"{name}.html")
        assert page.evaluate(CUT) == [], name
        assert not page.evaluate(WIDER), name
