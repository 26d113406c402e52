"""MkDocs' hook: adds what is made from data, and leads links where the site has them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from scripts.pages.commands import command_pages
from scripts.pages.site import relinked, site_pages

# Pages for questions come before records, and tables of records are not searched at all:
# they hold most words of the field. The first beginning of a path decides.
_BOOSTS = {
    "my-job/": 2.5,
    "reference/variables/": 0.2,
    "systems/": 0.4,
    "reference/rules/": 1,
    "reference/commands/": 0.4,
    "lint/": 0.7,
    "explanation/": 0.5,
    "agents.md": 0.3,  # a digest of the others
    "api.md": 0.5,
    "measured.md": 0.3,
    "material.md": 0.3,
    "architecture.md": 0.3,
    "wrap-modules.md": 0.5,
}
_UNSEARCHED = (
    "reference/variables/index.md",
    "reference/variables/internal.md",
    "reference/rules/index.md",
    "lint/index.md",
    "project/changelog.md",
)
# A browser breaks a line behind each hyphen. A long path may be broken.
_HYPHENATED = r"(?<![^\s&;(\[|,'])[\w.=-]*-[\w.=-]{1,40}(?![\w/-])"
_LISTS = ("systems/index.md", "lint/index.md", "reference/rules/index.md")


# lunr joins labels and numbers of nodes without a separator, and so confuses nodes behind
# digits: words get lost, and "miopen*" ended the search (olivernn/lunr.js#503, 2026-11-25).
_CONFUSED, _DISTINCT = "e=e+s+o.id", 'e=e+s+o.id+","'


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of systems and rules in the navigation, which gives them a sidebar.

    The address in the variable REPOSITORY becomes a link on each page.
    """
    if address := os.environ.get("REPOSITORY"):
        config.repo_url, config.repo_name = address, "source"
    docs = Path(config.docs_dir)
    pages = {
        *site_pages(),
        *(str(each.relative_to(docs)) for each in docs.glob("*/*.md")),
    }
    [reference] = [
        part["Reference"] for part in config.nav or () if "Reference" in part
    ]
    for entry in reference:
        for title, index in entry.items() if isinstance(entry, dict) else ():
            if index in _LISTS:
                folder = index.removesuffix("index.md")
                beside = sorted(each for each in pages if each.startswith(folder))
                entry[title] = [index, *(each for each in beside if each != index)]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that no file of docs/ holds."""
    for path, page in {**site_pages(), **command_pages()}.items():
        files.append(File.generated(config, path, content=page))
    return files


def on_page_markdown(
    markdown: str,
    *,
    page: Page,
    config: MkDocsConfig,  # noqa: ARG001  # MkDocs names them
    files: Files,  # noqa: ARG001
) -> str:
    """Return a page of docs/ with links to the project's own files as pages."""
    path = page.file.src_uri
    boosts = [boost for start, boost in _BOOSTS.items() if path.startswith(start)]
    page.meta["search"] = {
        "boost": boosts[0] if boosts else 1,
        "exclude": path in _UNSEARCHED,
    }
    own = page.file.generated_by is None
    return relinked(markdown, f"docs/{path}", path) if own else markdown


def on_page_content(html: str, **_: object) -> str:
    """Return the content of a page in which no option and no short name is broken."""
    return re.sub(r"(?s)<code[^>]*>.*?</code>", _keep_words, html)


def _keep_words(code: re.Match[str]) -> str:
    # Tags are left alone: only the texts between them have words.
    parts = re.split(r"(<[^>]*>)", code[0])
    parts[::2] = [
        re.sub(_HYPHENATED, r'<span class="word">\g<0></span>', part)
        for part in parts[::2]
    ]
    return "".join(parts)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Correct the search worker of the site.

    Raises:
        ValueError: the worker has another text, because Material has another version.
    """
    [worker] = Path(config.site_dir).glob("assets/javascripts/workers/search.*.min.js")
    code = worker.read_text(encoding="utf-8")
    if code.count(_CONFUSED) != 1:
        msg = (
            f"{worker}: {_CONFUSED!r} is not there once: see whether lunr is corrected"
        )
        raise ValueError(msg)
    worker.write_text(code.replace(_CONFUSED, _DISTINCT), encoding="utf-8")
