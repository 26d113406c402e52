"""The page on a log's verdict in a real browser: what is seen, and what a search does.

The pictures stand in the folder that pytest keeps: ``pytest --basetemp=DIR`` says where.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from envcfg.log.verdict import LogReport
from envcfg.report.log.log_html import log_html
from report import samples
from report.chromium import Browser, Page, running_chromium

pytestmark = pytest.mark.nightly

PHONE, DESK = (360, 800), (1280, 900)
SAMPLES = {
    "degraded": samples.job(slow_nodes=[1]),
    "inconclusive": samples.single_node(),
    "broken": samples.broken(),
    "empty": samples.empty(),
    "hostile": samples.hostile("x" * 300 + samples.HOSTILE),
    "large": samples.job(512, 8, slow_nodes=[17, 18]),
}


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if shutil.which("chromium") is None:
        pytest.fail("chromium is not installed; scripts/test installs it as root")
    with running_chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab that must not complain, nor ask for anything but the file."""
    found = browser.new_page()
    yield found
    assert found.troubles == []
    assert all(url.startswith(("file:", "data:,")) for url in found.requests)


def write(report: LogReport, folder: Path) -> Path:
    path = folder / "page.html"
    path.write_text(log_html(report, "slurm-7412233.out"), encoding="utf-8")
    return path


def shown_ranks(page: Page) -> list[int]:
    ranks: list[int] = page.evaluate(
        "Array.from(document.querySelectorAll('#rows tr'))"
        ".filter(row => row.checkVisibility()).map(row => Number(row.id.slice(1)))"
    )
    return ranks


def count(page: Page, selector: str) -> int:
    """How many elements of *selector* can be seen."""
    number: int = page.evaluate(
        f"Array.from(document.querySelectorAll('{selector}'))"
        ".filter(each => each.checkVisibility()).length"
    )
    return number


