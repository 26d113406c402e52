"""The page on a log's verdict, as text; test_html_screenshot.py looks at it."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.common.findings import Finding
from envcfg.log.verdict import JobRow, LogReport, Transport
from envcfg.report.log import log_html as module
from envcfg.report.log.log_html import log_html
from report import samples
from support import ROOT

TITLE = "slurm-7412233.out"
TEMPLATE = (ROOT / "envcfg" / "report/log/page.html").read_text("utf-8")
VOID = {"br", "input", "link", "meta"}
SAMPLES = {
    "ok": samples.job(),
    "degraded": samples.job(slow_nodes=[1]),
    "broken": samples.broken(),
    "inconclusive": samples.single_node(),
    "empty": samples.empty(),
    "bare-rank": samples.bare_rank(),
    "hostile": samples.hostile(),
}


class Reader(HTMLParser):
    """Reads a page, and fails where an element is not closed or closed twice."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: Counter[str] = Counter()
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids[value or ""] += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def values(self, name: str) -> list[str]:
        return [value for _, found, value in self.attributes if found == name]


def page(report: LogReport) -> str:
    return log_html(report, TITLE)


def island(text: str) -> dict[str, list[object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found
    data: dict[str, list[object]] = json.loads(found[1])
    return data


@pytest.mark.parametrize("report", SAMPLES.values(), ids=SAMPLES)
def test_every_element_is_closed_and_every_id_is_one(report: LogReport) -> None:
    reader = Reader(page(report))
    assert set(reader.ids.values()) == {1}
    assert reader.tags["main"] == reader.tags["header"] == reader.tags["h1"] == 1
    assert set(reader.values("aria-labelledby")) <= set(reader.ids)


@pytest.mark.parametrize("report", SAMPLES.values(), ids=SAMPLES)
def test_the_page_loads_nothing(report: LogReport) -> None:
    text = page(report)
    reader = Reader(text)
    links = [
        value
        for _, name, value in reader.attributes
        if name in ("href", "src", "srcset", "action", "data", "poster", "xlink:href")
    ]
    sources = [each.source for each in report.findings if each.source]
    for link in links:
        assert link.startswith("#") or link == "data:," or link in sources
    assert reader.tags.keys().isdisjoint({"img", "iframe", "object", "embed", "base"})
    assert "@import" not in text
    assert all(url.startswith("#") for url in re.findall(r"url\(([^)]*)\)", text))
    assert "default-src 'none'" in reader.values("content")[3]


def test_a_policy_admits_only_the_script_and_style_of_the_template() -> None:
    found = re.findall(r"'sha256-[A-Za-z0-9+/]{43}='", page(samples.job()))
    assert len(set(found)) == 2
    assert found == re.findall(r"'sha256-[A-Za-z0-9+/]{43}='", page(samples.hostile()))
    assert " style=" not in page(samples.job())  # the policy forbids it


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"hostile"}))
def test_nothing_of_the_template_is_left(name: str) -> None:
    assert not re.search(r"\{[{%#]", page(SAMPLES[name]))


def test_a_log_that_speaks_the_language_of_templates_is_text() -> None:
    said = "{{ 7 * 6 }}{% for each in report %}x{% endfor %}{# y #}"
    assert page(samples.job()._replace(summary=said)).count(said) == 1


def test_the_page_is_the_same_each_time() -> None:
    assert page(samples.job(slow_nodes=[0])) == page(samples.job(slow_nodes=[0]))


def test_the_headline_is_the_verdict() -> None:
    report = samples.job(slow_nodes=[1])
    text = page(report)
    assert f"<h1>{report.summary}</h1>" in text
    assert '<header class="degraded">' in text
    assert f"<title>degraded: {TITLE} (envcfg check-log)</title>" in text


def test_several_jobs_stand_in_a_table_the_worst_first() -> None:
    rows = (
        JobRow("job 1", "ok", "ok: all is <well>"),
        JobRow("job 2", "broken", "broken: b"),
    )
    text = page(samples.broken()._replace(jobs=rows))
    assert '<h2 id="jobs-title">2 jobs</h2>' in text
    found = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td></tr>", text)
    assert found == [("job 2", "broken", "b"), ("job 1", "ok", "all is &lt;well&gt;")]
    assert "jobs-title" not in page(samples.job())


