"""The site: built as a user builds it, complete, without dead links and foreign hosts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from envcfg.commands import ROLES, texts
from envcfg.knowledge.variables import UNDOCUMENTED, load_variables
from envcfg.lint.lint_rule import load_rules as load_lint_rules
from envcfg.log.read.rulebook import load_rules
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from scripts.pages.markdown import slug
from scripts.pages.site import relinked
from support import ROOT

# What a page loads by itself; links that a reader follows are none of it.
_LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]* src="(https?:[^"]*)"|@import|url\(http'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    mkdocs = Path(sys.executable).parent / "mkdocs"
    done = subprocess.run(
        [mkdocs, "build", "--strict", "--site-dir", out],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ".", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_each_entry_has_its_page(site: Path) -> None:
    wanted = {
        "systems": Catalog([built_in_folder()]).names(),
        "reference/variables": [
            name
            for name, variable in load_variables().items()
            if variable.meaning != UNDOCUMENTED
        ],
        "lint": list(load_lint_rules()),
    }
    for folder, names in wanted.items():
        there = {path.stem for path in (site / folder).glob("*.html")}
        assert set(names) - there == set(), folder
    topics = "".join(
        path.read_text() for path in (site / "reference/rules").glob("*.html")
    )
    for rule in load_rules():
        assert topics.count(f'id="{slug(rule.id)}"') == 1, rule.id


def test_pages_of_systems_and_rules_have_a_sidebar(site: Path) -> None:
    for name, neighbour in (
        ("systems/lumi-g", "mahti.html"),
        ("lint/EC101", "EC102.html"),
        ("reference/rules/network-plugins", "traffic-over-tcp.html"),
    ):
        page = (site / f"{name}.html").read_text()
        sidebar = page[page.index("md-sidebar--primary") : page.index("<article")]
        assert f'href="{neighbour}"' in sidebar, name


def test_the_site_is_small_enough_to_copy(site: Path) -> None:
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    assert size <= 60_000_000  # each page, also that of a variable, has navigation


def test_a_variable_leads_to_who_sets_it_and_what_names_it(site: Path) -> None:
    page = (site / "reference/variables/NCCL_SOCKET_IFNAME.html").read_text()
    for link in (
        "../../systems/lumi-g.html",
        "../rules/gpu-rdma-and-adapters.html#interface-unexpected",
        "index.html",
    ):
        assert f'href="{link}"' in page, link
    assert "hsn0,hsn1,hsn2,hsn3" in page
    of_profile = (site / "systems/lumi-g.html").read_text()
    assert 'href="slingshot-rocm.html"' in of_profile


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for name in ("index", "wrap", "tutorials/lumi", "reference/rules/traffic-over-tcp"):
        page = (site / f"{name}.html").read_text()
        assert not _LOADED.search(page), name


def test_text_of_data_is_no_markup(site: Path) -> None:
    page = (site / "reference/rules/traffic-over-tcp.html").read_text()
    assert "<script>alert" not in page
    assert page.count("<h1") == 1


@pytest.mark.parametrize(
    ("source", "page", "given", "made"),
    [
        ("README.md", "index.md", "[a](docs/wrap.md#flux)", "[a](wrap.md#flux)"),
        (
            "README.md",
            "index.md",
            "[a](CONTRIBUTING.md)",
            "[a](project/contributing.md)",
        ),
        (
            "docs/how-to/index.md",
            "how-to/index.md",
            "[a](../../SECURITY.md)",
            "[a](../project/security.md)",
        ),
        ("README.md", "index.md", "[a](tests/support.py)", "a"),
        (
            "README.md",
            "index.md",
            "![a](docs/images/check-log.png)",
            "![a](images/check-log.png)",
        ),
        (
            "README.md",
            "index.md",
            "[a](https://example.org/x.md)",
            "[a](https://example.org/x.md)",
        ),
    ],
)
def test_links_lead_where_the_site_has_the_page(
    source: str, page: str, given: str, made: str
) -> None:
    assert relinked(given, source, page) == made


def test_each_command_has_a_page_with_what_its_examples_print(site: Path) -> None:
    folder = site / "reference/commands"
    names = [
        each.replace(".", "-") for each in texts() if each not in ("look", "envcfg")
    ]
    assert {*names, "index"} == {path.stem for path in folder.glob("*.html")}
    page = (folder / "check-log.html").read_text()
    assert "Run while this page was made" in page
    assert "degraded" in page
    assert "--expect-provider" in page
    assert str(ROOT) not in "".join(each.read_text() for each in folder.glob("*.html"))


def test_programs_and_agents_find_commands_codes_and_schemas(site: Path) -> None:
    page = re.sub(r"</?span[^>]*>", "", (site / "agents.html").read_text())
    for schema in (ROOT / "docs").glob("*.schema.json"):
        assert f'href="{schema.name}"' in page
        assert (site / schema.name).exists()
    for name in (name for names in ROLES.values() for name in names):
        assert f"<code>envcfg {name}</code>" in page
    assert "cannot read, write or run something" in page
    listed = (site / "llms.txt").read_text()
    assert listed.startswith("# envcfg\n\n> ")
    links = re.findall(r"\]\(([^)]+)\)", listed)
    assert len(links) > 60
    assert [each for each in links if not (site / each).exists()] == []