def search(page: Page, text: str) -> None:
    page.evaluate("document.querySelector('#query').select()")
    page.type(text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("report", SAMPLES.values(), ids=SAMPLES)
def test_the_verdict_is_seen_and_the_page_fits(
    page: Page, report: LogReport, width: int, height: int, scheme: str, tmp_path: Path
) -> None:
    page.resize(width, height, scheme=scheme)
    page.open(write(report, tmp_path))
    top, bottom, text = page.evaluate(
        "(() => { const title = document.querySelector('h1');"
        " const box = title.getBoundingClientRect();"
        " return [box.top, box.bottom, title.innerText]; })()"
    )
    assert 0 <= top < bottom
    assert text.startswith(f"{report.verdict}: ")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.evaluate("innerWidth") == width
    picture = page.screenshot(tmp_path / f"{width}-{scheme}.png")
    assert struct.unpack(">II", picture[16:24]) == (width, height)


def test_the_colours_follow_the_system(page: Page, tmp_path: Path) -> None:
    path = write(samples.job(), tmp_path)
    colours = []
    for scheme in ("light", "dark"):
        page.resize(*DESK, scheme=scheme)
        page.open(path)
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(15, 19, 24)"]


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("nid001002", list(range(8, 16))),
        ("TCP Sockets", list(range(8, 16))),
        ("rank 3", [3]),
        ("ranks 6-9", [6, 7, 8, 9]),
        ("nowhere", []),
        ("  ", list(range(16))),
    ],
)
def test_a_search_hides_what_does_not_match(
    page: Page, tmp_path: Path, text: str, ranks: list[int]
) -> None:
    page.open(write(samples.job(slow_nodes=[1]), tmp_path))
    search(page, text)
    assert shown_ranks(page) == ranks
    assert count(page, "#grid a:not(.faint)") == len(ranks)
    assert count(page, "#grid > li") == len({rank // 8 for rank in ranks})
    said = page.evaluate("document.querySelector('output').textContent")
    assert said.startswith(f"{len(ranks)} of 16 ranks, " if text.strip() else "")


def test_a_search_hides_findings_and_unfolds_those_that_match(
    page: Page, tmp_path: Path
) -> None:
    page.open(write(samples.job(slow_nodes=[1]), tmp_path))
    assert count(page, ".finding") == 2
    search(page, "mend the plugin")
    assert count(page, ".finding") == count(page, "details .finding") == 1


def test_ranks_can_be_chosen_by_verdict(page: Page, tmp_path: Path) -> None:
    page.open(write(samples.broken(), tmp_path))
    page.evaluate(
        "document.querySelector('#verdict').value = 'broken';"
        "document.querySelector('#verdict').dispatchEvent("
        "new Event('input', {bubbles: true}))"
    )
    assert shown_ranks(page) == [2]


def test_a_click_shows_the_rank_and_escape_goes_back(
    page: Page, tmp_path: Path
) -> None:
    page.resize(*PHONE)
    page.open(write(samples.job(slow_nodes=[1]), tmp_path))
    assert count(page, "#detail") == 0
    page.click('a[href="#r9"]')
    text = page.evaluate("document.querySelector('#detail').innerText")
    for part in ("Rank 9", "nid001002", "NCCL uses TCP sockets", "8, 10: P2P/IPC"):
        assert part in text
    assert "1: NET/Socket, no GPU RDMA" in text
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE[0]
    page.press("Escape", 27)
    assert count(page, "#detail") == 0
    assert page.evaluate("document.activeElement.hash") == "#r9"


def test_a_keyboard_reaches_a_cell_and_opens_it(page: Page, tmp_path: Path) -> None:
    page.open(write(samples.job(), tmp_path))
    page.evaluate("document.querySelector('a[href=\"#r0\"]').focus()")
    page.press("Tab", 9)
    page.press("Enter", 13, "\r")
    assert (
        page.evaluate("document.querySelector('#detail-title').textContent") == "Rank 1"
    )


def test_the_page_can_be_read_without_its_script(page: Page, tmp_path: Path) -> None:
    page.resize(*DESK)
    page.open(write(samples.job(slow_nodes=[1]), tmp_path), scripts=False)
    page.screenshot(tmp_path / "plain.png")
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    assert count(page, "form") == 0
    assert len(shown_ranks(page)) == 16
    assert count(page, "#matrix td[class]") == 48
    page.click("summary")
    assert count(page, ".finding") == 4
    page.click('a[href="#r9"]')
    assert page.evaluate("document.querySelector(':target').id") == "r9"


def test_hostile_text_runs_nothing(page: Page, tmp_path: Path) -> None:
    page.open(write(samples.hostile(), tmp_path))
    page.click('a[href="#r2"]')
    assert page.evaluate("document.scripts.length") == 2
    assert samples.HOSTILE[:20] in page.evaluate(
        "document.querySelector('#detail').innerText"
    )


def test_the_policy_stops_a_script_of_the_log(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page()
    path = write(samples.job(), tmp_path)
    evil = "<script>document.title = 'taken'</script></main>"
    path.write_text(path.read_text("utf-8").replace("</main>", evil), "utf-8")
    page.open(path)
    assert page.evaluate("document.title") != "taken"
    assert any("Content Security Policy" in each for each in page.troubles)


def test_a_print_leaves_nothing_out(page: Page, tmp_path: Path) -> None:
    page.open(write(samples.job(slow_nodes=[1]), tmp_path))
    page.call("Page.printToPDF", printBackground=True)
    assert page.evaluate("document.querySelector('details').open")


def test_thousands_of_ranks_are_searched_while_typing(
    page: Page, tmp_path: Path
) -> None:
    page.resize(*DESK)
    page.open(write(SAMPLES["large"], tmp_path))
    search(page, "nid001018")
    assert shown_ranks(page) == list(range(136, 144))
    taken = page.evaluate(
        "(() => { const start = performance.now();"
        " document.querySelector('#query').dispatchEvent("
        "new Event('input', {bubbles: true}));"
        " document.body.getBoundingClientRect(); return performance.now() - start; })()"
    )
    assert taken < 1000
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert loaded < 10_000  # a second on a machine that does nothing else
