"""The pages about variables: what one does and takes, who sets it, which rules name it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from envcfg.knowledge.variable_record import Variable
from envcfg.knowledge.variables import UNDOCUMENTED
from envcfg.log.read.rulebook import LogRule
from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import condition_text
from envcfg.profile.look.survey import Use, uses_of
from envcfg.profile.profile_model import Profile
from scripts.pages.markdown import brief, code, linked, table, text

_HEAD = """\
What NCCL, RCCL, libfabric, MIOpen, PyTorch and others read.
`envcfg explain NAME` prints the same."""
_INTERNAL = """\
# Internal variables

Their readers name them, and no guide explains them. A misspelt name is none of these.
"""
_NAME = re.compile(r"(?<![A-Z0-9_])[A-Z][A-Z0-9_]+(?![A-Z0-9_])")


def variable_pages(
    variables: Mapping[str, Variable],
    rules: Mapping[str, LogRule],
    rule_links: Mapping[str, str],
    catalog: Catalog,
) -> dict[str, str]:
    """Return the page of each variable by its path in the site, as Markdown."""
    profiles = [catalog.load(name) for name in catalog.names()]
    is_set = {name for each in profiles for name in _set_by(each)}
    named: dict[str, list[str]] = {}
    for rule in rules.values():
        said = "\n".join((rule.meaning, rule.fix or "", rule.needle, *rule.samples))
        for name in set(_NAME.findall(said)):
            named.setdefault(name, []).append(rule.id)
    rows = (
        [f"[{code(name)}]({_page(name, variables)})", brief(each.meaning)]
        for name, each in variables.items()
    )
    lines = ["# Variables", "", _HEAD, "", *table(["variable", "meaning"], rows), ""]
    pages = {"reference/variables/index.md": "\n".join(lines)}
    hidden = (
        [code(each.name), ", ".join(each.read_by), linked(each.source)]
        for each in variables.values()
        if _is_internal(each)
    )
    lines = [_INTERNAL, *table(["variable", "read by", "source"], hidden), ""]
    pages["reference/variables/internal.md"] = "\n".join(lines)
    for name, each in variables.items():
        if _is_internal(each):
            continue
        uses = uses_of(name, catalog, catalog.names())[0] if name in is_set else ()
        lines = [
            *_lines(each, variables),
            *_used(uses),
            *_rules({rule: rule_links[rule] for rule in named.get(name, ())}),
            "",
            "[All variables](index.md).",
        ]
        pages[f"reference/variables/{name}.md"] = "\n".join(lines) + "\n"
    return pages


def _set_by(profile: Profile) -> Iterator[str]:
    yield from profile.env
    for bundle in profile.bundles.values():
        yield from bundle.env if bundle else ()


def _lines(each: Variable, known: Mapping[str, Variable]) -> Iterator[str]:
    yield f"# {each.name}"
    yield ""
    yield text(each.meaning)
    bounds = f" {each.min} to {each.max}" if each.max is not None else ""
    takes = ", ".join(map(code, each.values)) or each.type + bounds
    for title, said in (
        ("Read by", ", ".join(each.read_by)),
        ("Takes", takes if each.is_read else ""),
        ("Default", text(each.default or "")),
        ("Since", each.since or ""),
        ("Deprecated", each.deprecated or ""),
        ("Removed", each.removed or ""),
        ("New name", _names([each.renamed or ""], known)),
        ("Instead", _names([each.instead or ""], known)),
        ("Related", _names(each.related, known)),
        ("Source", f"{linked(each.source)}, {each.date}"),
    ):
        if said:
            yield from ("", f"**{title}:** {said}")


def _names(names: Iterable[str], known: Mapping[str, Variable]) -> str:
    return ", ".join(
        f"[{code(name)}]({_page(name, known)})" if name in known else code(name)
        for name in names
        if name
    )


def _used(uses: Iterable[Use]) -> Iterator[str]:
    """Yield a table of the values that profiles give, with their reasons."""
    rows = [
        [
            "not set" if each.value is None else code(each.value),
            "where no case holds"
            if each.otherwise
            else text(condition_text(each.when)),
            ", ".join(
                f"[{name}](../../systems/{name.partition('/')[0]}.md)"
                for name in each.profiles
            ),
            f"{text(each.reason.why)} ({linked(each.reason.source)}, {each.reason.date})",
        ]
        for each in uses
    ]
    if rows:
        yield from ("", "## Set by profiles", "")
        yield from table(["value", "where", "profiles", "why"], rows)


def _rules(places: Mapping[str, str]) -> Iterator[str]:
    links = ", ".join(f"[{name}](../rules/{link})" for name, link in places.items())
    if links:
        yield from ("", f"**Log rules:** {links}")


def _page(name: str, known: Mapping[str, Variable]) -> str:
    """Return the page with the facts about a variable."""
    return "internal.md" if _is_internal(known[name]) else f"{name}.md"


def _is_internal(variable: Variable) -> bool:
    return variable.meaning == UNDOCUMENTED
