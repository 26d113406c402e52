"""MkDocs' hook: adds what is made from data, and leads links where the site has them."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from scripts.pages.commands import command_pages
from scripts.pages.pictures import pictures
from scripts.pages.site import relinked, site_pages

# Of 1600 entries some hold any two words: a search shows the pages first that explain.
_ENTRIES = ("reference/", "lint/")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that no file of docs/ holds."""
    for path, page in {**site_pages(), **command_pages(), **pictures()}.items():
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
    is_entry = path.startswith(_ENTRIES) and not path.endswith("index.md")
    if is_entry or path == "agents.md":  # a digest of the others
        page.meta["search"] = {"boost": 0.3}
    own = page.file.generated_by is None
    return relinked(markdown, f"docs/{path}", path) if own else markdown
