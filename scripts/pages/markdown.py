"""Pieces of Markdown: tables, links, text in which nothing is markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LINK = re.compile(r"https://[^\s();]+")
_MARKUP = re.compile(r"([|<>*\[\]`])")


def table(titles: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def with_table(page: str, titles: list[str], rows: Iterable[list[str]]) -> str:
    """Return a page with the table of these titles made anew.

    Raises:
        ValueError: the page has no such table.
    """
    head = next(table(titles, []))
    before, found, behind = page.partition(f"{head}\n")
    if not found:
        msg = f"no such table: {head}"
        raise ValueError(msg)
    lines = behind.splitlines(keepends=True)
    rest = next((n for n, line in enumerate(lines) if line[:1] != "|"), len(lines))
    made = "".join(f"{line}\n" for line in table(titles, rows))
    return before + made + "".join(lines[rest:])


def linked(source: str) -> str:
    """Return a source with its addresses as short links."""
    found, at = "", 0
    for match in _LINK.finditer(source):
        host, _, path = match[0].removeprefix("https://").partition("/")
        label = "/".join(path.split("/")[:2]) if host == "github.com" else host
        found += f"{text(source[at : match.start()])}[{text(label)}]({match[0]})"
        at = match.end()
    return found + text(source[at:])


def cited(source: str, date: str) -> str:
    """Return a short link for each address of a source; the source is its title.

    A browser shows the title where the mouse is, so that sentences stay readable.
    """
    addresses = [match[0] for match in _LINK.finditer(source)]
    words = " ".join(_LINK.sub("", f"{source}, {date}").split()).strip(" ,;")
    title = text(words).replace('"', "'")
    links = [f'[source]({address} "{title}")' for address in addresses]
    return ", ".join(links) or title


def text(words: str) -> str:
    """Return words so that nothing in them is markup."""
    return _MARKUP.sub(r"\\\1", words)


def code(words: str) -> str:
    """Return words as code, in a table too."""
    return f"`{words}`".replace("|", r"\|")


def brief(words: str) -> str:
    """Return the first sentence of *words*."""
    return text(re.split(r"(?<=[.;:]) ", " ".join(words.split()))[0])


def slug(title: str) -> str:
    """Return the anchor that the site gives to a title."""
    from markdown.extensions.toc import slugify

    return slugify(title, "-")
