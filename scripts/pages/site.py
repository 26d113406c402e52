"""What the site has beside docs/: the first page, the project's own, a page per entry.

All of it is made when the site is built, from the README and from the data that the
commands use, so that nothing of it can be stale.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from envcfg.knowledge.variables import load_variables
from envcfg.log.read.rulebook import LogRule, load_rules, stack_rules
from envcfg.nodes.hang.hang_rules import hang_rules
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from scripts.pages.lint_rules import rule_pages, rule_rows
from scripts.pages.log_rules import log_rule_pages, rule_links, rules_by_topic
from scripts.pages.markdown import table
from scripts.pages.variables import variable_pages

ROOT = Path(__file__).parents[2]
# Files of the project that are pages of the site, and what they are called there.
_OWN = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
# Pages of rules exist only in the site. In a checkout the command shows the same.
_RULE = re.compile(r"(?<!\[)`envcfg explain (?P<id>[\w.-]+)`(?!\])")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)#\s]+)(#[^)\s]*)?\)")


@cache
def site_pages() -> Mapping[str, str]:
    """Return each page by its path in the site, as Markdown."""
    catalog = Catalog([built_in_folder()])
    rules = _log_rules()
    variables = load_variables()
    pages = {
        page: relinked((ROOT / name).read_text(encoding="utf-8"), name, page)
        for name, page in _OWN.items()
    }
    topics = rules_by_topic(rules)
    pages |= log_rule_pages(rules, topics)
    pages |= variable_pages(variables, rules, rule_links(topics), catalog)
    head = "# Rules of lint\n\nWhat [envcfg lint](../lint.md) finds in a script.\n"
    titles = ["rule", "name", "severity", "group"]
    rows = "\n".join(table(titles, rule_rows("")))
    pages["lint/index.md"] = f"{head}\n{rows}\n"
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

    return _RULE.sub(lambda rule: _rule_link(rule, page), _LINK.sub(kept, body))


def _rule_link(match: re.Match[str], page: str) -> str:
    """Return the command that explains a rule of check-log as a link to its page."""
    place = _rule_places().get(match["id"])
    if place is None:
        return match[0]
    place = os.path.relpath(f"reference/rules/{place}", os.path.dirname(page))
    return f"[{match[0]}]({place})"


@cache
def _rule_places() -> Mapping[str, str]:
    """Return the place of each rule of check-log, below its folder in the site."""
    return rule_links(rules_by_topic(_log_rules()))


def _log_rules() -> dict[str, LogRule]:
    known = {rule.id: rule for rule in (*load_rules(), *stack_rules())}
    return known | hang_rules()


def _overview(profiles: int, rules: int, variables: int, lint: int) -> str:
    return f"""\
# Reference

Made from the data that the commands use.

- [{profiles} profiles](../systems/index.md): settings of systems, with sources.
- [{rules} rules of check-log](rules/index.md): what a line of a log means, and what to do.
- [{lint} rules of lint](../lint/index.md): faults of scripts, with scripts that show them.
- [{variables} variables](variables/index.md): what reads them, what they take, since when.
- [The commands](commands/index.md), each with its options and with examples that were run.
- [For programs and agents](../agents.md): which command when, exit codes, JSON.
"""