def test_a_title_of_many_files_is_cut() -> None:
    text = log_html(samples.job(), " ".join(f"rank-{each}.out" for each in range(999)))
    title = Reader(text).text.partition(" (envcfg check-log)")[0].strip()
    assert len(title) < 200
    assert title.endswith("\u2026")


def test_the_facts_of_the_job_are_there() -> None:
    text = Reader(page(samples.job(slow_nodes=[1]))).text
    for fact in (
        "16, all in the log",
        "2: nid001001, nid001002",
        "mixed: AWS Libfabric (8 ranks), Socket (8 ranks)",
        "aws-ofi-rccl 1.4.0, loaded by some processes only",
        "on some channels between nodes only",
        "hsn0, hsn1",
        "rccl 2.22.3, hip 6.4.43482, rocm 6.4.0",
        "1 file, 4.7 MB, 3520 lines of NCCL, 1 warning that no rule knows",
    ):
        assert fact in text


def test_what_is_not_known_is_said_so() -> None:
    text = Reader(page(samples.single_node())).text
    assert text.count("not known") == 5
    assert "4 of 8 in the log; missing: 4-7" in text
    assert "To find out: run the job on two nodes" in text


def test_versions_that_differ_stand_out() -> None:
    base = samples.job()
    versions = {"nccl": ("2.20.5", "2.22.3")}
    text = page(base._replace(job=base.job._replace(versions=versions)))
    assert '<span class="odd">nccl 2.20.5 and 2.22.3 (ranks differ)</span>' in text


@pytest.mark.parametrize(
    ("node_count", "nodes", "shown"),
    [
        (None, (), "not known"),
        (None, ("a", "b"), "a, b"),
        (4, (), "4, none named"),
        (4, ("a", "b"), "4, of which 2 are in the log: a, b"),
        (2, ("a", "b"), "2: a, b"),
        (9, tuple("abcdefghi"), "9: a, b, c, d, \u2026, i"),
    ],
)
def test_nodes_are_counted_and_named(
    node_count: int | None, nodes: tuple[str, ...], shown: str
) -> None:
    base = samples.empty()
    job = base.job._replace(node_count=node_count, nodes=nodes)
    assert f"<dt>Nodes</dt><dd>{shown}<" in re.sub(
        "</?span[^>]*>", "", page(base._replace(job=job))
    )


def test_the_ranks_stand_by_node_with_a_sign_for_each_verdict() -> None:
    text = page(samples.broken())
    assert text.count('<li><span class="host"') == 2
    assert 'title="rank 2 (nid001001, GPU 2) is broken: init did not complete"' in text
    assert re.search(r'<li class="wide"><span class="host"[^>]*>node not named', text)
    for verdict in ("ok", "degraded", "broken", "inconclusive"):
        assert f'<a class="{verdict}" href="#r' in text
        assert f".cells .{verdict}::before {{ content:" in TEMPLATE


def test_missing_ranks_have_cells_that_lead_nowhere() -> None:
    text = page(samples.single_node())
    assert '<b class="missing" title="rank 7: not in the log">7</b>' in text
    assert "4 not in the log" in text
    assert "<p>Not in the log: 4 ranks, 4-7.</p>" in text


def test_a_node_without_a_known_rank_has_a_box() -> None:
    base = samples.empty()
    text = page(base._replace(job=base.job._replace(nodes=("nid001001",))))
    assert "no rank known" in text


@pytest.mark.parametrize(("nodes", "focusable"), [(32, True), (33, False)])
def test_a_keyboard_steps_through_the_cells_of_small_jobs(
    nodes: int, *, focusable: bool
) -> None:
    assert ('tabindex="-1">0</a>' not in page(samples.job(nodes, 8))) is focusable


