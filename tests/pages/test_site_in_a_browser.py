"""The site in a real browser: colours, what is copied, no command cut off, its search."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from report.chromium import Page, running_chromium
from support import ROOT

pytestmark = pytest.mark.nightly

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

QUESTIONS = [
    line.split(" = ")
    for line in (Path(__file__).parent / "questions.txt").read_text().splitlines()
    if not line.startswith("#")
]
TYPED = """(() => {
  const field = document.querySelector('.md-search__input');
  field.focus();
  field.value = %s;
  for (const name of ['keyup', 'input']) field.dispatchEvent(new Event(name));
})()"""
FOUND = """[...document.querySelectorAll('.md-search-result__item a:first-child')].map(
  each => new URL(each.getAttribute('href'), location).pathname.slice(1, -5))"""
PATIENCE = 60  # seconds for the index to be read, on a machine that does other things


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
    for name in (
        "index",
        "tutorials/lumi",
        "how-to/requeue",
        "sbatch",
        "systems/lumi-g",
    ):
        page.open(site / f"{name}.html")
        assert page.evaluate(CUT) == [], name
        assert not page.evaluate(WIDER), name


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served: a page that is opened as a file may not search."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_search_answers_typical_questions(page: Page, address: str) -> None:
    page.resize(1280, 900)
    page.call("Page.navigate", url=f"{address}/index.html")
    page.browser.wait_for("Page.loadEventFired", page.session)
    page.call("Emulation.setFocusEmulationEnabled", enabled=True)
    assert found_for(page, "hang", PATIENCE)  # the index is read
    wrong = {}
    for question, wanted in QUESTIONS:
        first = found_for(page, question)
        if not {*wanted.split()} & {*first}:
            wrong[question] = first
    assert len(QUESTIONS) >= 80
    assert len(wrong) <= len(QUESTIONS) // 10, wrong


def test_every_word_of_the_pages_is_found(page: Page, address: str) -> None:
    page.call("Page.navigate", url=f"{address}/index.html")
    page.browser.wait_for("Page.loadEventFired", page.session)
    page.evaluate((Path(__file__).parent / "lost_words.js").read_text())
    until = time.monotonic() + 4 * PATIENCE
    while (asked := page.evaluate("window.lost")) is None and time.monotonic() < until:
        time.sleep(0.5)
    assert asked["words"] > 5_000
    assert asked["lost"] == []


def found_for(page: Page, question: str, patience: float = 10) -> list[str]:
    """Return the first three pages, once the list has settled; none: nothing came."""
    page.evaluate(TYPED % json.dumps(""))
    until = time.monotonic() + patience
    while page.evaluate(FOUND) and time.monotonic() < until:
        time.sleep(0.2)
        page.evaluate(
            TYPED % json.dumps("")
        )  # a word can be lost while the list is made
    page.evaluate(TYPED % json.dumps(question))
    before: list[str] = []
    while time.monotonic() < until:
        time.sleep(0.05)
        now: list[str] = page.evaluate(FOUND)
        if now and now == before:
            return list(dict.fromkeys(now))[:3]
        before = now
    return []
