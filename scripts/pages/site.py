"""What the site has beside docs/: the first page, the project's own, a page per entry.

All of it is made when the site is built, from the README and from the data that the
commands use, so that nothing of it can be stale.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from envcfg.hang.rules import hang_rules
from envcfg.knowledge.variables import load_variables
from envcfg.log.rulebook import Rule, load_rules, stack_rules
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from envcfg.report.explanation import effect
from scripts.pages.lint_rules import rule_pages
from scripts.pages.markdown import code, linked, table, text
from scripts.pages.variables import variable_pages

ROOT = Path(__file__).parents[2]
# Files of the project that are pages of the site, and what they are called there.
_OWN = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)#\s]+)(#[^)\s]*)?\)")


def site_pages() -> Mapping[str, str]:
    """Return each page by its path in the site, as Markdown."""
    catalog = Catalog([built_in_folder()])
    rules = {rule.id: rule for rule in (*load_rules(), *stack_rules())} | hang_rules()
    variables = load_variables()
    pages = {
        page: relinked((ROOT / name).read_text(encoding="utf-8"), name, page)
        for name, page in _OWN.items()
    }
    pages |= {f"reference/rules/{name}.md": _rule(each) for name, each in rules.items()}
    pages |= variable_pages(variables, rules, catalog)
    pages["reference/rules/index.md"] = _index(
        "Rules of check-log",
        "What a line of a log means; `envcfg explain RULE` says the same.",
        ["rule", "what it is worth", "meaning"],
        (
            [f"[{code(each.id)}]({each.id}.md)", effect(each), _brief(each.meaning)]
            for each in sorted(rules.values())
        ),
    )
    pages["reference/variables/index.md"] = _index(
        "Variables",
        "What NCCL, RCCL, libfabric, MIOpen, PyTorch and others read; "
        "`envcfg explain NAME` says the same.",
        ["variable", "meaning"],
        (
            [f"[{code(each.name)}]({each.name}.md)", _brief(each.meaning)]
            for each in sorted(variables.values())
        ),
    )
    pages["reference/index.md"] = _overview(
        len(catalog.names()), len(rules), len(variables), len(rule_pages())
    )
    return pages


def relinked(body: str, source: str, page: str) -> str:
    """Return the text of a file of the project with links as the site has them.

    Args:
        body: Markdown.
        source: path of the file in the project.
        page: path of its page in the site.

    A link to what is no page of the site leaves its words.
    """

    def kept(match: re.Match[str]) -> str:
        mark, words, path, anchor = match.groups("")
        meant = os.path.normpath(os.path.join(os.path.dirname(source), path))
        if meant in _OWN:
            there = _OWN[meant]
        elif meant.startswith("docs/"):  # which the build checks
            there = meant.removeprefix("docs/")
        else:
            return words
        return (
            f"{mark}[{words}]({os.path.relpath(there, os.path.dirname(page))}{anchor})"
        )

    return _LINK.sub(kept, body)


def _index(title: str, said: str, titles: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join([f"# {title}", "", said, "", *table(titles, rows), ""])


def _overview(profiles: int, rules: int, variables: int, lint: int) -> str:
    return f"""\
# Reference

Made from the data that the commands use.

- [{profiles} profiles](../systems/index.md): what each system needs, why, and who says so.
- [{rules} rules of check-log](rules/index.md): what a line of a log means, and what to do.
- [{lint} rules of lint](../lint.md#rules): faults of scripts, with scripts that show them.
- [{variables} variables](variables/index.md): what reads them, what they take, since when.
- [The commands](commands/index.md), each with its options and with examples that were run.
- [For programs and agents](../agents.md): which command when, exit codes, JSON.
"""


def _rule(rule: Rule) -> str:
    return "\n".join(_rule_lines(rule)) + "\n"


def _rule_lines(rule: Rule) -> Iterator[str]:
    yield f"# {rule.id}"
    yield ""
    yield f"Worth: {effect(rule)}. [All rules](index.md)."
    versions = ", ".join(f"{name} {range_}" for name, range_ in rule.versions.items())
    for title, said in (
        ("Meaning", text(rule.meaning)),
        ("What to do", text(rule.fix or "")),
        ("Versions", text(versions)),
        ("Who says so", linked(rule.source)),
    ):
        if said:
            yield from ("", f"**{title}:** {said}")
    if rule.samples:
        yield from ("", "## As in", "", "```text")
        yield from (sample.strip("\n") for sample in rule.samples)
        yield "```"


def _brief(words: str) -> str:
    """Return the first sentence of *words*."""
    return text(re.split(r"(?<=[.;:]) ", " ".join(words.split()))[0])