def test_a_finding_says_what_to_do_and_where_it_was_seen() -> None:
    report = samples.job(slow_nodes=[1])
    text = page(report)
    finding = report.findings[0]
    assert finding.why
    assert finding.fix
    assert finding.evidence
    for part in (finding.message, finding.why, finding.fix, finding.evidence.text):
        assert part in text
    assert f'<a href="{finding.source}" rel="noreferrer">{finding.source}</a>' in text
    assert "slurm-7412233.out:1184" in text
    assert '<span class="times">8\u00d7</span>' in text


def test_consequences_are_folded_below_the_causes() -> None:
    text = page(samples.job(slow_nodes=[1]))
    folded = text.index("<details><summary>2 findings that follow from these</summary>")
    assert text.index("plugin-open-failed") < folded < text.index("net-socket-fallback")


@pytest.mark.parametrize(
    "source",
    [
        "NCCL 2.22 src/net.cc",
        "javascript:alert(1)",
        "https://a b",
        'https://x"onclick="alert(1)',
        "see https://docs.example.org",
    ],
)
def test_a_source_that_is_no_address_is_no_link(source: str) -> None:
    finding = Finding("a", "note", "b", "c", source=source)
    text = page(samples.empty()._replace(findings=(finding,)))
    assert "<a " not in text


def test_the_table_has_a_row_for_each_rank() -> None:
    text = page(samples.job(slow_nodes=[1]))
    rows = re.findall(r'<tr id="r(\d+)" class="(\w+)">(.*?)</tr>', text)
    assert [int(row[0]) for row in rows] == list(range(16))
    assert [row[1] for row in rows] == ["ok"] * 8 + ["degraded"] * 8
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", rows[0][2])
    head = re.findall(r'<th scope="col">(.*?)</th>', text)
    assert head[:4] == ["Rank", "Verdict", "Node", "GPU"]
    assert len(cells) == len(head)
    assert dict(zip(head, cells, strict=True))["Provider"] == "cxi"


def test_a_rank_of_which_nothing_is_known_has_an_empty_row() -> None:
    row = re.search(r'<tr id="r0".*?</tr>', page(samples.bare_rank()))
    assert row
    assert row[0].count("<td></td>") == 10


def cells_of(text: str) -> Counter[str]:
    """Kinds of the cells of the matrix."""
    matrix = text.partition('<table id="matrix"')[2].partition("</table>")[0]
    return Counter(re.findall(r'<td[^>]* class="m-(\w+)"', matrix))


def test_the_matrix_shows_how_each_rank_sends() -> None:
    text = page(samples.job(3, 4, slow_nodes=[2]))
    assert cells_of(text) == {"local": 24, "rdma": 8, "socket": 16}
    title = "rank 0 \u2192 rank 4: NET/AWS Libfabric, GPU RDMA"
    assert f'title="{title}"' in text
    assert "network, with GPU RDMA: 8 connections" in text


def test_equal_cells_side_by_side_are_one() -> None:
    sends = tuple(Transport(0, each, "NET/IB", False) for each in (8, 9, 10, 12))
    text = page(samples.job()._replace(transports=sends))
    assert cells_of(text) == {"plain": 2}
    assert "rank 0 \u2192 rank 8 to rank 10: NET/IB, no GPU RDMA" in text


def test_the_worst_of_several_ways_gives_the_colour() -> None:
    sends = (
        Transport(0, 8, "NET/AWS Libfabric", True),
        Transport(0, 8, "NET/AWS Libfabric", False),
    )
    text = page(samples.job()._replace(transports=sends))
    assert cells_of(text) == {"plain": 1}
    assert (
        "1 \u00d7 NET/AWS Libfabric, no GPU RDMA; 1 \u00d7 NET/AWS Libfabric, GPU RDMA"
        in text
    )


def test_a_kind_that_is_not_known_is_shown_as_such() -> None:
    sends = (Transport(0, 8, "COLLNET", None), Transport(8, 0, "NET/IB", None))
    text = page(samples.job()._replace(transports=sends))
    assert cells_of(text) == {"other": 2}


