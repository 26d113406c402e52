"""A page for each command with examples that were run, and what programs and agents need.

Made of the parsers and their texts, of the schemas, and of what envcfg prints.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from envcfg.commands import ROLES, texts
from envcfg.commands.profiles import ACTIONS
from scripts.pages.markdown import code, table, text

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_MOST = 60  # lines of an output that a page shows
# Beside the examples of the repository, a profile to look at.
_STARTER = "profiles new my-cluster --blank --extends efa --output my-cluster.yaml"


def command_pages() -> Mapping[str, str]:
    """Return the page of each command, their list and ``llms.txt``, by path."""
    examples: dict[str, list[str]] = {}
    for line in yaml.safe_load((ROOT / "scripts/pages/commands.yaml").read_text()):
        first, second = line.split()[:2] if " " in line else (line, "")
        name = f"profiles.{second}" if first == "profiles" else first
        examples.setdefault(name, []).append(line)
    pages = {"llms.txt": llms_text()}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
        _run(_STARTER, Path(folder))
        for name in _names():
            page = _page(name, examples.pop(name, ()), Path(folder))
            pages[f"reference/commands/{_stem(name)}.md"] = "\n".join(page)
    if examples:
        msg = f"examples of what is no command: {examples}"
        raise ValueError(msg)
    rows = (
        [f"[{typed}]({_stem(name)}.md)", *rest]
        for name, (typed, *rest) in zip(_names(), command_rows(), strict=True)
    )
    listed = ["# Commands and their options", "", *table(TITLES.split("|"), rows), ""]
    pages["reference/commands/index.md"] = "\n".join(listed)
    return pages


TITLES = "command|when|what it does"


def command_rows(*, actions: bool = True) -> Iterator[list[str]]:
    """Yield a row for each command, and with *actions* for each action of ``profiles``."""
    roles = {name: role for role, names in ROLES.items() for name in names}
    for name in _names():
        if "." in name and not actions:
            continue
        typed = code(f"envcfg {name.replace('.', ' ')}")
        yield [typed, roles[name.partition(".")[0]], text(texts()[name]["help"])]


def code_rows() -> Iterator[list[str]]:
    """Yield the exit codes, as the page of the command line has them."""
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    rows = page.partition("| code | meaning |\n|---|---|\n")[2].partition("\n\n")[0]
    yield from (
        [each.strip() for each in row.split("|")[1:3]] for row in rows.split("\n")
    )


def schema_rows() -> Iterator[list[str]]:
    """Yield what prints JSON, and its schema."""
    for path in sorted(DOCS.glob("*.schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        link = f"[{path.name.partition('.')[0]}]({path.name})"
        by = schema["title"] if "--" in schema["title"] else "--format json"
        yield [code(by), link, text(schema["description"])]


def llms_text() -> str:
    """Return the pages of the site for language models, as llmstxt.org has them."""
    about = (DOCS / "agents.md").read_text(encoding="utf-8").split("\n\n")[1]
    lines = ["# envcfg", "", f"> {' '.join(about.split())}", ""]
    lines += ["Begin with [For programs and agents](agents.html).", ""]
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    for section in nav:
        ((title, entry),) = section.items()
        lines += [f"## {title}", "", *_links(entry, title), ""]
    return "\n".join(lines)


def _links(entry: Any, title: str) -> Iterator[str]:  # noqa: ANN401  # of YAML
    if isinstance(entry, list):
        for each in entry:
            pairs = [(title, each)] if isinstance(each, str) else each.items()
            for name, below in pairs:
                yield from _links(below, name)
    else:
        yield f"- [{title}]({entry.removesuffix('.md')}.html)"


def _names() -> list[str]:
    """Return the names of all commands; of an action, with ``profiles.`` before it."""
    names = [name for each in ROLES.values() for name in each]
    at = names.index("profiles") + 1
    return [*names[:at], *(f"profiles.{each}" for each in ACTIONS), *names[at:]]


def _stem(name: str) -> str:
    return name.replace(".", "-")


def _page(name: str, examples: Sequence[str], folder: Path) -> Iterator[str]:
    words = name.replace(".", " ")
    about = text(" ".join(texts()[name]["description"].split()))
    yield from (f"# envcfg {words}", "", about, "")
    if examples:
        yield from ("## Run while this page was made", "")
    for line in examples:
        shown = _run(line, folder)
        left = len(shown) - _MOST
        more = [f"... {left} more lines"] if left > 0 else []
        yield from ("```console", f"$ envcfg {line}", *shown[:_MOST], *more, "```", "")
    whole = _run(f"{words} --help-all", folder)
    yield from ("## Options and more examples", "", "```text", *whole, "```", "")


def _run(line: str, folder: Path) -> list[str]:
    """Return what a command line prints, stderr first."""
    done = subprocess.run(
        [sys.executable, "-m", "envcfg", *shlex.split(line)],
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "88",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode not in {0, 1, 3}:
        msg = f"envcfg {line} ended with {done.returncode}: {done.stderr}"
        raise RuntimeError(msg)
    said = f"{done.stderr}{done.stdout}".replace(f"{folder}/", "")
    said = re.sub(r"\x1b\[[0-9;]*m", "", said)
    return said.replace(f"{ROOT}{os.sep}", "").splitlines()
