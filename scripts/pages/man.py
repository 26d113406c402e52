"""A manual page for each command, made of its parser."""

from __future__ import annotations

import argparse
import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from argparse_manpage.manpage import Manpage

from envcfg import __version__
from envcfg.cli import build_parser
from envcfg.commands import ALIASES
from envcfg.commands.arguments.parser import Parser
from envcfg.common.characters import text_width

FOLDER = Path(__file__).parents[2] / "man"  # not in the repository
_TITLES = {"examples": "EXAMPLES", "exit codes": "EXIT STATUS"}
_WIDTH = 88  # of usage lines; no page depends on the terminal


def man_pages() -> Mapping[str, str]:
    """Return the pages as roff, by the names of their files."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(_WIDTH)
    text_width.cache_clear()
    try:
        root = build_parser()
        purpose = "correct multi-node jobs in containers, and what their logs prove"
        return dict(_pages(root, purpose))
    finally:
        text_width.cache_clear()
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def write_pages(folder: Path) -> None:
    """Write all pages into *folder*, and delete those of former commands."""
    pages = man_pages()
    for path in folder.glob("*.1"):
        if path.name not in pages:
            path.unlink()
    for name, page in pages.items():
        (folder / name).write_text(page, encoding="utf-8")


def _pages(parser: argparse.ArgumentParser, purpose: str) -> Iterator[tuple[str, str]]:
    """Yield the page of *parser*, and those of its commands."""
    if not isinstance(parser, Parser):
        raise TypeError(parser)
    name = parser.prog.replace(" ", "-")
    commands = [
        each
        for each in parser._actions  # noqa: SLF001  # argparse has no other way
        if isinstance(each, argparse._SubParsersAction)  # noqa: SLF001
    ]
    purposes = {
        known.dest: str(known.help)
        for each in commands
        for known in each._get_subactions()  # noqa: SLF001
        if known.dest not in ALIASES
    }
    for group in parser._action_groups:  # noqa: SLF001  # they have pages of their own
        group._group_actions = [  # noqa: SLF001
            each
            for each in group._group_actions  # noqa: SLF001
            if each not in commands
        ]
    yield f"{name}.1", _page(parser, name, purpose, purposes)
    for each in commands:
        for command, sub in each.choices.items():
            if command not in ALIASES:
                yield from _pages(sub, purposes[command])


def _page(parser: Parser, name: str, purpose: str, commands: Mapping[str, str]) -> str:
    sections = list(_sections(parser.epilog or ""))
    parser.epilog = None
    usage = parser.format_usage().partition(":")[2]
    page = Manpage(
        parser,
        _data={
            "project_name": "envcfg",
            "version": __version__,
            "manual_title": "envcfg",
            "description": purpose,
        },
    )
    page.prog = name
    page.add_section("synopsis", "=", "\n.br\n".join(_usages(usage, parser.prog)))
    if commands:
        page.add_section("commands", "=", "\n".join(_commands(parser, commands)))
    if parser.roles:
        page.add_section("environment", "=", "\n".join(_variables()))
    for title, text in sections:
        page.add_section(title, ">", f"{_verbatim(text)}\n")
    others = [f"{name}-{each}" for each in commands] or ["envcfg"]
    see = ", ".join(f"\\fB{_escaped(each)}\\fR(1)" for each in others)
    page.add_section("see also", "=", see)
    text = re.sub(r"(?<=\d)\\-(?=\d\d)", "-", str(page), count=2)  # the date
    return "".join(f"{line}\n" for line in _folded(text) if line.strip())


def _folded(page: str) -> Iterator[str]:
    """Yield the lines of a page; text, which roff fills anyway, in short ones."""
    is_text = True
    for line in page.splitlines():
        is_text = line == ".fi" or (is_text and line != ".nf")
        if line.startswith(".") or not is_text:
            yield line.rstrip()
        else:
            yield from map(_guarded, textwrap.wrap(line, 78, break_on_hyphens=False))


def _usages(usage: str, prog: str) -> Iterator[str]:
    """Yield each form of the command: its name bold, what follows as it is."""
    words = " ".join(usage.split())
    for form in re.split(rf"(?<=\S) (?={re.escape(prog)} )", words):
        rest = form.removeprefix(prog).strip()
        yield f"\\fB{_escaped(prog)}\\fR {_escaped(rest)}".rstrip()


def _commands(parser: Parser, commands: Mapping[str, str]) -> Iterator[str]:
    roles = parser.roles or {"": list(commands)}
    for role, names in roles.items():
        if role:
            yield f".SS {role.capitalize()}"
        for name in names:
            yield f".TP\n\\fB{_escaped(f'{parser.prog} {name}')}\\fR"
            yield _escaped(commands[name])


def _variables() -> Iterator[str]:
    """Yield what the page of the command line says of the environment."""
    text = (Path(__file__).parents[2] / "docs/command-line.md").read_text("utf-8")
    for names, what in re.findall(
        r"^\| (`[A-Z_`, ]+`) \| (.*) \|$", text, re.MULTILINE
    ):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", what).replace("`", "")
        yield f".TP\n\\fB{_escaped(names.replace('`', ''))}\\fR"
        yield _escaped(plain)


def _sections(epilog: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of what stands below the options, by title."""
    title, lines = "NOTES", []
    for line in epilog.splitlines():
        head, _, rest = line.partition(":")
        if head in _TITLES or (line[:1].strip() and title == "EXAMPLES"):
            yield from _section(title, lines)
            title, lines = _TITLES.get(head, "NOTES"), []
            lines.append(rest.strip() if head in _TITLES else line)
        else:
            lines.append(line)
    yield from _section(title, lines)


def _section(title: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    if title == "EXIT STATUS":  # stood behind its title
        lines = [line.strip() for line in lines]
    if text := "\n".join(lines).strip("\n"):
        yield title, text


def _verbatim(text: str) -> str:
    return f".nf\n{_escaped(text)}\n.fi"


def _escaped(text: str) -> str:
    """Return *text* so that roff prints it as it stands."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(map(_guarded, plain.split("\n")))


def _guarded(line: str) -> str:
    """Return a line of text that roff does not take for a request."""
    return f"\\&{line}" if line[:1] in {".", "'"} else line


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_pages(FOLDER)