def test_there_is_no_matrix_without_transports() -> None:
    text = page(samples.job()._replace(transports=()))
    assert '<table id="matrix"' not in text
    assert "send to each other" not in text


def test_silent_ranks_have_no_row_in_the_matrix() -> None:
    report = samples.single_node()
    numbers = (
        r'<tr[^>]*>(?:<th rowspan="\d+">[^<]*</th>)?<th class="number">(\d+)</th><td'
    )
    assert re.findall(numbers, page(report)) == ["0", "1", "2", "3"]
    sends = (Transport(0, 6, "NET/IB", True),)
    found = re.findall(numbers, page(report._replace(transports=sends)))
    assert found == ["0", "1", "2", "3", "6"]


@pytest.mark.parametrize(
    ("nodes", "names", "cut"),
    [(16, "rank 0", False), (17, "nid001001", False), (129, "nid001001", True)],
)
def test_a_large_matrix_is_one_of_nodes(nodes: int, names: str, *, cut: bool) -> None:
    text = page(samples.job(nodes, 8))
    assert f'title="{names} \u2192' in text
    assert (f"the first 128 of {nodes} nodes" in text) is cut
    assert ("nid001129 \u2192" in text) is False


def test_the_details_of_a_rank_come_from_the_data() -> None:
    data = island(page(samples.job(2, 2)))
    assert data["kinds"] == ["P2P/IPC", "NET/AWS Libfabric, GPU RDMA"]
    assert [0, 2, 1] in data["transports"]


def test_data_beyond_reason_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LISTED", 3)
    assert island(page(samples.job(2, 2))) == {"kinds": [], "transports": []}


def test_hostile_text_stays_text() -> None:
    text = log_html(samples.hostile(), samples.HOSTILE)
    reader = Reader(text)
    assert reader.tags["script"] == 2
    assert text.count("</script>") == 2
    assert "<script>alert" not in text
    assert "{{title}}" in reader.text  # what was filled in is not filled again
    assert r"\x1b[31m\x00\xff\ud800\u202e\ufffe" in reader.text
    text.encode("utf-8")
    assert island(text)["kinds"] == [
        f"NET/{samples.HOSTILE}, no GPU RDMA",
        samples.HOSTILE,
    ]


@given(st.text())
def test_any_text_gives_a_page_that_holds_together(hostile: str) -> None:
    text = log_html(samples.hostile(hostile), hostile)
    text.encode("utf-8")
    assert Reader(text).tags["script"] == 2


def test_thousands_of_ranks_are_a_page_of_less_than_three_megabytes() -> None:
    text = page(samples.job(512, 8, slow_nodes=[17]))
    assert len(text.encode()) < 3_000_000
    assert Reader(text).tags["tr"] == 17 + 129  # two nodes stand for all


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
        for each in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back"),
    [
        *((front, back) for front in ("text", "muted", "link", "odd") for back in ("page", "panel")),
        *((f"{name}-text", name) for name in ("ok", "degraded", "broken", "inconclusive")),
    ],
)  # fmt: skip
def test_text_has_contrast(front: str, back: str, scheme: int) -> None:
    colours = dict(
        re.findall(
            r"--([\w-]+): (#[0-9a-f]{6});", TEMPLATE.split(":root {")[scheme + 1]
        )
    )
    bright, dim = sorted(map(luminance, (colours[front], colours[back])), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= 4.5


def test_of_many_nodes_those_that_look_the_same_are_drawn_once() -> None:
    report = samples.job(nodes=400, slow_nodes=[7])
    page = log_html(report, TITLE)
    assert Reader(page).open == []
    boxes = re.findall(r'<li[^>]*><span class="host" title="([^"]+)"', page)
    assert [each.partition(": ")[2] for each in boxes] == [
        "8 ranks and 398 nodes like it",
        "8 ranks",
    ]
    rows = re.findall(r'<tr id="r(\d+)"', page)
    assert [int(each) for each in rows] == [*range(8), *range(56, 64)]
    assert f"Left out: {400 * 8 - 16:,} ranks" in page
    assert f"{399 * 8:,} ok" in page
    assert len(page) < 1_000_000
