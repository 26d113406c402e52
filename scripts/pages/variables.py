"""The pages about variables: what one does and takes, who sets it, which rules name it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from envcfg.knowledge.record import Variable
from envcfg.log.rulebook import Rule
from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import condition_text
from envcfg.profile.look.survey import Use, uses_of
from envcfg.profile.model import Profile
from scripts.pages.markdown import code, linked, table, text

_NAME = re.compile(r"(?<![A-Z0-9_])[A-Z][A-Z0-9_]+(?![A-Z0-9_])")


def variable_pages(
    variables: Mapping[str, Variable], rules: Mapping[str, Rule], catalog: Catalog
) -> dict[str, str]:
    """Return the page of each variable by its path in the site, as Markdown."""
    profiles = [catalog.load(name) for name in catalog.names()]
    is_set = {name for each in profiles for name in _set_by(each)}
    named: dict[str, list[str]] = {}
    for rule in rules.values():
        said = "\n".join((rule.meaning, rule.fix or "", rule.needle, *rule.samples))
        for name in set(_NAME.findall(said)):
            named.setdefault(name, []).append(rule.id)
    pages = {}
    for name, each in variables.items():
        uses = uses_of(name, catalog, catalog.names()).uses if name in is_set else ()
        lines = [
            *_lines(each, variables),
            *_used(uses),
            *_links("Log rules", named.get(name, ()), "../rules/"),
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
        ("Who says so", f"{linked(each.source)}, {each.date}"),
    ):
        if said:
            yield from ("", f"**{title}:** {said}")


def _names(names: Iterable[str], known: Mapping[str, Variable]) -> str:
    return ", ".join(
        f"[{code(name)}]({name}.md)" if name in known else code(name)
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
            ", ".join(f"[{name}](../../systems/{name}.md)" for name in each.profiles),
            f"{text(each.reason.why)} ({linked(each.reason.source)}, {each.reason.date})",
        ]
        for each in uses
    ]
    if rows:
        yield from ("", "## Set by profiles", "")
        yield from table(["value", "where", "profiles", "why"], rows)


def _links(title: str, names: Iterable[str], folder: str) -> Iterator[str]:
    if said := ", ".join(f"[{name}]({folder}{name}.md)" for name in names):
        yield from ("", f"**{title}:** {said}")
